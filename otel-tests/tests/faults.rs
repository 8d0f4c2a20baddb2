//! The real Collector, away or asked for what it does not know: for records and for spans.

use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use otel_tests::Collector;
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
        let pipeline = Pipeline::builder().sink(sink).flush_timeout(LONG);
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
}

fn sink(pipeline: &Pipeline) -> SinkStats {
    pipeline.stats().sinks()[0].clone()
}

#[test]
fn a_path_that_the_collector_does_not_know_is_a_refusal() {
    for kind in KINDS {
        let Some(collector) = Collector::start() else { return };
        let endpoint = format!("{}/nowhere", collector.endpoint());
        let (guard, incidents) = kind.build(Otlp::new().endpoint(&endpoint).max_delay(LONG));
        kind.log(guard.pipeline(), ["lost"; 100]);
        let error = guard.pipeline().flush(LONG).unwrap_err();
        assert!(error.to_string().contains("HTTP 404"), "{error}");
        assert_eq!(
            (sink(guard.pipeline()).dropped(), sink(guard.pipeline()).written()),
            (100, 0),
            "{kind:?}"
        );
        let lost = match kind {
            Kind::Records => "100 records",
            Kind::Spans => "100 spans",
        };
        let incident = incidents.try_iter().find(|it| it.contains(lost));
        assert!(incident.unwrap().contains("HTTP 404"));
    }
}

#[test]
fn a_collector_that_is_away_from_the_start_gets_all_later() {
    for kind in KINDS {
        let Some(mut collector) = Collector::stopped() else { return };
        let (guard, _) = kind.build(Otlp::new().endpoint(collector.endpoint()));
        kind.log(guard.pipeline(), ["early"; 1_000]);
        assert!(guard.pipeline().flush(SHORT).is_err());
        collector.run();
        while guard.pipeline().flush(LONG).is_err() {}
        let key = match kind {
            Kind::Records => "logRecords",
            Kind::Spans => "spans",
        };
        assert_eq!(collector.received(key, 1_000).len(), 1_000);
        assert_eq!(
            (sink(guard.pipeline()).dropped(), sink(guard.pipeline()).written()),
            (0, 1_000),
            "{kind:?}"
        );
    }
}

#[test]
fn a_collector_that_starts_while_the_process_ends_gets_all() {
    for kind in KINDS {
        let Some(mut collector) = Collector::stopped() else { return };
        let (guard, _) = kind.build(Otlp::new().endpoint(collector.endpoint()));
        let pipeline = guard.pipeline().clone();
        kind.log(&pipeline, ["late"; 100]);
        thread::scope(|scope| {
            scope.spawn(|| drop(guard));
            thread::sleep(10 * SHORT);
            collector.run();
        });
        assert_eq!((sink(&pipeline).waiting(), sink(&pipeline).written()), (0, 100), "{kind:?}");
    }
}
