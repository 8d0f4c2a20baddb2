//! Records that are too long.

#[cfg(feature = "tracing")]
use std::io::Write as _;

use tach_pipeline::Pipeline;
#[cfg(feature = "tracing")]
use tach_pipeline::Sink;

use crate::support::{LONG, Memory, info};

const MOST: usize = 4096;

#[test]
fn a_record_that_is_too_long_is_cut_and_counts_its_loss() {
    let memory = Memory::default();
    let builder = Pipeline::builder().sink(memory.json()).max_record_bytes(MOST);
    let pipeline = builder.build().unwrap();
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
            &*pipeline,
            &log::Record::builder()
                .level(log::Level::Info)
                .args(format_args!("{message}"))
                .key_values(&fields)
                .build(),
        );
    };
    log_it(short);
    log_it(&long);
    info(&pipeline, &"x".repeat(MOST + 1));
    info(&pipeline, &"x".repeat(MOST - 64));
    pipeline.flush(LONG).unwrap();
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
fn fields_for_whose_keys_there_is_no_room_are_left_out() {
    let memory = Memory::default();
    let builder = Pipeline::builder().sink(memory.json()).max_record_bytes(256);
    let pipeline = builder.build().unwrap();
    let keys: Vec<_> = (0..1_000).map(|number| format!("key {number}")).collect();
    let fields: Vec<_> = keys.iter().map(|key| (key.as_str(), "value")).collect();
    log::Log::log(
        &*pipeline,
        &log::Record::builder().args(format_args!("many")).key_values(&fields).build(),
    );
    pipeline.flush(LONG).unwrap();
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
    let pipeline = Pipeline::builder().sink(sink).max_record_bytes(256).build().unwrap();
    let line = "x".repeat(300);
    pipeline.clone().make_writer().write_all(format!("{line}\n").as_bytes()).unwrap();
    pipeline.flush(LONG).unwrap();
    assert_eq!(memory.text(), format!("{} truncated_bytes=172\n", &line[..128]));
}
