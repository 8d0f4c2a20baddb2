//! The records that say what a process left.

use tach_core::UnixTime;
use tach_log::Value;

use super::contents::Report;
use crate::frame::MaybeStatic;
use crate::frame::Scratch;
use crate::level::Level;
use crate::report::begin;

/// Returns a record that reports the records of a process that has ended, which follow.
pub(super) fn recovered(report: &Report, now: UnixTime) -> Vec<u8> {
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
    let more = [("recorded", report.recorded), ("rings_outside", report.outside)];
    for (key, count) in report.others.into_iter().chain(more) {
        if count > 0 {
            record.field(MaybeStatic::Static(key), Value::U64(count));
        }
    }
    record.end();
    scratch.written().to_owned()
}

/// Returns a record that says how many of a collector's next events may come twice.
pub(super) fn doubtful(process: u64, count: u64, sink: &str, now: UnixTime) -> Vec<u8> {
    let mut scratch = Scratch::new();
    let mut record = begin(&mut scratch, Level::WARN, now);
    record.message(format_args!("the next {count} events of {sink} may be there already"));
    record.field(MaybeStatic::Static("recovered_pid"), Value::U64(process));
    record.field(MaybeStatic::Static("sink"), Value::Str(sink));
    record.field(MaybeStatic::Static("count"), Value::U64(count));
    record.end();
    scratch.written().to_owned()
}
