//! Records of the pipeline's own.

use core::any::Any;

use tach_core::UnixTime;
use tach_log::Value;

use crate::filter::OWN_TARGET;
use crate::frame::MaybeStatic;
use crate::frame::{Scratch, Time, Writer};
#[cfg(feature = "tracing")]
use crate::incident::Incident;
use crate::level::Level;
use crate::limits::Callsite;
use crate::stats::{Dropped, QUEUE_FULL};

/// Returns a record that reports how many records were dropped.
pub(crate) fn dropped(dropped: &Dropped, now: UnixTime, message: &str) -> Vec<u8> {
    counted(Level::WARN, dropped, now, message)
}

/// Returns a record that reports how many records a queue dropped, and how many spans are lost with
/// them.
pub(crate) fn queue_dropped(dropped: &Dropped, spans: u64, now: UnixTime) -> Vec<u8> {
    let spans = ("spans", spans);
    let more = if spans.1 > 0 { core::slice::from_ref(&spans) } else { &[] };
    with_counts(Level::WARN, dropped, more, now, &format!("records dropped {QUEUE_FULL}"))
}

/// Returns a record that reports how many records of a callsite were over the rate limit.
pub(crate) fn refused(callsite: Callsite<'_>, refused: &Dropped, now: UnixTime) -> Vec<u8> {
    let Callsite { file, line } = callsite;
    let message =
        format!("records over the rate limit at {file}:{line}; Builder::rate_limit sets it");
    counted(Level::WARN, refused, now, &message)
}

/// Returns a record that reports a span which never closes.
#[cfg(feature = "tracing")]
pub(crate) fn never_closes(incident: &Incident, now: UnixTime) -> Vec<u8> {
    let mut scratch = Scratch::new();
    let mut record = begin(&mut scratch, Level::WARN, now);
    record.message(format_args!("{incident}"));
    record.end();
    scratch.written().to_owned()
}

/// Returns a record with a number of records, and when the first and the last of them happened.
pub(crate) fn counted(level: Level, times: &Dropped, now: UnixTime, message: &str) -> Vec<u8> {
    with_counts(level, times, &[], now, message)
}

/// Like [`counted`], with further counts.
fn with_counts(
    level: Level,
    times: &Dropped,
    more: &[(&'static str, u64)],
    now: UnixTime,
    message: &str,
) -> Vec<u8> {
    let mut scratch = Scratch::new();
    let mut record = begin(&mut scratch, level, now);
    record.message(format_args!("{message}"));
    record.field(MaybeStatic::Static("count"), Value::U64(times.count));
    for (key, count) in more {
        record.field(MaybeStatic::Static(key), Value::U64(*count));
    }
    let mut time = |key, time| {
        record.printed_field(MaybeStatic::Static(key), format_args!("{time:.6}"));
    };
    time("from", times.from);
    time("to", times.to);
    record.end();
    scratch.written().to_owned()
}

/// Begins a record of the pipeline's own.
pub(crate) fn begin(scratch: &mut Scratch, level: Level, now: UnixTime) -> Writer<'_> {
    Writer::begin(scratch, Time::Unix(now), level, MaybeStatic::Static(OWN_TARGET))
}

/// Returns the message of a panic.
pub(crate) fn panic_text(payload: &dyn Any) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("Box<dyn Any>")
}
