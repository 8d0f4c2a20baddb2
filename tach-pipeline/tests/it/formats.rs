//! Users' formats.

use core::sync::atomic::{AtomicU32, Ordering};
use std::io::{self, Write as _};
use std::sync::Arc;

use log::{Level, Log as _, Record};
use serde_json::Value;
use tach_core::{Clock as _, ManualClock, UnixTime, event_time};
use tach_log::{Event, Format, Json, Line, Logfmt};
use tach_pipeline::{Pipeline, Sink};
use test_support::{Captured, Raw};

use crate::support::{LONG, Memory, info};

static CLOCK: ManualClock = ManualClock::new(UnixTime::from_nanos(7));

#[test]
fn a_format_of_the_users_writes_as_it_does_for_other_back_ends() {
    let (written, mut expected) = (Captured::default(), Vec::new());
    let sink = Sink::writer("memory", written.clone()).format(Raw);
    let guard = Pipeline::builder().sink(sink).with_clock(&CLOCK).build().unwrap();
    let fields = [("a\nb", log::kv::Value::from("two words")), ("int", (-1).into())];
    for message in [format_args!("as it is\n"), format_args!("{}\n", 1)] {
        let mut record = Record::builder();
        record.level(Level::Warn).target("app").key_values(&fields);
        let record = record.args(message).build();
        guard.pipeline().log(&record);
        let anchor = CLOCK.anchor();
        event_time::during(anchor, || tach_log::write(Raw)(&mut expected, &record)).unwrap();
    }
    guard.pipeline().flush(LONG).unwrap();
    let expected = String::from_utf8(expected).unwrap();
    assert!(expected.starts_with("7 WARN WARN app as it is\n|a\nb=Str(\"two words\")|"));
    assert_eq!(written.take(), expected);
}

/// A format of the user's that renames without the means of `tach-log`.
struct Renaming;

impl Format for Renaming {
    fn write(&self, event: &Event<'_>, to: &mut Vec<u8>) -> io::Result<()> {
        event.fields(|_, value| writeln!(to, "password={value}"))
    }

    fn renames(&self) -> Vec<(&str, &str)> {
        vec![("pw", "password")]
    }
}

#[test]
fn a_renamed_key_is_redacted_by_either_name() {
    let fields = [("pw", "s3cret")];
    for redacted in ["password", "pw", "PASS*"] {
        let formats: [Box<dyn Format + Send + Sync>; 5] = [
            Box::new(Json::new().rename("pw", "password")),
            Box::new(Logfmt::new().rename("pw", "user.password")),
            Box::new(Json::ecs().rename("pw", "password")),
            Box::new(Line::new()),
            Box::new(Renaming),
        ];
        // One sink's name of the field hides the field in all sinks.
        let mut builder = Pipeline::builder().redact([redacted]);
        let mut outputs = Vec::new();
        for format in formats {
            let output = Captured::default();
            builder = builder.sink(Sink::writer("memory", output.clone()).format(format));
            outputs.push(output);
        }
        let guard = builder.build().unwrap();
        let args = format_args!("logged in");
        guard.pipeline().log(&Record::builder().args(args).key_values(&fields).build());
        guard.pipeline().flush(LONG).unwrap();
        for output in outputs {
            let text = output.take();
            assert!(text.contains("[redacted]") && !text.contains("s3cret"), "{redacted}: {text}");
        }
    }
}

/// A format that fails for one message and panics for another.
struct Moody;

impl Format for Moody {
    fn write(&self, event: &Event<'_>, to: &mut Vec<u8>) -> io::Result<()> {
        to.extend_from_slice(b"discarded");
        match event.message() {
            "fails" => Err(io::Error::other("on purpose")),
            "panics" => panic!("on purpose"),
            _ => {
                to.truncate(to.len() - "discarded".len());
                Json::new().write(event, to)
            }
        }
    }
}

#[test]
fn a_record_whose_format_fails_or_panics_is_dropped_alone() {
    let memory = Memory::default();
    let guard = Pipeline::builder().sink(memory.json().format(Moody)).build().unwrap();
    for message in ["before", "fails", "panics", "after"] {
        info(guard.pipeline(), message);
    }
    drop(guard);
    let dropped = "records dropped while the sink failed or did not keep up; SinkStats::last_error says \
        why, and Sink::buffer_bytes lets more wait";
    // The first is reported before the next record, and the second after a second or at the end.
    let mut messages = memory.messages();
    assert_eq!((&*messages[0], &*messages[1]), ("before", dropped));
    messages.retain(|message| message != dropped);
    assert_eq!(messages, ["before", "after"]);
    let counts = memory.records().iter().filter_map(|record| record["count"].as_u64()).sum::<u64>();
    assert_eq!(counts, 2);
}

/// The count is kept until it can be written.
#[test]
fn a_format_that_fails_for_its_own_report_loses_no_count() {
    struct Once(AtomicU32);
    impl Format for Once {
        fn write(&self, event: &Event<'_>, to: &mut Vec<u8>) -> io::Result<()> {
            // The record, and the report before the next one.
            if self.0.fetch_add(1, Ordering::Relaxed) < 2 {
                return Err(io::Error::other("on purpose"));
            }
            Json::new().write(event, to)
        }
    }
    let memory = Memory::default();
    let sink = memory.json().format(Once(0.into()));
    let guard = Pipeline::builder().sink(sink).build().unwrap();
    for message in ["lost", "one", "two"] {
        info(guard.pipeline(), message);
    }
    guard.pipeline().flush(LONG).unwrap();
    let dropped = "records dropped while the sink failed or did not keep up; SinkStats::last_error says \
        why, and Sink::buffer_bytes lets more wait";
    let is_report = |record: &Value| record["msg"] == dropped;
    // The second try of the report comes before "one" if a round of the back end ended after
    // "lost".
    let (reports, records): (Vec<_>, Vec<_>) = memory.records().into_iter().partition(is_report);
    assert_eq!(reports.iter().map(|report| &report["count"]).collect::<Vec<_>>(), [1]);
    let messages: Vec<_> = records.iter().map(|record| &record["msg"]).collect();
    assert_eq!(messages, ["one", "two"]);
}

#[test]
fn options_of_formats_that_can_t_work_fail_the_build_of_the_pipeline() {
    let json = || Sink::writer("one", Vec::new()).format(Json::new().rename("ts", "time"));
    let line = || Sink::writer("two", Vec::new()).format(Line::compact().target_width(9));
    let error = Pipeline::builder().sink(json()).sink(line()).build().unwrap_err();
    assert!(error.is_option() && error.faults().len() == 2, "{error}");
    let error = error.to_string();
    let of_json = "the format of one: Json::rename(\"ts\", \"time\"): \"ts\" is the key of a \
         part, and rename is for fields; use with(\"time\", Part::Time)";
    assert!(error.contains(of_json), "{error}");
    assert!(error.contains("the format of two: Line::target_width(9): "), "{error}");
    // A user's own format has none, and the options of one that is shared are asked for.
    let shared: Arc<dyn Format + Send + Sync> = Arc::new(Json::new().without("time"));
    let sink = |format| Sink::writer("three", Vec::new()).format(format);
    let error = Pipeline::builder().sink(sink(shared)).build().unwrap_err().to_string();
    assert!(error.contains(r#"the format of three: Json::without("time"): "#), "{error}");
    assert!(Pipeline::builder().sink(Sink::writer("own", Vec::new()).format(Raw)).build().is_ok());
}
