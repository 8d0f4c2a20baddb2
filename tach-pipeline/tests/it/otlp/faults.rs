//! Collectors that are away, busy or refuse: for records and for spans.

use core::time::Duration;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Instant;

use opentelemetry_proto::tonic::collector::logs::v1::{
    ExportLogsPartialSuccess, ExportLogsServiceResponse,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use prost::Message as _;
use tach_pipeline::{Guard, Otlp, Pipeline, Signal, Sink, SinkStats};
use test_support::receiver::{OK, Requests, serve_answers};

use super::received::{records_in, spans_in, value};
use super::{sink, wait_until};
use crate::support::{LONG, in_subscriber};

/// An address at which nobody listens.
const NOBODY: &str = "http://127.0.0.1:1";
pub(super) const SHORT: Duration = Duration::from_millis(20);

#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Records,
    Spans,
}

pub(super) const KINDS: [Kind; 2] = [Kind::Records, Kind::Spans];

impl Kind {
    /// Returns a pipeline that sends this kind, and its incidents.
    pub(super) fn build(self, otlp: Otlp) -> (Guard, Receiver<String>) {
        self.build_to_flush(otlp, 10 * SHORT)
    }

    /// Like [`build`](Self::build), with a timeout of the guard's flush.
    pub(super) fn build_to_flush(self, otlp: Otlp, timeout: Duration) -> (Guard, Receiver<String>) {
        let sink = match self {
            Self::Records => Sink::otlp(otlp.signals([Signal::Logs])),
            Self::Spans => Sink::otlp(otlp.signals([Signal::Traces])),
        };
        let (incident, incidents) = channel();
        let pipeline =
            Pipeline::builder().sink(sink).flush_timeout(timeout).without_flush_at_exit();
        let pipeline = pipeline.on_incident(move |it| {
            let _the_test_has_ended = incident.send(it.to_string());
        });
        (pipeline.build().unwrap(), incidents)
    }

    /// Logs records with these messages, or starts and ends spans with these names.
    pub(super) fn log<'a>(self, pipeline: &Pipeline, names: impl IntoIterator<Item = &'a str>) {
        in_subscriber(pipeline, || {
            for name in names {
                match self {
                    Self::Records => tracing::info!("{name}"),
                    Self::Spans => drop(tracing::info_span!("span", otel.name = name)),
                }
            }
        });
    }

    /// Returns the messages or the names in the next request.
    pub(super) fn next(self, requests: &Requests) -> Vec<String> {
        let body = requests.recv_timeout(LONG).unwrap().1;
        match self {
            Self::Records => {
                let bodies = records_in(&body).into_iter().filter_map(|record| record.body?.value);
                let text = |value| match value {
                    Value::StringValue(text) => text,
                    other => panic!("{other:?}"),
                };
                bodies.map(text).collect()
            }
            Self::Spans => spans_in(&body).into_iter().map(|span| span.name).collect(),
        }
    }

    /// Returns the answer of a collector that rejects `count` records or spans.
    fn partial_success(self, count: i64, message: &str) -> Vec<u8> {
        let error_message = message.to_owned();
        match self {
            Self::Records => {
                let rejected =
                    ExportLogsPartialSuccess { rejected_log_records: count, error_message };
                ExportLogsServiceResponse { partial_success: Some(rejected) }.encode_to_vec()
            }
            Self::Spans => {
                let rejected = ExportTracePartialSuccess { rejected_spans: count, error_message };
                ExportTraceServiceResponse { partial_success: Some(rejected) }.encode_to_vec()
            }
        }
    }
}

/// Returns the counts of the first sink.
pub(super) fn counts(pipeline: &Pipeline) -> SinkStats {
    pipeline.stats().sinks()[0].clone()
}

pub(super) fn answer(head: &str, body: &[u8]) -> Vec<u8> {
    [format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\n\r\n", body.len()).as_bytes(), body].concat()
}

#[test]
fn a_busy_collector_gets_the_same_again() {
    let is_repeated = |kind: Kind, busy: &str| {
        let busy = answer(busy, b"");
        let (endpoint, requests) = serve_answers(vec![busy.clone(), busy, OK.to_vec()]);
        let (guard, _) = kind.build(Otlp::new().endpoint(&endpoint).max_delay(SHORT));
        kind.log(guard.pipeline(), ["once"]);
        let sent: Vec<_> = (0..3).map(|_| kind.next(&requests)).collect();
        assert_eq!(sent, [["once"], ["once"], ["once"]]);
        wait_until(|| counts(guard.pipeline()).written() > 0);
        assert_eq!(
            (counts(guard.pipeline()).dropped(), counts(guard.pipeline()).failures()),
            (0, 2),
            "{kind:?}"
        );
    };
    // Run the cases at once, since each waits for two pauses.
    thread::scope(|scope| {
        for kind in KINDS {
            for busy in ["429 Slow\r\nretry-after: 0", "502 Bad", "503 Busy", "504 Late"] {
                scope.spawn(move || is_repeated(kind, busy));
            }
        }
    });
}

#[test]
fn a_pause_that_the_collector_asks_for_is_kept() {
    for kind in KINDS {
        let busy = answer("429 Slow\r\nretry-after: 3600", b"");
        let (endpoint, requests) = serve_answers(vec![busy, OK.to_vec()]);
        let (guard, _) = kind.build(Otlp::new().endpoint(&endpoint).max_delay(SHORT));
        kind.log(guard.pipeline(), ["once"]);
        assert_eq!(kind.next(&requests), ["once"]);
        // A collector that asks for nothing gets further requests meanwhile.
        let busy = vec![answer("503 Busy", b""); 2];
        let (endpoint, control) = serve_answers([busy, vec![OK.to_vec()]].concat());
        let (other, _) = kind.build(Otlp::new().endpoint(&endpoint).max_delay(SHORT));
        kind.log(other.pipeline(), ["again"]);
        (0..3).for_each(|_| assert_eq!(kind.next(&control), ["again"]));
        let error = guard.pipeline().flush(SHORT).unwrap_err().to_string();
        assert!(error.contains("HTTP 429; it asks to wait 3600s"), "{kind:?}: {error}");
        assert!(requests.try_recv().is_err(), "{kind:?}");
    }
}

#[test]
fn a_flush_keeps_the_pause_that_a_collector_asks_for() {
    let asked = Duration::from_secs(1);
    let busy = answer("429 Slow\r\nretry-after: 1", b"");
    let (endpoint, _requests) = serve_answers(vec![busy, OK.to_vec()]);
    let (guard, _) = Kind::Records.build(Otlp::new().endpoint(&endpoint).max_delay(SHORT));
    Kind::Records.log(guard.pipeline(), ["late"]);
    let start = Instant::now();
    guard.pipeline().flush(LONG).unwrap();
    assert!(start.elapsed() >= asked, "{:?}", start.elapsed());
    assert_eq!(counts(guard.pipeline()).written(), 1);
}

/// What may be refused for a single record or span is sent again in halves, each once.
#[test]
fn a_refused_request_is_counted_and_not_repeated() {
    for kind in KINDS {
        for (status, sizes) in [
            ("400 Bad", vec![2, 1, 1]),
            ("401 Who", vec![2]),
            ("413 Long", vec![2, 1, 1]),
            ("500 Broken", vec![2]),
        ] {
            let refused = vec![answer(status, b"reason"); sizes.len()];
            let (endpoint, requests) = serve_answers([refused, vec![OK.to_vec()]].concat());
            let (guard, _) = kind.build(Otlp::new().endpoint(&endpoint).max_delay(LONG));
            kind.log(guard.pipeline(), ["one", "two"]);
            let error = guard.pipeline().flush(LONG).unwrap_err().to_string();
            assert!(error.contains(&format!("HTTP {}: reason", &status[..3])), "{error}");
            let sent: Vec<_> = sizes.iter().map(|_| kind.next(&requests).len()).collect();
            assert_eq!(sent, sizes, "{kind:?} {status}");
            kind.log(guard.pipeline(), ["next"]);
            guard.pipeline().flush(LONG).unwrap();
            assert!(kind.next(&requests).contains(&"next".to_owned()));
            assert_eq!(counts(guard.pipeline()).dropped(), 2, "{kind:?} {status}");
        }
    }
}

#[test]
fn a_partial_success_counts_what_was_rejected() {
    for kind in KINDS {
        let partial = answer("200 OK", &kind.partial_success(3, "too large"));
        let (endpoint, requests) = serve_answers(vec![partial, OK.to_vec()]);
        let (guard, _) = kind.build(Otlp::new().endpoint(&endpoint).max_delay(LONG));
        kind.log(guard.pipeline(), ["some"; 10]);
        let error = guard.pipeline().flush(LONG).unwrap_err();
        assert!(error.to_string().contains("too large"), "{error}");
        assert_eq!(
            (counts(guard.pipeline()).dropped(), counts(guard.pipeline()).written()),
            (3, 7),
            "{kind:?}"
        );
        assert_eq!(kind.next(&requests).len(), 10);
        // The next request contains a record of the loss.
        kind.log(guard.pipeline(), ["next"]);
        guard.pipeline().flush(LONG).unwrap();
        if let Kind::Records = kind {
            let records = records_in(&requests.recv_timeout(LONG).unwrap().1);
            let attributes = records.iter().flat_map(|record| &record.attributes);
            let attributes: Vec<_> = attributes.cloned().collect();
            assert_eq!(value(&attributes, "count"), Value::IntValue(3));
        }
    }
}

#[test]
fn a_warning_is_reported_and_refuses_nothing() {
    for kind in KINDS {
        let warning = answer("200 OK", &kind.partial_success(0, "the quota is near"));
        let (endpoint, _requests) = serve_answers(vec![warning]);
        let (guard, incidents) = kind.build(Otlp::new().endpoint(&endpoint).max_delay(LONG));
        kind.log(guard.pipeline(), ["some"; 10]);
        guard.pipeline().flush(LONG).unwrap();
        assert_eq!(
            (counts(guard.pipeline()).dropped(), counts(guard.pipeline()).written()),
            (0, 10),
            "{kind:?}"
        );
        let incidents: Vec<_> = incidents.try_iter().collect();
        let [incident] = &incidents[..] else { panic!("{incidents:?}") };
        let items = if let Kind::Records = kind { "records" } else { "spans" };
        let expected = format!(" accepts {items}, and warns: the quota is near");
        assert!(incident.ends_with(&expected), "{incident}");
    }
}

#[test]
fn spans_that_are_refused_are_in_a_log_record() {
    let (endpoint, _spans) = serve_answers(vec![answer("401 Who", b"too old"), OK.to_vec()]);
    let (logs, requests) = serve_answers(vec![OK.to_vec()]);
    let guard = Pipeline::builder()
        .sink(sink(&endpoint, Signal::Traces))
        .sink(sink(&logs, Signal::Logs))
        .build()
        .unwrap();
    Kind::Spans.log(guard.pipeline(), ["refused"; 5]);
    let error = guard.pipeline().flush(LONG).unwrap_err().to_string();
    assert!(error.contains("HTTP 401: too old"), "{error}");
    guard.pipeline().flush(LONG).unwrap();
    let reports = records_in(&requests.recv_timeout(LONG).unwrap().1);
    let [report] = &reports[..] else { panic!("{reports:?}") };
    assert_eq!(value(&report.attributes, "count"), Value::IntValue(5));
    let body = format!("{:?}", report.body);
    assert!(
        body.contains(&format!("spans for {endpoint}/v1/traces dropped while the sink failed")),
        "{body}"
    );
    // The loss is reported once.
    guard.pipeline().flush(LONG).unwrap();
    assert!(requests.try_recv().is_err());
    assert_eq!(counts(guard.pipeline()).dropped(), 5);
}

#[test]
fn all_is_dropped_once_the_collector_was_away_for_too_long() {
    for kind in KINDS {
        let otlp = Otlp::new().endpoint(NOBODY).max_delay(SHORT);
        let (guard, _) = kind.build(otlp.retry_for(5 * SHORT));
        kind.log(guard.pipeline(), ["lost"]);
        wait_until(|| counts(guard.pipeline()).dropped() > 0);
        assert_eq!(counts(guard.pipeline()).dropped(), 1, "{kind:?}");
    }
}

/// Otherwise the report would be refused too, and so would the report of that loss, without end.
#[test]
fn a_sink_that_is_refused_everything_reports_no_loss_to_itself() {
    let (endpoint, requests) = serve_answers(vec![answer("401 Who", b"")]);
    let (guard, _) = Kind::Records.build(Otlp::new().endpoint(&endpoint).max_delay(SHORT));
    for record in ["first", "second", "third"] {
        Kind::Records.log(guard.pipeline(), [record]);
        assert_eq!(Kind::Records.next(&requests), [record]);
    }
    wait_until(|| counts(guard.pipeline()).dropped() == 3);
}

#[test]
fn what_waits_when_the_process_ends_is_counted() {
    for kind in KINDS {
        let (guard, _) = kind.build(Otlp::new().endpoint(NOBODY));
        let pipeline = guard.pipeline().clone();
        kind.log(&pipeline, ["late"; 100]);
        // The back end may take longer than the guard waits.
        wait_until(|| counts(&pipeline).waiting() == 100);
        drop(guard);
        assert_eq!(
            (counts(&pipeline).waiting(), counts(&pipeline).written()),
            (100, 0),
            "{kind:?}"
        );
    }
}
