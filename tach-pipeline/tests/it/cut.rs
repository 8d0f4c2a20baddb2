//! Records that are too long.

#[cfg(feature = "tracing")]
use std::io::Write as _;

use tach_pipeline::{Pipeline, Sink};

#[cfg(feature = "tracing")]
use crate::support::subscriber;
use crate::support::{LONG, Memory, info};

const MOST: usize = 4096;

#[test]
fn a_record_that_is_too_long_is_cut_and_counts_its_loss() {
    let memory = Memory::default();
    let builder = Pipeline::builder().sink(memory.json()).max_record_bytes(MOST);
    let guard = builder.build().unwrap();
    // Each character has two bytes.
    let (long, short) = ("é".repeat(MOST), "short");
    let fields: [(_, log::kv::Value<'_>); 4] = [
        ("a", (&*long).into()),
        ("b", short.into()),
        ("c", (&*long).into()),
        ("number", u64::MAX.into()),
    ];
    let log_it = |message: &str| {
        log::Log::log(
            guard.pipeline(),
            &log::Record::builder()
                .level(log::Level::Info)
                .args(format_args!("{message}"))
                .key_values(&fields)
                .build(),
        );
    };
    log_it(short);
    log_it(&long);
    info(guard.pipeline(), &"x".repeat(MOST + 1));
    info(guard.pipeline(), &"x".repeat(MOST - 64));
    guard.pipeline().flush(LONG).unwrap();
    let records = memory.records();
    for (record, message) in records[..2].iter().zip([short, &long]) {
        let text = |key: &str| record[key].as_str().unwrap();
        let kept: usize = ["msg", "a", "b", "c"].iter().map(|key| text(key).len()).sum();
        let given = message.len() + 2 * long.len() + short.len();
        assert_eq!(record["truncated_bytes"], given - kept);
        assert!((MOST / 2..MOST).contains(&kept), "{kept}");
        assert_eq!((text("b"), &record["number"]), (short, &u64::MAX.into()));
        assert!(message.starts_with(text("msg")) && long.starts_with(text("a")));
        assert!(text("a").len() > text("c").len());
    }
    assert_eq!(records[2]["msg"].as_str().unwrap().len(), MOST / 2);
    assert_eq!(records[2]["truncated_bytes"], MOST / 2 + 1);
    assert_eq!(records[3].get("truncated_bytes"), None);
    assert_eq!(records[3]["msg"].as_str().unwrap().len(), MOST - 64);
}

#[test]
fn fields_and_keys_beyond_their_bounds_are_counted() {
    let memory = Memory::default();
    let guard = Pipeline::builder().sink(memory.json()).build().unwrap();
    let log = |keys: &[String]| {
        let fields: Vec<_> = keys.iter().map(|key| (&**key, 1)).collect();
        let fields = fields.as_slice();
        log::Log::log(guard.pipeline(), &log::Record::builder().key_values(&fields).build());
    };
    log(&(0..1_024).map(|at| format!("k{at:04}")).collect::<Vec<_>>());
    log(&(0..1_026).map(|at| format!("k{at:04}")).collect::<Vec<_>>());
    log(&["truncated_bytes".to_owned(), "x".repeat(300)]);
    guard.pipeline().flush(LONG).unwrap();
    let records = memory.records();
    let count = |at: usize| {
        records[at].as_object().unwrap().keys().filter(|key| key.starts_with('k')).count()
    };
    assert_eq!((count(0), records[0].get("truncated_bytes")), (1_024, None));
    // A number counts as 40 bytes.
    assert_eq!((count(1), &records[1]["truncated_bytes"]), (1_024, &(2 * (5 + 40)).into()));
    assert_eq!(records[2]["truncated_bytes"], 1);
    assert_eq!(records[2]["truncated_bytes_"], 44);
}

#[test]
fn fields_for_whose_keys_there_is_no_room_are_left_out() {
    let memory = Memory::default();
    let builder = Pipeline::builder().sink(memory.json()).max_record_bytes(256);
    let guard = builder.build().unwrap();
    let keys: Vec<_> = (0..1_000).map(|number| format!("key {number}")).collect();
    let fields: Vec<_> = keys.iter().map(|key| (key.as_str(), "value")).collect();
    log::Log::log(
        guard.pipeline(),
        &log::Record::builder().args(format_args!("many")).key_values(&fields).build(),
    );
    guard.pipeline().flush(LONG).unwrap();
    assert!(memory.text().len() < 1_000, "{}", memory.text());
    let given: u64 = fields.iter().map(|(key, value)| (key.len() + value.len()) as u64).sum();
    let record = &memory.records()[0];
    assert!(record["truncated_bytes"].as_u64().unwrap() > given - 256);
    assert_eq!(record["key 0"], "value");
}

#[cfg(feature = "tracing")]
#[test]
fn a_line_that_is_too_long_is_cut() {
    use tracing_subscriber::fmt::MakeWriter as _;
    let memory = Memory::default();
    let sink = Sink::writer("memory", memory.clone());
    let guard = Pipeline::builder().sink(sink).max_record_bytes(256).build().unwrap();
    let line = "x".repeat(300);
    let lines = guard.pipeline().make_writer();
    lines.make_writer().write_all(format!("{line}\n").as_bytes()).unwrap();
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!(memory.text(), format!("{} truncated_bytes=172\n", &line[..128]));
}

/// Spans keep their fields if a format lists them.
#[cfg(feature = "tracing")]
#[test]
fn the_spans_of_a_long_record_keep_what_has_room() {
    use tach_log::Json;

    let (flat, nested) = (Memory::default(), Memory::default());
    let builder = Pipeline::builder()
        .sink(flat.json())
        .sink(nested.json().format(Json::new().without("span").spans("spans")));
    let guard = builder.max_record_bytes(MOST).build().unwrap();
    let subscriber = subscriber(guard.pipeline());
    let long = "x".repeat(MOST);
    tracing::dispatcher::with_default(&subscriber, || {
        let _outer = tracing::info_span!("outer", a = long, number = 1).entered();
        let _inner = tracing::info_span!("inner", b = long, c = "short").entered();
        tracing::info!(d = long, "said");
    });
    guard.pipeline().flush(LONG).unwrap();
    let lost = |record: &serde_json::Value| record["truncated_bytes"].as_u64().unwrap();
    let length = |text: &serde_json::Value| text.as_str().unwrap().len() as u64;
    let record = &flat.records()[0];
    let kept: u64 = ["a", "b", "d"].map(|key| length(&record[key])).iter().sum();
    assert_eq!(lost(record) + kept, 3 * MOST as u64);
    assert_eq!((&record["number"], &record["c"]), (&1.into(), &"short".into()));

    let record = &nested.records()[0];
    let [outer, inner] = [0, 1].map(|index| &record["spans"][index]);
    assert_eq!((&outer["name"], &inner["name"]), (&"outer".into(), &"inner".into()));
    assert_eq!((&outer["number"], &inner["c"]), (&1.into(), &"short".into()));
    let kept = [&outer["a"], &inner["b"], &record["d"]].map(length);
    assert!(kept.into_iter().all(|kept| kept > 100), "{kept:?}");
    assert_eq!(lost(record) + kept.iter().sum::<u64>(), 3 * MOST as u64);
    assert!(["a", "b", "c", "number"].iter().all(|key| record.get(key).is_none()), "{record}");
    assert!((outer.get("truncated_bytes"), inner.get("truncated_bytes")) == (None, None));
}

/// As in the event itself: see tach-log's tests.
#[cfg(feature = "tracing")]
#[test]
fn the_options_of_fields_hold_in_spans_too() {
    use log::kv::Value;
    use tach_log::Json;

    let memory = Memory::default();
    let json = Json::new().without("span").spans("spans").texts("id").max_depth(5);
    let builder = Pipeline::builder().sink(memory.json().format(json));
    let guard = builder.build().unwrap();
    let deep = serde_json::json!([[[[]]]]);
    crate::support::in_subscriber(guard.pipeline(), || {
        let _span = tracing::info_span!("outer", id = u64::MAX, other = u64::MAX).entered();
        let fields = [("deep", Value::from_serde(&deep)), ("id", 7.into())];
        let mut record = log::Record::builder();
        log::Log::log(guard.pipeline(), &record.key_values(&fields).build());
    });
    guard.pipeline().flush(LONG).unwrap();
    let record = &memory.records()[0];
    assert_eq!((&record["deep"], &record["id"]), (&deep, &"7".into()));
    let span = &record["spans"][0];
    assert_eq!((&span["id"], &span["other"]), (&u64::MAX.to_string().into(), &u64::MAX.into()));
}

/// A receiver that divides lines would take the rest for a message, which a client could write.
#[test]
fn a_line_is_as_long_as_its_receiver_takes_it() {
    const LINE: usize = 1_000;
    let (json, text, whole) = (Memory::default(), Memory::default(), Memory::default());
    let guard = Pipeline::builder()
        .sink(json.json().max_line_bytes(LINE))
        .sink(Sink::writer("text", text.clone()).max_line_bytes(LINE))
        .sink(whole.json())
        .build()
        .unwrap();
    // An escape takes six bytes for one.
    let (escapes, plain) = ("\u{1b}".repeat(8_000), "x".repeat(100_000));
    let long = [&*escapes, &*plain, "short"];
    let log_it = |target: &str, message: &str, fields: &dyn log::kv::Source| {
        log::Log::log(
            guard.pipeline(),
            &log::Record::builder()
                .level(log::Level::Info)
                .target(target)
                .key_values(&fields)
                .args(format_args!("{message}"))
                .build(),
        );
    };
    let keys: Vec<_> = (0..200).map(|at| format!("key_{at}")).collect();
    let many: Vec<_> = keys.iter().map(|key| (&**key, 1)).collect();
    for message in long {
        for value in long {
            let target = if value == "short" { "a::b" } else { &plain[..5_000] };
            log_it(target, message, &[("first", value), ("second", "v")]);
        }
        log_it("a", message, &many.as_slice());
    }
    guard.pipeline().flush(LONG).unwrap();
    let (records, wholes) = (json.records(), whole.records());
    assert_eq!((records.len(), wholes.len()), (12, 12));
    assert_eq!(text.text().lines().count(), 12);
    for line in json.text().lines().chain(text.text().lines()) {
        assert!(line.len() < LINE, "{}", line.len());
        assert!(line.contains("truncated_bytes") || line.contains("short"), "{line}");
    }
    for (record, whole) in records.iter().zip(&wholes) {
        assert!(whole.get("truncated_bytes").is_none());
        let is_cut = serde_json::to_string(whole).unwrap().len() >= LINE;
        assert_eq!(record.get("truncated_bytes").is_some(), is_cut, "{record}");
        let start = record.get("msg").map_or("", |message| message.as_str().unwrap());
        assert!(whole["msg"].as_str().unwrap().starts_with(start));
    }
    // Enough of a usual line is kept.
    let kept = records[1]["first"].as_str().unwrap_or_default();
    assert!(kept.is_empty() || plain.starts_with(kept));
    let error = Pipeline::builder().sink(Sink::stdout().max_line_bytes(100)).build().unwrap_err();
    assert!(error.to_string().contains("Sink::max_line_bytes(100) for stdout"), "{error}");
}

/// Most of a long message of a client is kept, also of one that needs escapes.
#[test]
fn a_line_that_is_too_long_keeps_what_fits() {
    const LINE: usize = 8_192;
    let (json, text) = (Memory::default(), Memory::default());
    let guard = Pipeline::builder()
        .sink(json.json().max_line_bytes(LINE))
        .sink(Sink::writer("text", text.clone()).max_line_bytes(LINE))
        .max_record_bytes(100_000)
        .build()
        .unwrap();
    for length in [9_000, 90_000, 900_000] {
        for part in ["x", "\u{e9}", "\u{1b}", "\""] {
            let long = part.repeat(length / part.len());
            for (message, value) in [(&*long, "short"), ("short", &*long)] {
                let mut record = log::Record::builder();
                let fields = [("value", value)];
                record.level(log::Level::Info).key_values(&fields);
                log::Log::log(guard.pipeline(), &record.args(format_args!("{message}")).build());
            }
        }
    }
    guard.pipeline().flush(LONG).unwrap();
    let (json, text) = (json.text(), text.text());
    assert_eq!((json.lines().count(), text.lines().count()), (24, 24));
    for line in json.lines().chain(text.lines()) {
        let length = line.len() + 1;
        assert!((LINE * 7 / 8..=LINE).contains(&length), "{length}: {}", &line[..100]);
    }
}
