//! Values, sources and writers that fail or panic: no record is lost, and no line is broken.

use core::fmt;
use core::panic::AssertUnwindSafe;
use std::io;
use std::panic;

use log::Record;
use log::kv::{Error, Key, Source, ToValue, Value, VisitSource};
use tach_log::{Event, Format, Json, Line, Logfmt};

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
        tach_log::write(Json::new())(&mut lines, &record).unwrap();
        tach_log::write(Line::new())(&mut lines, &record).unwrap();
        tach_log::write(Logfmt::new())(&mut lines, &record).unwrap();
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

/// A source with one field, which then returns or panics as the function does.
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

/// A value of serde that fails or panics, before or after its visit.
#[cfg(feature = "serde")]
#[derive(Debug)]
enum Breaking {
    Fails,
    Panics,
    PanicsAfterwards,
}

#[cfg(feature = "serde")]
impl serde_core::Serialize for Breaking {
    fn serialize<S: serde_core::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Fails => Err(serde_core::ser::Error::custom("on purpose")),
            Self::Panics => panic!("on purpose"),
            Self::PanicsAfterwards => {
                let _ok = to.serialize_u64(7);
                panic!("on purpose")
            }
        }
    }
}

#[cfg(feature = "serde")]
#[test]
#[cfg_attr(target_family = "wasm", ignore = "nothing unwinds")]
fn a_value_of_serde_that_breaks_costs_its_field_alone() {
    let fields = [
        ("a", 1.to_value()),
        ("b", Value::from_serde(&Breaking::Panics)),
        ("c", 2.to_value()),
        ("d", Value::from_serde(&Breaking::Fails)),
        ("e", Value::from_serde(&Breaking::PanicsAfterwards)),
        ("f", Value::from_serde(&Breaking::Panics)),
        ("g", 3.to_value()),
    ];
    let written = written_fields(&fields);
    assert_eq!(
        written.json,
        r#","a":1,"b":"<panicked>","c":2,"d":"<failed to serialize to a standard formatter>","e":7,"f":"<panicked>","g":3"#
    );
}

/// A writer that accepts so many bytes, a few at a time, and then fails once.
struct Full(usize);

impl io::Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0 == 0 {
            self.0 = usize::MAX;
            return Err(io::Error::new(io::ErrorKind::StorageFull, "on purpose"));
        }
        let taken = bytes.len().min(self.0).min(7);
        self.0 -= taken;
        Ok(taken)
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
    let long = "longer than what is gathered for a write\n".repeat(20);
    let fields = [("a", Value::from_display(&Hides)), ("b", long.as_str().to_value())];
    let write = |target: &mut dyn io::Write| {
        let mut builder = Record::builder();
        let builder = builder.key_values(&fields);
        tach_log::write(Json::new())(target, &builder.args(format_args!("to {Hides}")).build())
    };
    let mut whole = Vec::new();
    write(&mut whole).unwrap();
    for room in 0..whole.len() {
        let error = write(&mut Full(room)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull, "with room for {room}");
    }
    write(&mut Full(whole.len())).unwrap();
}

/// A writer that panics once, after so many bytes.
struct Broken(Option<usize>);

impl io::Write for Broken {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(room) = self.0.take() {
            self.0 = Some(room.checked_sub(bytes.len()).expect("the target's own panic"));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The record is not at fault, and nothing more can be written, so the caller gets the panic.
#[test]
#[cfg_attr(target_family = "wasm", ignore = "nothing unwinds")]
fn a_panic_of_the_target_is_the_callers() {
    struct Long;
    impl fmt::Display for Long {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            (0..100).try_for_each(|_| f.write_str("a text that is longer than any buffer "))
        }
    }
    let (fields, mut whole) = (("a", Value::from_display(&Long)), Vec::new());
    let mut builder = Record::builder();
    let record = builder.key_values(&fields).build();
    tach_log::write(Json::new())(&mut whole, &record).unwrap();
    tach_log::write(Json::new())(&mut Broken(Some(whole.len())), &record).unwrap();
    // At the first byte, within the value, and at the last byte.
    for room in [0, whole.len() / 2, whole.len() - 1] {
        let write =
            AssertUnwindSafe(|| tach_log::write(Json::new())(&mut Broken(Some(room)), &record));
        let message = panic::catch_unwind(write).unwrap_err();
        assert_eq!(*message.downcast::<String>().unwrap(), "the target's own panic");
    }
}

/// A `fmt::Write` that fails once, after so many bytes.
struct Narrow {
    room: usize,
    failed: bool,
    went_on: bool,
}

impl fmt::Write for Narrow {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.went_on |= self.failed;
        let left = self.room.checked_sub(text.len());
        self.failed |= left.is_none();
        self.room = left.ok_or(fmt::Error)?;
        Ok(())
    }
}

#[test]
fn nothing_follows_what_a_target_of_text_refused() {
    let field = ("k", Value::from_display(&Hides));
    let assert_refused = |message: fmt::Arguments<'_>| {
        let mut builder = Record::builder();
        let bare = builder.args(message).build();
        let whole = tach_log::display(Line::new(), &bare).to_string().len();
        let with_field = builder.key_values(&field).build();
        for room in 0..whole {
            let printed: [&dyn fmt::Display; 2] = [
                &tach_log::display(Line::new(), &bare),
                &tach_log::display(Json::new(), &with_field),
            ];
            for printed in printed {
                let mut narrow = Narrow { room, failed: false, went_on: false };
                let result = fmt::Write::write_fmt(&mut narrow, format_args!("{printed}"));
                assert!(result.is_err() && !narrow.went_on, "with room for {room}");
            }
        }
    };
    assert_refused(format_args!("to {Hides}"));
}

/// A value that logs while it is printed.
#[test]
fn a_record_within_a_record_is_whole() {
    struct Logs;
    impl fmt::Display for Logs {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(&tach_log::display(Json::new(), &Record::builder().build()).to_string())
        }
    }
    let mut line = Vec::new();
    tach_log::write(Json::new())(
        &mut line,
        &Record::builder().args(format_args!("{Logs}")).build(),
    )
    .unwrap();
    let outer: serde_json::Value = serde_json::from_slice(&line).unwrap();
    let inner: serde_json::Value = serde_json::from_str(outer["msg"].as_str().unwrap()).unwrap();
    assert!(outer["ts"].as_str() <= inner["ts"].as_str(), "{outer}");
}

/// A format that fails or panics in the middle of an event.
struct BreaksOff(fn() -> io::Result<()>);

impl Format for BreaksOff {
    fn write(&self, event: &Event<'_>, to: &mut Vec<u8>) -> io::Result<()> {
        to.extend_from_slice(b"half");
        event.fields(|_, _| (self.0)())
    }
}

#[test]
fn an_error_of_the_format_is_passed_on_and_nothing_is_written() {
    let mut line = Vec::new();
    let record = &Record::builder().key_values(&[("a", 1), ("b", 2)]).build();
    let format = BreaksOff(|| Err(io::Error::other("on purpose")));
    let error = tach_log::write(&format)(&mut line, record).unwrap_err();
    assert_eq!((error.to_string().as_str(), line.len()), ("on purpose", 0));
    let displayed = tach_log::display(&format, record);
    fmt::Write::write_fmt(&mut String::new(), format_args!("{displayed}")).unwrap_err();
}

/// The record is not at fault, so the panic must not pass for the end of the fields.
#[test]
#[cfg_attr(target_family = "wasm", ignore = "nothing unwinds")]
fn a_panic_of_the_format_is_the_callers() {
    let record = &Record::builder().key_values(&("a", 1)).build();
    let format = BreaksOff(|| panic!("the format's own panic"));
    let write = AssertUnwindSafe(|| tach_log::write(format)(&mut Vec::new(), record));
    let message = panic::catch_unwind(write).unwrap_err();
    assert_eq!(*message.downcast::<&str>().unwrap(), "the format's own panic");
}
