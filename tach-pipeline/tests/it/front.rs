//! The records of each front end, as they are written.

use proptest::prelude::*;
#[cfg(any(feature = "slog", feature = "tracing"))]
use serde_json::json;
use tach_core::{Anchor, Clock as _, Instant, ManualClock, UnixTime, event_time};
use tach_log::{Format, Json, Line, Logfmt};
use tach_pipeline::{Pipeline, Sink};

#[cfg(feature = "tracing")]
use crate::support::subscriber;
use crate::support::{LONG, Memory, info};

static CLOCK: ManualClock = ManualClock::new(UnixTime::from_nanos(1_500_000_000));

#[test]
fn log_s_records_are_written_as_by_the_formatters() {
    use log::Log as _;
    let (json, line, logfmt) = (Memory::default(), Memory::default(), Memory::default());
    let guard = Pipeline::builder()
        .sink(json.json())
        .sink(Sink::writer("line", line.clone()))
        .sink(Sink::writer("logfmt", logfmt.clone()).format(Logfmt::new()))
        .with_clock(&CLOCK)
        .build()
        .unwrap();
    let fields = [
        ("text", log::kv::Value::from("two\nlines")),
        ("float", 0.1.into()),
        ("int", i128::MIN.into()),
        ("yes", true.into()),
        ("level", 1.into()),
    ];
    let mut expected = [Vec::new(), Vec::new(), Vec::new()];
    for message in [format_args!("as it is\u{1b}"), format_args!("{} \"{}\"", 1, "two")] {
        let record = log::Record::builder()
            .level(log::Level::Warn)
            .target("app::db")
            .args(message)
            .key_values(&fields)
            .build();
        guard.pipeline().log(&record);
        let [json, line, logfmt] = &mut expected;
        event_time::during(CLOCK.anchor(), || {
            tach_log::write(Json::new())(json, &record).unwrap();
            tach_log::write(Line::new())(line, &record).unwrap();
            tach_log::write(Logfmt::new())(logfmt, &record).unwrap();
        });
    }
    guard.pipeline().flush(LONG).unwrap();
    let expected = expected.map(|bytes| String::from_utf8(bytes).unwrap());
    assert_eq!([json.text(), line.text(), logfmt.text()], expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_log_s_records_hold_is_written_as_by_the_formatters(
        texts: [String; 5],
        signed: i128, unsigned: u128, bits: u64,
    ) {
        use log::Log as _;
        use log::kv::Value;
        let [target, message, key, text, printed] = texts.each_ref().map(String::as_str);
        let fields = [
            (key, Value::from(text)),
            ("printed", Value::from_display(&printed)),
            (text, signed.into()),
            (message, unsigned.into()),
            (target, f64::from_bits(bits).into()),
        ];
        let memories: [Memory; 3] = Default::default();
        let formats: [Box<dyn Format + Send + Sync>; 3] =
            [Box::new(Json::new()), Box::new(Line::new()), Box::new(Logfmt::new())];
        let builder = memories.iter().zip(formats).fold(Pipeline::builder(), |builder, (to, format)| {
            builder.sink(Sink::writer("memory", to.clone()).format(format))
        });
        let guard = builder.with_clock(&CLOCK).build().unwrap();
        let mut record = log::Record::builder();
        record.target(target).key_values(&fields);
        let mut expected = <[Vec<u8>; 3]>::default();
        let [json, line, logfmt] = &mut expected;
        let message = format_args!("{message}");
        let record = record.args(message).build();
        guard.pipeline().log(&record);
        event_time::during(CLOCK.anchor(), || {
            tach_log::write(Json::new())(json, &record).unwrap();
            tach_log::write(Line::new())(line, &record).unwrap();
            tach_log::write(Logfmt::new())(logfmt, &record).unwrap();
        });
        guard.pipeline().flush(LONG).unwrap();
        prop_assert_eq!(memories.map(|memory| memory.text().into_bytes()), expected);
    }
}

#[test]
fn the_time_is_that_of_the_call_and_of_the_stamp_within_one() {
    let memory = Memory::default();
    let guard = Pipeline::builder().sink(memory.json()).build().unwrap();
    let before = UnixTime::now();
    info(guard.pipeline(), "now");
    let after = UnixTime::now();
    let stamp = Anchor::new(Instant::from_ticks(1), UnixTime::from_nanos(1_500_000_000));
    event_time::during(stamp, || info(guard.pipeline(), "then"));
    guard.pipeline().flush(LONG).unwrap();
    let records = memory.records();
    let now: jiff::Timestamp = records[0]["ts"].as_str().unwrap().parse().unwrap();
    let micros = |time: UnixTime| i64::try_from(time.as_micros()).unwrap();
    assert!((micros(before)..=micros(after)).contains(&now.as_microsecond()), "{now}");
    assert_eq!(records[1]["ts"], "1970-01-01T00:00:01.500000Z");
}

#[cfg(feature = "slog")]
#[test]
fn slog_s_records_have_their_values_and_the_logger_s() {
    let memory = Memory::default();
    let guard = Pipeline::builder().sink(memory.json()).with_clock(&CLOCK).build().unwrap();
    let log = slog::Logger::root(guard.pipeline().clone(), slog::o!("logger" => "of \"all\""));
    slog::crit!(log, "message {}", 1; "u" => u64::MAX, "i" => -1_i8, "f" => f64::NAN, "b" => false,
        "s" => "text", "c" => 'c', "d" => format_args!("{}", 2), "none" => None::<u8>);
    slog::info!(log, # "tag", "tagged");
    guard.pipeline().flush(LONG).unwrap();
    let expected = [
        json!({"ts": "1970-01-01T00:00:01.500000Z", "level": "CRITICAL", "target": module_path!(),
            "msg": "message 1", "u": u64::MAX, "i": -1, "f": null, "b": false, "s": "text", "c": "c",
            "d": "2", "none": null, "logger": "of \"all\""}),
        json!({"ts": "1970-01-01T00:00:01.500000Z", "level": "INFO", "target": "tag",
            "msg": "tagged", "logger": "of \"all\""}),
    ];
    assert_eq!(memory.records(), expected);
}

#[cfg(feature = "tracing")]
#[test]
fn tracing_s_events_have_their_fields_and_those_of_the_spans() {
    let memory = Memory::default();
    let guard = Pipeline::builder().sink(memory.json()).with_clock(&CLOCK).build().unwrap();
    let subscriber = subscriber(guard.pipeline());
    tracing::dispatcher::with_default(&subscriber, || {
        tracing::info!(target: "alone", u = 1_u64, "message {}", 1);
        tracing::info!(target: "number", message = 5);
        let outer = tracing::info_span!("outer", a = "text", late = tracing::field::Empty);
        outer.record("late", 2);
        let _outer = outer.enter();
        let _inner = tracing::info_span!("inner", message = "kept", b = ?Some(1)).entered();
        tracing::error!(target: "within", f = 0.5, yes = true, shown = %"a\nb", r#type = 1);
    });
    guard.pipeline().flush(LONG).unwrap();
    let expected = [
        json!({"ts": "1970-01-01T00:00:01.500000Z", "level": "INFO", "target": "alone",
            "msg": "message 1", "u": 1}),
        json!({"ts": "1970-01-01T00:00:01.500000Z", "level": "INFO", "target": "number",
            "message": 5}),
        json!({"ts": "1970-01-01T00:00:01.500000Z", "level": "ERROR", "target": "within",
            "f": 0.5, "yes": true, "shown": "a\nb", "type": 1, "span": "outer:inner", "a": "text",
            "late": 2, "message": "kept", "b": "Some(1)"}),
    ];
    assert_eq!(memory.records(), expected);
}

/// Fields keep their keys if fields between are empty, and if there are many.
#[cfg(feature = "tracing")]
#[test]
fn fields_have_their_keys_wherever_they_are_among_others() {
    let memory = Memory::default();
    let guard = Pipeline::builder().sink(memory.json()).with_clock(&CLOCK).build().unwrap();
    let subscriber = subscriber(guard.pipeline());
    let mut expected = Vec::new();
    tracing::dispatcher::with_default(&subscriber, || {
        for round in 0..3 {
            // Empty fields are not visited, so the first visited field has another index each time.
            let first = (round == 1).then_some(1);
            tracing::info!(target: "few", first, second = round, "said");
            tracing::info!(target: "none", first, message_id = 5);
            tracing::info!(
                target: "many", a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, i = 9, j = 10,
                r#k = 11, r#type = 12, r#move = 13, r#n = "14", o = ?15, "said",
            );
            let text = json!({"ts": "1970-01-01T00:00:01.500000Z", "level": "INFO"});
            let with = |more: serde_json::Value| {
                let mut all = text.clone();
                all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
                all
            };
            let mut few = with(json!({"target": "few", "msg": "said", "second": round}));
            let mut none = with(json!({"target": "none", "message_id": 5}));
            if let Some(first) = first {
                few["first"] = first.into();
                none["first"] = first.into();
            }
            let many =
                with(json!({"target": "many", "msg": "said", "a": 1, "b": 2, "c": 3, "d": 4,
                "e": 5, "f": 6, "g": 7, "h": 8, "i": 9, "j": 10, "k": 11, "type": 12, "move": 13,
                "n": "14", "o": "15"}));
            expected.extend([few, none, many]);
        }
    });
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!(memory.records(), expected);
}

/// `tracing` does not rule this out.
#[cfg(feature = "tracing")]
#[test]
fn an_event_made_by_hand_may_have_the_fields_of_another_callsite() {
    use tracing_core::field::Value;
    use tracing_core::subscriber::Interest;
    use tracing_core::{Callsite, Event, Kind, Level, Metadata, metadata};

    struct ByHand(&'static Metadata<'static>);
    impl Callsite for ByHand {
        fn set_interest(&self, _: Interest) {}
        fn metadata(&self) -> &Metadata<'_> {
            self.0
        }
    }
    static ONE: ByHand = ByHand(&ONE_HAS);
    static ONE_HAS: Metadata<'static> = metadata! {
        name: "one", target: "one", level: Level::INFO, fields: &["a", "r#b"], callsite: &ONE,
        kind: Kind::EVENT
    };
    static OTHER: ByHand = ByHand(&OTHER_HAS);
    static OTHER_HAS: Metadata<'static> = metadata! {
        name: "other", target: "other", level: Level::INFO, fields: &["c", "r#d"], callsite: &OTHER,
        kind: Kind::EVENT
    };

    let memory = Memory::default();
    let guard = Pipeline::builder().sink(memory.json()).with_clock(&CLOCK).build().unwrap();
    let subscriber = subscriber(guard.pipeline());
    tracing::dispatcher::with_default(&subscriber, || {
        for (of, fields) in [(&ONE_HAS, &ONE_HAS), (&ONE_HAS, &OTHER_HAS), (&ONE_HAS, &ONE_HAS)] {
            let mut fields_of = fields.fields().iter();
            let [first, second] = [(); 2].map(|()| fields_of.next().unwrap());
            let values = [(&first, Some(&1 as &dyn Value)), (&second, Some(&2 as &dyn Value))];
            Event::dispatch(of, &fields.fields().value_set(&values));
        }
    });
    guard.pipeline().flush(LONG).unwrap();
    let own = json!({"ts": "1970-01-01T00:00:01.500000Z", "level": "INFO", "target": "one",
        "a": 1, "b": 2});
    let foreign = json!({"ts": "1970-01-01T00:00:01.500000Z", "level": "INFO", "target": "one",
        "c": 1, "d": 2});
    assert_eq!(memory.records(), [own.clone(), foreign, own]);
}

#[cfg(feature = "tracing")]
#[test]
fn several_pipelines_may_be_layers_of_one_subscriber() {
    use tracing_subscriber::layer::SubscriberExt as _;
    let memories = [Memory::default(), Memory::default()];
    let [one, other] = memories
        .each_ref()
        .map(|memory| Pipeline::builder().sink(memory.json()).with_clock(&CLOCK).build().unwrap());
    let subscriber =
        tracing_subscriber::registry().with(one.pipeline().clone()).with(other.pipeline().clone());
    tracing::subscriber::with_default(subscriber, || {
        let span = tracing::info_span!("span", a = 1, late = tracing::field::Empty).entered();
        span.record("late", 2);
        tracing::info!(target: "app", "within");
    });
    let end = r#""msg":"within","span":"span","a":1,"late":2}"#;
    for (guard, memory) in [one, other].iter().zip(&memories) {
        guard.pipeline().flush(LONG).unwrap();
        // Compared as text, since a parser would keep one of two equal keys.
        assert!(memory.text().trim_end().ends_with(end), "{}", memory.text());
    }
}

#[cfg(feature = "tracing")]
#[test]
fn lines_of_a_fmt_subscriber_are_written_as_they_are() {
    let memory = Memory::default();
    let guard = Pipeline::builder().sink(memory.json()).filter("info,quiet=off").build().unwrap();
    let subscriber = tracing_subscriber::fmt()
        .without_time()
        .with_ansi(false)
        .with_writer(guard.pipeline().make_writer());
    tracing::subscriber::with_default(subscriber.finish(), || {
        tracing::warn!(target: "app", number = 1, "ready");
        tracing::warn!(target: "quiet", "unseen");
    });
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!(memory.text(), " WARN app: ready number=1\n");
}

/// The prelude has `MakeWriterExt` too, which has a `with_filter` of its own.
#[cfg(feature = "tracing")]
#[test]
fn with_the_prelude_a_pipeline_takes_each_method_of_a_layer() {
    use tracing_subscriber::filter::LevelFilter;
    use tracing_subscriber::prelude::*;
    let memory = Memory::default();
    let guard = Pipeline::builder().sink(memory.json()).build().unwrap();
    let warnings = guard.pipeline().clone().with_filter(LevelFilter::WARN);
    let errors = guard.pipeline().layer().with_filter(LevelFilter::ERROR);
    let lines = guard.pipeline().make_writer().with_filter(|metadata| metadata.target() == "app");
    let lines = tracing_subscriber::fmt::layer().without_time().with_ansi(false).with_writer(lines);
    tracing::subscriber::with_default(tracing_subscriber::registry().with(warnings), || {
        tracing::info!("hidden");
        tracing::warn!("of a layer");
    });
    tracing::subscriber::with_default(tracing_subscriber::registry().with(errors), || {
        tracing::warn!("hidden");
        tracing::error!("of a layer alone");
    });
    tracing::subscriber::with_default(tracing_subscriber::registry().with(lines), || {
        tracing::warn!(target: "other", "hidden");
        tracing::warn!(target: "app", "of a writer");
    });
    guard.pipeline().flush(LONG).unwrap();
    let text = memory.text();
    let expected = ["\"of a layer\"", "\"of a layer alone\"", " WARN app: of a writer"];
    assert!(expected.iter().all(|expected| text.contains(expected)), "{text}");
    assert!(!text.contains("hidden"), "{text}");
}

/// The pipeline takes the record from `log`, which knows no spans.
#[cfg(feature = "tracing")]
#[test]
fn a_record_of_log_has_the_spans_around_it() {
    use tracing_subscriber::Layer as _;
    use tracing_subscriber::filter::filter_fn;
    use tracing_subscriber::layer::SubscriberExt as _;
    let memory = Memory::default();
    let guard = Pipeline::builder().sink(memory.json()).build().unwrap();
    let hidden = guard.pipeline().layer().with_filter(filter_fn(|of| of.name() != "hidden"));
    let subscriber = tracing_subscriber::registry().with(hidden);
    info(guard.pipeline(), "without a subscriber");
    tracing::subscriber::with_default(subscriber, || {
        info(guard.pipeline(), "outside");
        let _outer = tracing::info_span!("request", user = "bob", id = 1).entered();
        let _hidden = tracing::info_span!("hidden", secret = true).entered();
        let _inner = tracing::info_span!("query", id = 2).entered();
        info(guard.pipeline(), "inside");
    });
    // A subscriber without the pipeline has spans that are not the pipeline's.
    tracing::subscriber::with_default(tracing_subscriber::registry(), || {
        let _span = tracing::info_span!("other").entered();
        info(guard.pipeline(), "elsewhere");
    });
    guard.pipeline().flush(LONG).unwrap();
    let records = memory.records();
    let spans: Vec<_> = records.iter().map(|record| record["span"].clone()).collect();
    assert_eq!(spans, [json!(null), json!(null), json!("request:query"), json!(null)]);
    assert_eq!((&records[2]["user"], &records[2]["id"]), (&json!("bob"), &json!(2)));
    assert!(!memory.text().contains("secret"));
}
