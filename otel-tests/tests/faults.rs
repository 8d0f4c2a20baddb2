//! Collectors that are away, slow, busy or refuse: for records and for spans.

use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::logs::v1::{
    ExportLogsPartialSuccess, ExportLogsServiceRequest, ExportLogsServiceResponse,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use otel_tests::{Collector, Requests, decode, serve_answers, serve_by};
use prost::Message as _;
use tach_pipeline::{Guard, Otlp, Pipeline, Signal, Sink, SinkStats};
use tracing::subscriber::with_default;
use tracing_subscriber::layer::SubscriberExt as _;

/// Long enough for any machine: no test fails by being slow.
const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(20);

#[derive(Debug, Clone, Copy)]
enum Kind {
    Records,
    Spans,
}

const KINDS: [Kind; 2] = [Kind::Records, Kind::Spans];

impl Kind {
    /// Builds a pipeline that sends this kind, and returns its incidents too.
    fn build(self, otlp: Otlp) -> (Guard, Receiver<String>) {
        let sink = match self {
            Self::Records => Sink::otlp(otlp.signals([Signal::Logs])),
            Self::Spans => Sink::otlp(otlp.signals([Signal::Traces])),
        };
        let (incident, incidents) = channel();
        let pipeline = Pipeline::builder().sink(sink);
        let pipeline = pipeline.on_incident(move |it| {
            let _the_test_has_ended = incident.send(it.to_string());
        });
        (pipeline.build().unwrap(), incidents)
    }

    /// Logs records with these messages, or starts and ends spans with that field.
    fn log<'a>(self, pipeline: &Pipeline, names: impl IntoIterator<Item = &'a str>) {
        with_default(tracing_subscriber::registry().with(pipeline.clone()), || {
            for name in names {
                match self {
                    Self::Records => tracing::info!("{name}"),
                    Self::Spans => drop(tracing::info_span!("span", otel.name = name)),
                }
            }
        });
    }

    /// Returns the messages or the names in the next request.
    fn next(self, requests: &Requests) -> Vec<String> {
        let body = requests.recv().unwrap().1;
        match self {
            Self::Records => {
                let bodies = records(&body).into_iter().filter_map(|record| record.body?.value);
                let text = |value| match value {
                    Value::StringValue(text) => text,
                    other => panic!("{other:?}"),
                };
                bodies.map(text).collect()
            }
            Self::Spans => {
                let request: ExportTraceServiceRequest = decode(&body);
                let of_scope = request.resource_spans.into_iter().flat_map(|it| it.scope_spans);
                of_scope.flat_map(|it| it.spans).map(|span| span.name).collect()
            }
        }
    }

    /// Returns the answer of a Collector that rejects so many.
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

fn records(body: &[u8]) -> Vec<LogRecord> {
    let request: ExportLogsServiceRequest = decode(body);
    let of_scope = request.resource_logs.into_iter().flat_map(|it| it.scope_logs);
    of_scope.flat_map(|it| it.log_records).collect()
}

fn sink(pipeline: &Pipeline) -> SinkStats {
    pipeline.stats().sinks()[0].clone()
}

fn answer(head: &str, body: &[u8]) -> Vec<u8> {
    [format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\n\r\n", body.len()).as_bytes(), body].concat()
}

fn ok() -> Vec<u8> {
    answer("200 OK", b"")
}

#[test]
fn a_path_that_the_collector_does_not_know_is_a_refusal() {
    for kind in KINDS {
        let Some(collector) = Collector::start() else { return };
        let endpoint = format!("{}/nowhere", collector.endpoint());
        let (pipeline, incidents) = kind.build(Otlp::new().endpoint(&endpoint).max_delay(LONG));
        kind.log(&pipeline, ["lost"; 100]);
        let error = pipeline.flush(LONG).unwrap_err();
        assert!(error.to_string().contains("HTTP 404"), "{error}");
        assert_eq!((sink(&pipeline).dropped(), sink(&pipeline).written()), (100, 0), "{kind:?}");
        let incident = incidents.try_iter().find(|it| it.contains("100 records"));
        assert!(incident.unwrap().contains("HTTP 404"));
    }
}

#[test]
fn a_collector_that_is_away_from_the_start_gets_all_later() {
    for kind in KINDS {
        let Some(mut collector) = Collector::stopped() else { return };
        let (pipeline, _) = kind.build(Otlp::new().endpoint(&collector.endpoint()));
        kind.log(&pipeline, ["early"; 1_000]);
        assert!(pipeline.flush(SHORT).is_err());
        collector.run();
        while pipeline.flush(LONG).is_err() {}
        let key = match kind {
            Kind::Records => "logRecords",
            Kind::Spans => "spans",
        };
        assert_eq!(collector.received(key, 1_000).len(), 1_000);
        assert_eq!((sink(&pipeline).dropped(), sink(&pipeline).written()), (0, 1_000), "{kind:?}");
    }
}

#[test]
fn a_busy_collector_gets_the_same_again() {
    for kind in KINDS {
        let busy = ["429 Slow\r\nretry-after: 0", "502 Bad", "503 Busy", "504 Late"];
        for busy in busy {
            let busy = answer(busy, b"");
            let (endpoint, requests) = serve_answers(vec![busy.clone(), busy, ok()]);
            let (pipeline, _) = kind.build(Otlp::new().endpoint(&endpoint).max_delay(SHORT));
            kind.log(&pipeline, ["once"]);
            let sent: Vec<_> = (0..3).map(|_| kind.next(&requests)).collect();
            assert_eq!(sent, [["once"], ["once"], ["once"]]);
            while sink(&pipeline).written() == 0 {
                thread::sleep(SHORT);
            }
            assert_eq!((sink(&pipeline).dropped(), sink(&pipeline).failures()), (0, 2), "{kind:?}");
        }
    }
}

#[test]
fn a_pause_that_the_collector_asks_for_is_kept() {
    for kind in KINDS {
        let busy = answer("429 Slow\r\nretry-after: 3600", b"");
        let (endpoint, requests) = serve_answers(vec![busy, ok()]);
        let (pipeline, _) = kind.build(Otlp::new().endpoint(&endpoint).max_delay(SHORT));
        kind.log(&pipeline, ["once"]);
        assert_eq!(kind.next(&requests), ["once"]);
        while sink(&pipeline).failures() == 0 {
            thread::sleep(SHORT);
        }
        // Longer than any pause without that header.
        thread::sleep(Duration::from_secs(1));
        assert!(requests.try_recv().is_err(), "{kind:?}");
        // A flush does not wait for it.
        pipeline.flush(LONG).unwrap();
        assert_eq!((kind.next(&requests), sink(&pipeline).written()), (vec!["once".into()], 1));
    }
}

#[test]
fn a_refused_request_is_counted_and_not_repeated() {
    for kind in KINDS {
        for status in ["400 Bad", "401 Who", "413 Long", "500 Broken"] {
            let (endpoint, requests) = serve_answers(vec![answer(status, b"reason"), ok()]);
            let (pipeline, _) = kind.build(Otlp::new().endpoint(&endpoint).max_delay(LONG));
            kind.log(&pipeline, ["one", "two"]);
            let error = pipeline.flush(LONG).unwrap_err().to_string();
            assert!(error.contains(&format!("HTTP {}: reason", &status[..3])), "{error}");
            assert_eq!(kind.next(&requests).len(), 2);
            kind.log(&pipeline, ["next"]);
            pipeline.flush(LONG).unwrap();
            assert!(kind.next(&requests).contains(&"next".to_owned()));
            assert_eq!(sink(&pipeline).dropped(), 2, "{kind:?} {status}");
        }
    }
}

#[test]
fn a_partial_success_counts_what_was_rejected() {
    for kind in KINDS {
        let partial = answer("200 OK", &kind.partial_success(3, "too large"));
        let (endpoint, requests) = serve_answers(vec![partial, ok()]);
        let (pipeline, _) = kind.build(Otlp::new().endpoint(&endpoint).max_delay(LONG));
        kind.log(&pipeline, ["some"; 10]);
        let error = pipeline.flush(LONG).unwrap_err();
        assert!(error.to_string().contains("too large"), "{error}");
        assert_eq!((sink(&pipeline).dropped(), sink(&pipeline).written()), (3, 7), "{kind:?}");
        assert_eq!(kind.next(&requests).len(), 10);
        // The loss is in the log.
        kind.log(&pipeline, ["next"]);
        pipeline.flush(LONG).unwrap();
        if let Kind::Records = kind {
            assert_eq!(count_in(&records(&requests.recv().unwrap().1)[0]), Some(3));
        }
    }
}

/// Returns the number that a report of dropped records has.
fn count_in(report: &LogRecord) -> Option<i64> {
    let count = report.attributes.iter().find(|attribute| attribute.key == "count")?;
    match count.value.clone()?.value? {
        Value::IntValue(count) => Some(count),
        _ => None,
    }
}

#[test]
fn spans_that_are_refused_are_in_a_log_record() {
    let (endpoint, _spans) = serve_answers(vec![answer("400 Bad", b"too old"), ok()]);
    let (logs, requests) = serve_answers(vec![ok()]);
    let pipeline = Pipeline::builder()
        .sink(Sink::otlp(Otlp::new().endpoint(&endpoint).max_delay(LONG).signals([Signal::Traces])))
        .sink(Sink::otlp(Otlp::new().endpoint(&logs).max_delay(LONG).signals([Signal::Logs])))
        .build()
        .unwrap();
    Kind::Spans.log(&pipeline, ["refused"; 5]);
    let error = pipeline.flush(LONG).unwrap_err().to_string();
    assert!(error.contains("HTTP 400: too old"), "{error}");
    pipeline.flush(LONG).unwrap();
    let reports = records(&requests.recv().unwrap().1);
    let [report] = &reports[..] else { panic!("{reports:?}") };
    assert_eq!(count_in(report), Some(5));
    let body = format!("{:?}", report.body);
    assert!(body.contains(&format!("spans dropped while {endpoint}/v1/traces failed")), "{body}");
    // Once.
    pipeline.flush(LONG).unwrap();
    assert!(requests.try_recv().is_err());
    assert_eq!(sink(&pipeline).dropped(), 5);
}

/// Each answer comes after the timeout, until one is quick.
#[test]
fn a_slow_collector_gets_the_same_again() {
    for kind in KINDS {
        let mut delays = [10, 10, 0].into_iter();
        let (endpoint, requests) = serve_by(move |_| {
            thread::sleep(delays.next().unwrap_or(0) * SHORT);
            ok()
        });
        let otlp = Otlp::new().endpoint(&endpoint).max_delay(SHORT).timeout(5 * SHORT);
        let (pipeline, _) = kind.build(otlp);
        kind.log(&pipeline, ["once"]);
        while pipeline.flush(LONG).is_err() {}
        assert_eq!((sink(&pipeline).dropped(), sink(&pipeline).written()), (0, 1), "{kind:?}");
        let sent: Vec<_> = (0..3).map(|_| kind.next(&requests)).collect();
        assert_eq!(sent, [["once"], ["once"], ["once"]]);
    }
}

/// Answers take long, though not too long, and a flush waits for them.
#[test]
fn a_flush_waits_for_a_slow_collector() {
    for kind in KINDS {
        let (endpoint, requests) = serve_by(|_| {
            thread::sleep(Duration::from_secs(2));
            ok()
        });
        let (pipeline, _) = kind.build(Otlp::new().endpoint(&endpoint).max_delay(SHORT));
        kind.log(&pipeline, ["first"]);
        assert_eq!(kind.next(&requests), ["first"]);
        kind.log(&pipeline, ["second"]);
        pipeline.flush(LONG).unwrap();
        assert_eq!(kind.next(&requests), ["second"]);
        assert_eq!((sink(&pipeline).failures(), sink(&pipeline).written()), (0, 2), "{kind:?}");
    }
}

/// Logs so many long records: 64 are a request.
fn log_long(pipeline: &Pipeline, count: usize) {
    let text = "x".repeat(8_000);
    Kind::Records.log(pipeline, core::iter::repeat_n(&*text, count));
}

/// Waits until so many records were written or dropped. If they never are, the test runner notices.
fn wait_for(pipeline: &Pipeline, count: u64) {
    while sink(pipeline).written() + sink(pipeline).dropped() < count {
        thread::sleep(SHORT);
    }
}

/// One request after the other fails, of records that waited together.
#[test]
fn each_request_has_the_whole_time() {
    let busy = || answer("503 Busy", b"");
    let cases = [
        (vec![busy(), ok(), busy()], None),
        (vec![busy(), busy()], Some(1)),
        (vec![busy(), answer("400 Bad", b""), busy()], Some(1)),
    ];
    for (answers, dropped) in cases {
        let (go_on, waits) = channel::<()>();
        let mut answers = answers.into_iter();
        let mut is_first = true;
        let (endpoint, requests) = serve_by(move |_| {
            if core::mem::take(&mut is_first) {
                let _closed = waits.recv();
                return ok();
            }
            answers.next().unwrap_or_else(ok)
        });
        // Shorter than any pause.
        let otlp = Otlp::new().endpoint(&endpoint).max_delay(SHORT).retry_for(5 * SHORT);
        let (pipeline, _) = Kind::Records.build(otlp);
        Kind::Records.log(&pipeline, ["first"]);
        assert_eq!(Kind::Records.next(&requests), ["first"]);
        log_long(&pipeline, 100);
        while pipeline.stats().queued() < 101 {
            thread::sleep(SHORT);
        }
        drop(go_on);
        wait_for(&pipeline, 101);
        let sent: Vec<_> = requests.try_iter().map(|(_, body)| records(&body).len()).collect();
        let dropped = dropped.map_or(0, |at: usize| sent[at]);
        assert_eq!(sink(&pipeline).dropped(), dropped as u64, "{sent:?}");
    }
}

/// A buffer that is full once the collector takes records again.
#[test]
fn a_collector_that_catches_up_is_waited_for() {
    let (go_on, waits) = channel::<()>();
    let mut at = 0;
    let (endpoint, requests) = serve_by(move |_| {
        at += 1;
        match at {
            1 | 4 => {
                let _closed = waits.recv();
                ok()
            }
            2 => answer("503 Busy", b""),
            _ => ok(),
        }
    });
    let otlp = Otlp::new().endpoint(&endpoint).max_delay(SHORT);
    let sink_of_records = Sink::otlp(otlp.signals([Signal::Logs]))
        .buffer_bytes(1024 * 1024)
        .stall_timeout(Duration::MAX);
    let builder = Pipeline::builder().sink(sink_of_records).queue_bytes(64 * 1024 * 1024);
    let pipeline = builder.on_incident(|_| ()).build().unwrap();
    Kind::Records.log(&pipeline, ["first"]);
    assert_eq!(Kind::Records.next(&requests), ["first"]);
    log_long(&pipeline, 120);
    while pipeline.stats().queued() < 121 {
        thread::sleep(SHORT);
    }
    go_on.send(()).unwrap();
    let sent: Vec<_> = (0..3).map(|_| Kind::Records.next(&requests).len()).collect();
    assert_eq!(sent[0], sent[1]);
    // More than the buffer.
    log_long(&pipeline, 400);
    thread::sleep(10 * SHORT);
    drop(go_on);
    wait_for(&pipeline, 521);
    assert_eq!(sink(&pipeline).dropped(), 0);
}

#[test]
fn all_is_dropped_once_the_collector_was_away_for_too_long() {
    for kind in KINDS {
        let endpoint = {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            format!("http://{}", listener.local_addr().unwrap())
        };
        let otlp = Otlp::new().endpoint(&endpoint).max_delay(SHORT);
        let (pipeline, _) = kind.build(otlp.retry_for(5 * SHORT));
        kind.log(&pipeline, ["lost"]);
        while sink(&pipeline).dropped() == 0 {
            let _fails = pipeline.flush(SHORT);
            thread::sleep(SHORT);
        }
        assert_eq!(sink(&pipeline).dropped(), 1, "{kind:?}");
    }
}

/// Its own report would be refused too, and so on, once a second.
#[test]
fn a_sink_that_is_refused_everything_reports_no_loss_to_itself() {
    let (endpoint, requests) = serve_answers(vec![answer("401 Who", b"")]);
    let (pipeline, _) = Kind::Records.build(Otlp::new().endpoint(&endpoint).max_delay(SHORT));
    Kind::Records.log(&pipeline, ["lost"]);
    assert_eq!(Kind::Records.next(&requests), ["lost"]);
    thread::sleep(Duration::from_secs(3));
    assert!(requests.try_recv().is_err());
    assert_eq!(sink(&pipeline).dropped(), 1);
}

#[test]
fn what_waits_when_the_process_ends_is_counted() {
    for kind in KINDS {
        let (guard, _) = kind.build(Otlp::new().endpoint("http://127.0.0.1:1"));
        let pipeline = guard.clone();
        kind.log(&pipeline, ["late"; 100]);
        drop(guard.with_timeout(10 * SHORT));
        assert_eq!((sink(&pipeline).waiting(), sink(&pipeline).written()), (100, 0), "{kind:?}");
    }
}

#[test]
fn a_collector_that_starts_while_the_process_ends_gets_all() {
    for kind in KINDS {
        let Some(mut collector) = Collector::stopped() else { return };
        let (guard, _) = kind.build(Otlp::new().endpoint(&collector.endpoint()));
        let pipeline = guard.clone();
        kind.log(&pipeline, ["late"; 100]);
        thread::scope(|scope| {
            scope.spawn(|| drop(guard.with_timeout(LONG)));
            thread::sleep(10 * SHORT);
            collector.run();
        });
        assert_eq!((sink(&pipeline).waiting(), sink(&pipeline).written()), (0, 100), "{kind:?}");
    }
}
