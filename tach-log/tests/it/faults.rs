//! Values, sources and targets that fail or panic: the record is not lost, and the line not broken.

use core::fmt;
use core::panic::AssertUnwindSafe;
use std::io;
use std::panic;

use log::Record;
use log::kv::{Error, Key, Source, ToValue, Value, VisitSource};

use crate::written::written_fields;

struct Fails;

impl fmt::Display for Fails {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("half\n")?;
        Err(fmt::Error)
    }
}

struct Panics;

impl fmt::Display for Panics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("half\n")?;
        panic!("on purpose")
    }
}

#[test]
fn a_value_that_fails_is_noted() {
    let fields = [("a", Value::from_display(&Fails)), ("b", 1.to_value())];
    let written = written_fields(&fields);
    assert_eq!(written.json, r#","a":"half\n<failed to format>","b":1"#);
    assert_eq!(written.logfmt, r#" a="half\n<failed to format>" b=1"#);
    assert_eq!(written.line, r#" a="half\n<failed to format>" b=1"#);
}

#[test]
#[cfg_attr(target_family = "wasm", ignore = "nothing unwinds")]
fn a_value_that_panics_is_noted() {
    let fields = [("a", Value::from_display(&Panics)), ("b", 1.to_value())];
    let written = written_fields(&fields);
    assert_eq!(written.json, r#","a":"half\n<panicked>","b":1"#);
    assert_eq!(written.logfmt, r#" a="half\n<panicked>" b=1"#);
    assert_eq!(written.line, r#" a="half\n<panicked>" b=1"#);
}

#[test]
#[cfg_attr(target_family = "wasm", ignore = "nothing unwinds")]
fn so_is_a_message() {
    let mut lines = Vec::new();
    for message in [format_args!("x {Fails}"), format_args!("x {Panics}")] {
        let record = Record::builder().target("t").args(message).key_values(&("k", 1)).build();
        tach_log::write_json(&mut lines, &record).unwrap();
        tach_log::write_line(&mut lines, &record).unwrap();
        tach_log::write_logfmt(&mut lines, &record).unwrap();
    }
    let lines = String::from_utf8(lines).unwrap();
    let lines: Vec<_> = lines.lines().collect();
    let notes = ["<failed to format>", "<panicked>"];
    assert_eq!(lines.len(), 3 * notes.len(), "{lines:#?}");
    for (lines, note) in lines.chunks(3).zip(notes) {
        assert!(lines[0].ends_with(&format!(r#""msg":"x half\n{note}","k":1}}"#)), "{}", lines[0]);
        assert!(lines[1].ends_with(&format!(r"INFO  t: x half\n{note} k=1")), "{}", lines[1]);
        assert!(lines[2].ends_with(&format!(r#"msg="x half\n{note}" k=1"#)), "{}", lines[2]);
    }
}

/// One field, and then the end that `then` makes.
struct Breaks(fn() -> Result<(), Error>);

impl Source for Breaks {
    fn visit<'kvs>(&'kvs self, visitor: &mut dyn VisitSource<'kvs>) -> Result<(), Error> {
        visitor.visit_pair(Key::from_str("a"), 1.to_value())?;
        self.0()
    }
}

#[test]
#[cfg_attr(target_family = "wasm", ignore = "nothing unwinds")]
fn a_source_that_breaks_off_ends_the_fields() {
    for source in [Breaks(|| Err(Error::msg("on purpose"))), Breaks(|| panic!("on purpose"))] {
        let written = written_fields(&source);
        assert_eq!(written.json, r#","a":1"#);
        assert_eq!(written.logfmt, " a=1");
        assert_eq!(written.line, " a=1");
    }
}

/// A target that takes so many bytes, and then no more.
struct Full(usize);

impl io::Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0 < bytes.len() {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "on purpose"));
        }
        self.0 -= bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A value that hides that it could not be written.
struct Hides;

impl fmt::Display for Hides {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let _hidden = f.write_str("some text");
        Ok(())
    }
}

#[test]
fn an_error_of_the_target_is_passed_on_wherever_it_comes() {
    let fields = [("a", Value::from_display(&Hides)), ("b", "x\ny".to_value())];
    let write = |target: &mut dyn io::Write| {
        let mut builder = Record::builder();
        let builder = builder.key_values(&fields);
        tach_log::write_json(target, &builder.args(format_args!("to {Hides}")).build())
    };
    let mut whole = Vec::new();
    write(&mut whole).unwrap();
    for room in 0..whole.len() {
        let error = write(&mut Full(room)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull, "with room for {room}");
    }
    write(&mut Full(whole.len())).unwrap();
}

struct Broken;

impl io::Write for Broken {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        assert!(!bytes.ends_with(b"text"), "the target's own panic");
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// It is not the record's doing, and nothing can be written there any more.
#[test]
#[cfg_attr(target_family = "wasm", ignore = "nothing unwinds")]
fn a_panic_of_the_target_is_the_callers() {
    let fields = ("a", Value::from_display(&Hides));
    let record = Record::builder().key_values(&fields).build();
    let panicked =
        panic::catch_unwind(AssertUnwindSafe(|| tach_log::write_json(&mut Broken, &record)));
    let message = *panicked.unwrap_err().downcast::<&str>().unwrap();
    assert_eq!(message, "the target's own panic");
}

/// A value that logs while it is printed.
#[test]
fn a_record_within_a_record_is_whole() {
    struct Logs;
    impl fmt::Display for Logs {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(&tach_log::json(&Record::builder().build()).to_string())
        }
    }
    let mut line = Vec::new();
    tach_log::write_json(&mut line, &Record::builder().args(format_args!("{Logs}")).build())
        .unwrap();
    let outer: serde_json::Value = serde_json::from_slice(&line).unwrap();
    let inner: serde_json::Value = serde_json::from_str(outer["msg"].as_str().unwrap()).unwrap();
    assert!(outer["ts"].as_str() <= inner["ts"].as_str(), "{outer}");
}
