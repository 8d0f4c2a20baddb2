//! Records of the pipeline's own.

use tach_core::UnixTime;
use tach_log::Value;

use crate::filter::OWN_TARGET;
use crate::frame::texts::MaybeStatic;
use crate::frame::{Scratch, Time, Writer};
#[cfg(feature = "tracing")]
use crate::incident::Incident;
use crate::level::Level;
use crate::limits::Callsite;
use crate::stats::Dropped;
#[cfg(all(feature = "survive", target_os = "linux", target_pointer_width = "64"))]
use crate::survive::{Doubtful, Homeless, Report};

/// Returns a record that reports how many records were dropped.
pub(crate) fn dropped(dropped: &Dropped, now: UnixTime, message: &str) -> Vec<u8> {
    counted(Level::WARN, dropped, now, message)
}

/// Returns a record that reports how many records a queue dropped, and how many spans are lost with
/// them.
pub(crate) fn queue_dropped(dropped: &Dropped, spans: u64, now: UnixTime) -> Vec<u8> {
    let spans = ("spans", spans);
    let more = if spans.1 > 0 { core::slice::from_ref(&spans) } else { &[] };
    with_counts(Level::WARN, dropped, more, now, "records dropped")
}

/// Returns a record that reports how many records of a callsite were over the rate limit.
pub(crate) fn refused(callsite: Callsite, refused: &Dropped, now: UnixTime) -> Vec<u8> {
    let Callsite { file, line } = callsite;
    let message = format!("records over the rate limit at {file}:{line}");
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

#[cfg(all(feature = "survive", target_os = "linux", target_pointer_width = "64"))]
/// Returns a record that reports the records of a process that has ended, which follow.
pub(crate) fn recovered(report: &Report, now: UnixTime) -> Vec<u8> {
    let mut scratch = Scratch::new();
    let mut record = begin(&mut scratch, Level::WARN, now);
    let Report { process, program, last, records, .. } = report;
    record.message(format_args!("process {process} ended before it had written its log"));
    record.field(MaybeStatic::Static("recovered_pid"), Value::U64(*process));
    record.field(MaybeStatic::Static("program"), Value::Str(program));
    record.field(MaybeStatic::Static("count"), Value::U64(*records));
    if let Some(last) = last {
        record.printed_field(MaybeStatic::Static("last"), format_args!("{last:.6}"));
    }
    for (key, count) in [
        ("unwritten", report.unwritten),
        ("spans", report.spans),
        ("recorded", report.recorded),
        ("cut", report.cut),
        ("dropped", report.dropped),
        ("refused", report.refused),
        ("sinks_dropped", report.sinks_dropped),
        ("rings_outside", report.outside),
        ("spans_outside", report.spans_outside),
        ("repeated", report.repeats),
    ] {
        if count > 0 {
            record.field(MaybeStatic::Static(key), Value::U64(count));
        }
    }
    record.end();
    scratch.written().to_owned()
}

#[cfg(all(feature = "survive", target_os = "linux", target_pointer_width = "64"))]
/// Returns a record that says how many of a sink's next events may come twice.
pub(crate) fn doubtful(doubtful: &Doubtful, now: UnixTime) -> Vec<u8> {
    let Doubtful { process, sink, count } = doubtful;
    let mut scratch = Scratch::new();
    let mut record = begin(&mut scratch, Level::WARN, now);
    record.message(format_args!("the next {count} events of {sink} may be there already"));
    record.field(MaybeStatic::Static("recovered_pid"), Value::U64(*process));
    record.field(MaybeStatic::Static("sink"), Value::Str(sink));
    record.field(MaybeStatic::Static("count"), Value::U64(*count));
    record.end();
    scratch.written().to_owned()
}

#[cfg(all(feature = "survive", target_os = "linux", target_pointer_width = "64"))]
/// Returns a record that says how many events of a sink are lost, since the pipeline lacks it.
pub(crate) fn homeless(homeless: &Homeless, now: UnixTime) -> Vec<u8> {
    let Homeless { process, sink, count } = homeless;
    let mut scratch = Scratch::new();
    let mut record = begin(&mut scratch, Level::WARN, now);
    record.message(format_args!(
        "the last {count} events of {sink} are lost, since this pipeline has no such sink"
    ));
    record.field(MaybeStatic::Static("recovered_pid"), Value::U64(*process));
    record.field(MaybeStatic::Static("sink"), Value::Str(sink));
    record.field(MaybeStatic::Static("count"), Value::U64(*count));
    record.end();
    scratch.written().to_owned()
}

fn begin(scratch: &mut Scratch, level: Level, now: UnixTime) -> Writer<'_> {
    Writer::begin(scratch, Time::Unix(now), level, MaybeStatic::Static(OWN_TARGET))
}
