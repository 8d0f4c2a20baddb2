//! The pipeline's own records about what a process left.

use tach_core::UnixTime;
use tach_log::Value;

use super::contents::Summary;
use tach_record::frame::{MaybeStatic, Scratch, Time, Writer};
use tach_record::level::Level;

/// The target of the pipeline's own records.
const TARGET: &str = "tach_pipeline";

/// Returns a record that announces the records of a process that has ended.
pub(super) fn recovered(summary: &Summary, now: UnixTime) -> Vec<u8> {
    let Summary { process, program, last, records, others } = summary;
    own(now, |record| {
        record.message(format_args!("process {process} ended before it had written its log"));
        record.field(MaybeStatic::Static("recovered_pid"), Value::U64(*process));
        record.field(MaybeStatic::Static("program"), Value::Str(program));
        record.field(MaybeStatic::Static("count"), Value::U64(*records));
        if let Some(last) = last {
            record.printed_field(MaybeStatic::Static("last"), format_args!("{last:.6}"));
        }
        for (key, count) in others.iter().filter(|(_, count)| *count > 0) {
            record.field(MaybeStatic::Static(key), Value::U64(*count));
        }
    })
}

/// Returns a record that says how many of a collector's next events may come twice.
pub(super) fn doubtful(process: u64, count: u64, sink: &str, now: UnixTime) -> Vec<u8> {
    own(now, |record| {
        record.message(format_args!("the next {count} events of {sink} may be there already"));
        record.field(MaybeStatic::Static("recovered_pid"), Value::U64(process));
        record.field(MaybeStatic::Static("sink"), Value::Str(sink));
        record.field(MaybeStatic::Static("count"), Value::U64(count));
    })
}

/// Returns a record that says how many records were in files that were removed.
pub(super) fn surplus(count: u64, now: UnixTime) -> Vec<u8> {
    own(now, |record| {
        record.message(format_args!(
            "records of processes that ended are lost, since files of later processes wait"
        ));
        record.field(MaybeStatic::Static("count"), Value::U64(count));
    })
}

fn own(now: UnixTime, write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let (mut scratch, target) = (Scratch::new(), MaybeStatic::Static(TARGET));
    let mut record = Writer::begin(&mut scratch, Time::Unix(now), Level::WARN, target);
    write(&mut record);
    record.end();
    scratch.written().to_owned()
}
