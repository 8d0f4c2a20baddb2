//! Each key once in an event, with its innermost value, as readers of other loggers' JSON see it.

use proptest::prelude::*;
use serde_json::Value;
use tach_log::{Line, Logfmt};
use tach_pipeline::{Guard, Pipeline, Sink};

use crate::support::{LONG, Memory};

/// One event in each of the formats.
struct Outputs([Memory; 3]);

impl Outputs {
    fn pipeline() -> (Guard, Self) {
        let memories = <[Memory; 3]>::default();
        let [json, line, logfmt] = memories.each_ref().map(Memory::clone);
        let pipeline = Pipeline::builder()
            .sink(json.json())
            .sink(Sink::writer("line", line).format(Line::new()))
            .sink(Sink::writer("logfmt", logfmt).format(Logfmt::new()))
            .build()
            .unwrap();
        (pipeline, Self(memories))
    }

    /// Returns the last event, and asserts that every format has every key once.
    fn last(&self, pipeline: &Pipeline) -> Value {
        pipeline.flush(LONG).unwrap();
        let [json, line, logfmt] = self.0.each_ref().map(Memory::text);
        let last = json.lines().last().unwrap();
        let event: Value = serde_json::from_str(last).unwrap();
        let fields = event.as_object().unwrap();
        // The values in these tests hold neither colons nor equals signs.
        assert_eq!(last.matches("\":").count(), fields.len(), "{last}");
        let pairs = |text: &str| text.lines().last().unwrap().matches('=').count();
        assert_eq!(pairs(&logfmt), fields.len(), "{logfmt}");
        let head = ["ts", "level", "target", "msg"];
        let head = head.iter().filter(|key| fields.contains_key(**key)).count();
        assert_eq!(pairs(&line), fields.len() - head, "{line}");
        event
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Keys of the program and others, few and many.
    #[test]
    fn of_a_record_s_keys_the_last_counts(keys in prop::collection::vec(0_u8..40, 0..60)) {
        use log::Log as _;
        let (guard, outputs) = Outputs::pipeline();
        let names: Vec<_> = keys.iter().map(|key| format!("k{key}")).collect();
        let fields: Vec<_> = names.iter().map(String::as_str).zip(0..).collect();
        let fields = fields.as_slice();
        guard.pipeline().log(&log::Record::builder().target("t").key_values(&fields).build());
        let event = outputs.last(guard.pipeline());
        for (key, _) in fields {
            let last = fields.iter().rfind(|(name, _)| name == key).unwrap().1;
            prop_assert_eq!(&event[*key], last);
        }
        prop_assert!(event.get("msg").is_none());
    }
}

#[cfg(feature = "slog")]
mod slog {
    use std::io;
    use std::sync::Mutex;

    use ::slog::{Drain as _, Duplicate, Logger, crit, debug, error, info, o, trace, warn};
    use slog_json::Json;
    use tach_core::UnixTime;
    use tach_pipeline::Sink;
    use test_support::Captured;

    use super::*;

    /// Logs through the pipeline and slog-json, and returns the event of each.
    fn both(log: impl FnOnce(&Logger)) -> [Value; 2] {
        let (guard, outputs) = Outputs::pipeline();
        let other = Captured::default();
        let drain = Mutex::new(Json::new(io::LineWriter::new(other.clone())).build()).fuse();
        log(&Logger::root(
            Duplicate(guard.pipeline().clone(), drain).fuse(),
            o!("k" => 1, "outer" => 1),
        ));
        [outputs.last(guard.pipeline()), serde_json::from_str(&other.text()).unwrap()]
    }

    #[test]
    fn the_record_s_value_counts_and_then_the_innermost_logger_s() {
        let [ours, theirs] = both(|log| {
            let log = log.new(o!("k" => 2, "inner" => 2));
            info!(log, "said"; "k" => 3, "own" => 3);
        });
        for key in ["k", "outer", "inner", "own"] {
            assert_eq!(ours[key], theirs[key], "{key}");
        }
        assert_eq!(ours["k"], 3);
    }

    #[test]
    fn bunyan_has_the_members_of_slog_bunyan() {
        let memory = Memory::default();
        let sink =
            Sink::writer("memory", memory.clone()).format(tach_log::Json::bunyan("app", "a"));
        let guard = Pipeline::builder().sink(sink).filter("trace").build().unwrap();
        let other = Captured::default();
        let drain = slog_bunyan::with_name("app", io::LineWriter::new(other.clone())).build();
        let both = Duplicate(guard.pipeline().clone(), Mutex::new(drain).fuse()).fuse();
        let log = Logger::root(both, o!("outer" => 1));
        crit!(log, "said"; "k" => 0.5);
        error!(log, "said"; "text" => "a \"b\"");
        warn!(log, "said {}", 1);
        info!(log, "two\nlines"; "yes" => true, "shown" => %"s", "debug" => ?Some(1));
        debug!(log, "");
        trace!(log, "said");
        guard.pipeline().flush(LONG).unwrap();
        let parsed = |text: &str| {
            let events = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            let without_host = events.map(|mut event| {
                let time = event["time"].as_str().unwrap().parse::<UnixTime>();
                assert!(time.is_ok() && event["hostname"].is_string(), "{event}");
                event.as_object_mut().unwrap().retain(|key, _| key != "time" && key != "hostname");
                event
            });
            without_host.collect::<Vec<_>>()
        };
        let ours = parsed(&memory.text());
        assert_eq!(ours, parsed(&other.text()));
        let levels: Vec<_> = ours.iter().map(|event| event["level"].as_u64().unwrap()).collect();
        // The crate slog leaves out `trace!` unless a feature is on.
        assert_eq!(&levels[..5], [60, 50, 40, 30, 20]);
    }

    /// slog-json writes the outermost value last, so that its readers see that.
    #[test]
    fn an_inner_logger_s_value_counts_before_an_outer_one_s() {
        let [ours, theirs] = both(|log| {
            let log = log.new(o!("k" => 2)).new(o!("k" => 3));
            info!(log, "said"; "own" => 1, "own" => 2);
        });
        assert_eq!((&ours["k"], &theirs["k"]), (&3.into(), &1.into()));
        assert_eq!(ours["own"], 2);
    }
}

#[cfg(feature = "tracing")]
mod tracing {
    use ::tracing::{field, info, info_span, subscriber};
    use test_support::Captured;
    use tracing_subscriber::fmt;
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    /// Logs through the pipeline and the JSON of tracing-subscriber, and returns the event of each.
    fn both(log: impl FnOnce()) -> [Value; 2] {
        let (guard, outputs) = Outputs::pipeline();
        let other = Captured::default();
        let writer = other.clone();
        let json = fmt::layer().json().flatten_event(true).with_writer(move || writer.clone());
        let subscriber = tracing_subscriber::registry().with(guard.pipeline().clone()).with(json);
        subscriber::with_default(subscriber, log);
        let theirs = other.text();
        [
            outputs.last(guard.pipeline()),
            serde_json::from_str(theirs.lines().last().unwrap()).unwrap(),
        ]
    }

    #[test]
    fn the_event_s_value_counts_and_then_the_innermost_span_s() {
        let [ours, theirs] = both(|| {
            let _outer = info_span!("outer", id = 7, a = 1, b = 1).entered();
            let _inner = info_span!("inner", id = 8, a = 2).entered();
            info!(id = 99, c = 3, "said");
        });
        assert_eq!((&ours["id"], &ours["id"]), (&99.into(), &theirs["id"]));
        // The innermost span there, and the spans from the outermost to the innermost.
        assert_eq!((&ours["a"], &ours["a"]), (&2.into(), &theirs["span"]["a"]));
        assert_eq!(ours["b"], theirs["spans"][0]["b"]);
        assert_eq!(ours["c"], theirs["c"]);
        assert_eq!(ours["span"], "outer:inner");
    }

    #[test]
    fn a_span_s_field_that_is_recorded_again_has_its_last_value() {
        let [ours, theirs] = both(|| {
            let span = info_span!("span", n = 0, kept = 1, late = field::Empty).entered();
            for n in 1..=3 {
                span.record("n", n).record("late", n);
            }
            info!("said");
        });
        for key in ["n", "late", "kept"] {
            assert_eq!(ours[key], theirs["span"][key], "{key}");
        }
        assert_eq!([&ours["n"], &ours["late"], &ours["kept"]], [3, 3, 1]);
    }

    #[test]
    fn no_field_passes_for_the_spans_or_the_head() {
        let [ours, _] = both(|| {
            let _span = info_span!("outer", span = "forged", level_ = 1).entered();
            info!(level = 2, msg = 3, span_ = 4);
        });
        assert_eq!([&ours["span"], &ours["level"]], ["outer", "INFO"]);
        assert_eq!(
            [&ours["span_2"], &ours["level_2"], &ours["msg_"]],
            [&Value::from("forged"), &2.into(), &3.into()]
        );
        assert_eq!([&ours["span_"], &ours["level_"]], [4, 1]);
    }
}
