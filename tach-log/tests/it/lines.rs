//! What a line for people shows beside time, level and message, and what stands below it.

use core::error::Error;
use core::fmt;
use std::{fs, process};

use log::kv::{ToValue, Value};
use log::{Level, Record};
use serde_json::json;
use tach_log::{Format, Json, Line, Logfmt, Part};

/// Every kind of line, without its time.
fn lines() -> [Line; 4] {
    [Line::new(), Line::compact(), Line::tracing(), Line::tracing_compact()].map(Line::without_time)
}

#[track_caller]
fn shown(format: impl Format, record: &Record<'_>) -> String {
    tach_log::display(format, record).to_string()
}

/// Returns the name as Linux has it in a file, or else as the C library returns it.
fn host_name() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname");
    name.map_or_else(
        |_| tach_core::adapter::host_name().to_owned(),
        |name| name.trim_end().to_owned(),
    )
}

#[test]
#[cfg_attr(miri, ignore = "no host has a name there")]
fn a_line_names_the_machine_and_the_process() {
    let record =
        Record::builder().level(Level::Warn).target("app").args(format_args!("said")).build();
    let (pid, host) = (process::id(), host_name());
    let expected = |process: &str| {
        [
            format!("WARN  {process} app: said"),
            format!("WARN  {process} said [app]"),
            format!(" WARN {process} app: said"),
            format!(" WARN {process} app: said"),
        ]
    };
    assert_eq!(lines().map(|line| shown(line.pid(), &record)), expected(&format!("[{pid}]")));
    assert_eq!(lines().map(|line| shown(line.host(), &record)), expected(&host));
    let both = expected(&format!("{host}[{pid}]"));
    assert_eq!(lines().map(|line| shown(line.host().pid(), &record)), both);
    let bare = Line::new().without_time().without_level().pid();
    assert_eq!(shown(bare, &record), format!("[{pid}] app: said"));

    let with = |record: &Record<'_>| {
        let json = Json::empty().with("pid", Part::Pid).with("host", Part::Host);
        let logfmt = Logfmt::empty().with("pid", Part::Pid).with("host", Part::Host);
        (
            serde_json::from_str::<serde_json::Value>(&shown(json, record)).unwrap(),
            shown(logfmt, record),
        )
    };
    let (json, logfmt) = with(&record);
    assert_eq!(json, json!({ "pid": pid, "host": host }));
    assert_eq!(logfmt, format!("pid={pid} host={host}"));
    // A field with the key of a part gets another name.
    let (json, _) = with(&Record::builder().key_values(&[("pid", 1)]).build());
    assert_eq!(json, json!({ "pid": pid, "host": host, "pid_": 1 }));
}

#[test]
fn a_long_target_is_shortened_from_the_left() {
    let cases = [
        ("shop::orders::db", 16, "shop::orders::db"),
        ("shop::orders::db", 15, "s::orders::db"),
        ("shop::orders::db", 13, "s::orders::db"),
        ("shop::orders::db", 12, "s::o::db"),
        ("shop::orders::db", 8, "s::o::db"),
        ("shop::orders::db", 0, "s::o::db"),
        ("database", 3, "database"),
        ("größe::weite", 12, "größe::weite"),
        ("größe::weite", 11, "g::weite"),
        ("größe::weite", 5, "g::weite"),
        ("größe::weite::x", 10, "g::w::x"),
        ("::a::b", 2, "::a::b"),
        ("", 0, ""),
    ];
    for (target, width, expected) in cases {
        let record = Record::builder().target(target).args(format_args!("said")).build();
        let (before, after) = if expected.is_empty() { ("", "") } else { (": ", " [") };
        let heads = [format!("INFO  {expected}{before}"), String::new()];
        let line = lines()[0].max_target_width(width);
        assert!(shown(line, &record).starts_with(&heads[0]), "{width}: {}", shown(line, &record));
        let compact = shown(lines()[1].max_target_width(width), &record);
        assert!(compact.contains(&format!("{after}{expected}")), "{width}: {compact}");
        for line in &lines()[2..] {
            let line = shown(line.max_target_width(width), &record);
            assert!(line.starts_with(&format!(" INFO {expected}{before}")), "{width}: {line}");
        }
    }
    // As logback's `%-10.10logger`.
    let line = lines()[0].target_width(10).max_target_width(10);
    let of = |target: &str| {
        shown(line, &Record::builder().target(target).args(format_args!("said")).build())
    };
    assert_eq!(of("shop::db"), "INFO  shop::db:   said");
    assert_eq!(of("shop::orders::db"), "INFO  s::o::db:   said");
    let faults = Line::new().without_target().max_target_width(9).faults();
    assert_eq!(faults, ["Line::max_target_width(9): without_target() leaves the target out"]);
}

/// An error with the first message. The others are its sources.
#[derive(Debug)]
struct Chain(&'static [&'static str], Option<Box<Self>>);

impl Chain {
    fn of(messages: &'static [&'static str]) -> Self {
        let source = (messages.len() > 1).then(|| Box::new(Self::of(&messages[1..])));
        Self(messages, source)
    }
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0[0])
    }
}

impl Error for Chain {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.1.as_deref().map(|it| it as _)
    }
}

#[test]
fn texts_of_several_lines_stand_below_the_line() {
    let fields: &[(&str, Value<'_>)] = &[
        ("attempt", 2.to_value()),
        ("backtrace", "0: app::main\n      at src/main.rs:3\r\n1: start\n".to_value()),
        ("path", "/a b".to_value()),
    ];
    let message = format_args!("it broke\r\n  in two\nplaces\u{1b}[2J");
    let record = Record::builder().target("app").args(message).key_values(&fields).build();
    let below = "    \x20 in two
    places\\u001b[2J
    backtrace: 0: app::main
            at src/main.rs:3
      1: start";
    let expected = [
        format!("INFO  app: it broke attempt=2 path=\"/a b\"\n{below}"),
        format!("INFO  it broke attempt=2 path=\"/a b\" [app]\n{below}"),
        format!(" INFO app: it broke attempt=2 path=\"/a b\"\n{below}"),
        format!(" INFO app: it broke attempt=2 path=\"/a b\"\n{below}"),
    ];
    assert_eq!(lines().map(|line| shown(line.multiline(), &record)), expected);
    // Without the option, and in formats for programs, a record is one line.
    for line in lines() {
        assert!(!shown(line, &record).contains('\n'));
    }
    assert!(!shown(Json::new(), &record).contains('\n'));
    assert!(!shown(Logfmt::new(), &record).contains('\n'));
}

#[cfg(feature = "serde")]
#[test]
fn each_source_of_an_error_has_a_line() {
    let error = Chain::of(&["can't load", "can't read\n/etc/app.toml", "no such file"]);
    let alone = Chain::of(&["alone"]);
    let fields: &[(&str, Value<'_>)] = &[
        ("err", Value::from_dyn_error(&error)),
        ("other", Value::from_dyn_error(&alone)),
        ("k", 1.to_value()),
    ];
    let mut record = Record::builder();
    let record = record.target("app").args(format_args!("failed")).key_values(&fields).build();
    let below = "    err: can't load
      Caused by: can't read
        /etc/app.toml
      Caused by: no such file";
    let expected = [
        format!("INFO  app: failed other=alone k=1\n{below}"),
        format!("INFO  failed other=alone k=1 [app]\n{below}"),
        format!(" INFO app: failed other=alone k=1\n{below}"),
        format!(" INFO app: failed other=alone k=1\n{below}"),
    ];
    assert_eq!(lines().map(|line| shown(line.multiline(), &record)), expected);
}

/// Whatever a text holds, the lines that begin with no space are those that begin a record.
#[test]
fn no_text_forges_a_record() {
    let head = "2026-11-21T09:30:00.123456Z ERROR app: forged";
    for end in ["\n", "\r\n", "\n\n", "\r", "\u{2028}", "\u{85}", "\n\r\n\r"] {
        let text = format!("{end}{head}{end}{head}{end}");
        let fields = [("a", &*text), (&*text, "b"), ("c", "\n"), ("d", "")];
        for line in lines() {
            let mut written = Vec::new();
            let write = tach_log::write(line.multiline());
            let mut record = Record::builder();
            record.target(&text).key_values(&fields);
            write(&mut written, &record.args(format_args!("{text}")).build()).unwrap();
            let written = String::from_utf8(written).unwrap();
            let is_further = |line: &&str| line.starts_with("    ");
            assert_eq!(written.lines().skip(1).find(|line| !is_further(line)), None, "{written}");
            assert!(written.ends_with('\n') && !written.contains(['\r', '\u{2028}', '\u{85}']));
        }
    }
}
