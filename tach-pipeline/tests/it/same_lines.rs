//! Lines of `Line::tracing` beside those of tracing-subscriber.

use core::error::Error;
use core::fmt;
use std::io;

use tach_core::UnixTime;
use tach_log::adapter::{EachField, EachSpan, Fields, Parts, Site, event};
use tach_log::{Format as _, Line, Value};
use tach_pipeline::{Pipeline, Sink};
use test_support::Captured;
use tracing::{
    Dispatch, Level, debug, dispatcher, error, error_span, field, info, info_span, subscriber,
    trace, warn,
};
use tracing_subscriber::fmt::SubscriberBuilder;

use crate::support::{LONG, Memory, in_subscriber};

#[derive(Debug)]
struct Set<'a> {
    #[expect(dead_code, reason = "is printed")]
    key: &'a str,
}

#[derive(Debug)]
#[expect(dead_code, reason = "is printed")]
enum Command<'a> {
    Set(Set<'a>),
}

#[derive(Debug)]
struct Failed(&'static str, Option<Box<Failed>>);

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Error for Failed {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.1.as_deref().map(|source| source as _)
    }
}

fn log() {
    info!("ready");
    info!(port = 3000, "ready");
    warn!(port = 3000);
    debug!(cmd = ?Command::Set(Set { key: "foo" }), "run");
    trace!(
        text = "two words",
        quoted = "a \"b\" \\ c",
        shown = %"two words",
        word = "word",
        empty = "",
        letters = "größe 🦀",
        "texts"
    );
    error!(yes = true, float = 0.5, whole = 1.0, big = u128::MAX, less = -1, nan = f64::NAN);
    let cause = Failed("disk full", None);
    let failed = Failed("not saved", Some(Box::new(Failed("write failed", Some(Box::new(cause))))));
    let failed: &(dyn Error + 'static) = &failed;
    let alone = Failed("alone", None);
    let alone: &(dyn Error + 'static) = &alone;
    error!(err = failed, alone, "stopped");
    let outer = info_span!("request", id = 7, path = "/a b", peer = ?Some(1)).entered();
    info!(id = 8, "in a span");
    {
        let _empty = info_span!("empty").entered();
        let _inner = error_span!("inner", late = field::Empty, dotted.name = %"x y").entered();
        info!(target: "another::target", "inside");
        info!("r#type" = 1, user.name = "u");
    }
    drop(outer);
    let _span = info_span!("step", message = "a text", n = 1).entered();
    let _within = info_span!("part", n = 2, message = ?Some("x")).entered();
    info!(n = 3, message = "two words");
    info!(n = 4, message = %"shown", b = 1);
    info!(message = 5);
}

fn theirs(build: impl FnOnce(SubscriberBuilder, Captured) -> Box<dyn FnOnce(fn())>) -> String {
    let captured = Captured::default();
    let builder = tracing_subscriber::fmt().with_max_level(Level::TRACE).with_ansi(false);
    build(builder, captured.clone())(log);
    captured.text()
}

fn ours(line: Line) -> String {
    let memory = Memory::default();
    let sink = Sink::writer("memory", memory.clone()).format(line);
    let guard = Pipeline::builder().sink(sink).filter("trace").build().unwrap();
    in_subscriber(guard.pipeline(), log);
    guard.pipeline().flush(LONG).unwrap();
    memory.text()
}

#[test]
fn the_default_format_has_the_same_lines() {
    let theirs = theirs(|builder, to| {
        let subscriber = builder.without_time().with_writer(move || to.clone()).finish();
        Box::new(|log| subscriber::with_default(subscriber, log))
    });
    let ours = ours(Line::tracing().without_time());
    for (ours, theirs) in ours.lines().zip(theirs.lines()) {
        assert_eq!(ours, theirs);
    }
    assert_eq!(ours, theirs);
    assert!(ours.contains(r#"run cmd=Set(Set { key: "foo" })"#), "{ours}");
}

#[test]
fn the_compact_format_has_the_same_lines() {
    let theirs = theirs(|builder, to| {
        let subscriber = builder.compact().without_time().with_writer(move || to.clone()).finish();
        Box::new(|log| subscriber::with_default(subscriber, log))
    });
    let ours = ours(Line::tracing_compact().without_time());
    for (ours, theirs) in ours.lines().zip(theirs.lines()) {
        assert_eq!(ours, theirs);
    }
    assert_eq!(ours, theirs);
}

#[test]
fn file_and_line_stand_in_the_same_place() {
    for is_compact in [false, true] {
        let theirs = theirs(|builder, to| {
            let builder = builder.with_file(true).with_line_number(true);
            let writer = move || to.clone();
            let dispatch: Dispatch = if is_compact {
                builder.compact().without_time().with_writer(writer).finish().into()
            } else {
                builder.without_time().with_writer(writer).finish().into()
            };
            Box::new(move |log| dispatcher::with_default(&dispatch, log))
        });
        let line = if is_compact { Line::tracing_compact() } else { Line::tracing() };
        assert_eq!(ours(line.without_time().site()), theirs);
        assert!(theirs.contains(file!()), "{theirs}");
    }
}

#[test]
fn both_leave_the_target_out() {
    let theirs = theirs(|builder, to| {
        let builder = builder.without_time().with_target(false);
        let subscriber = builder.with_writer(move || to.clone()).finish();
        Box::new(|log| subscriber::with_default(subscriber, log))
    });
    assert_eq!(ours(Line::tracing().without_time().without_target()), theirs);
}

#[test]
fn the_time_stands_before_the_same_line() {
    let theirs = theirs(|builder, to| {
        let subscriber = builder.with_writer(move || to.clone()).finish();
        Box::new(|log| subscriber::with_default(subscriber, log))
    });
    let ours = ours(Line::tracing());
    let time = "2026-11-21T09:30:00.123456Z".len();
    for (ours, theirs) in ours.lines().zip(theirs.lines()) {
        assert_eq!((&ours[time..], ours.find('Z')), (&theirs[time..], Some(time - 1)));
    }
}

/// One field, in a span with one field.
struct OneField;

impl Fields for OneField {
    fn visit(&self, each: EachField<'_>) -> io::Result<()> {
        each("k", Value::I64(1))
    }

    fn visit_spans(&self, each: EachSpan<'_>) -> io::Result<()> {
        each("span", &Self)
    }
}

#[test]
fn a_terminal_shows_the_same_colors() {
    let captured = Captured::default();
    let builder = tracing_subscriber::fmt().with_max_level(Level::TRACE).with_ansi(true);
    let builder = builder.without_time();
    let log = || {
        let _span = info_span!("span", k = 1).entered();
        error!(target: "app", k = 1, "said");
        warn!(target: "app", k = 1, "said");
        info!(target: "app", k = 1, "said");
        debug!(target: "app", k = 1, "said");
        trace!(target: "app", k = 1, "said");
    };
    let writer = captured.clone();
    let full = builder.with_writer(move || writer.clone()).finish();
    subscriber::with_default(full, log);
    let writer = captured.clone();
    let builder = tracing_subscriber::fmt().with_max_level(Level::TRACE).with_ansi(true);
    let builder = builder.compact().without_time();
    subscriber::with_default(builder.with_writer(move || writer.clone()).finish(), log);
    let mut ours = Vec::new();
    for line in [Line::tracing(), Line::tracing_compact()] {
        for level in log::Level::iter() {
            let parts = Parts {
                time: UnixTime::EPOCH,
                level,
                level_name: level.as_str(),
                target: "app",
                message: "said",
                fields: &OneField,
                has_spans: true,
                site: Site::default(),
                is_line: false,
                shows_colors: true,
            };
            line.without_time().write(&event(parts), &mut ours).unwrap();
        }
    }
    assert_eq!(String::from_utf8(ours).unwrap(), captured.text());
}
