//! Decides which records are written. Two kinds are not: records that the filter refuses and that
//! are kept for the next error's backtrace, and records that repeat the record before. If an error
//! follows, the kept records are written.

use tach_core::UnixTime;

use super::backtrace::Backtrace;
use super::repeats::Repeats;
use crate::filter::Filters;
use crate::frame::Frame;
use crate::report;

/// Why a record is passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Selected {
    Written,
    /// The record repeats the record before. It is counted, and not written.
    Repeated,
    /// The record was kept for a backtrace, and is written now because an error follows.
    Released,
    /// The pipeline's own record of how often the record before was repeated.
    Count,
}

pub(crate) struct Selection {
    backtrace: Option<Backtrace>,
    repeats: Option<Repeats>,
    redacted: Vec<String>,
}

impl Selection {
    /// Keeps up to `backtrace` refused records for the next error. If `is_collapsing`, writes equal
    /// records that follow each other once. The values of fields with the keys `redacted` are
    /// hidden.
    pub(crate) fn new(backtrace: usize, is_collapsing: bool, redacted: Vec<String>) -> Self {
        Self {
            backtrace: (backtrace > 0).then(|| Backtrace::new(backtrace)),
            repeats: is_collapsing.then(Repeats::default),
            redacted,
        }
    }

    pub(crate) fn redacted(&self) -> &[String] {
        &self.redacted
    }

    /// Passes on a record, unless the filter refuses it. Before it, passes on the count of repeated
    /// records if there is one, and the records that were kept for a backtrace if the record is an
    /// error.
    #[inline]
    pub(crate) fn record(
        &mut self,
        bytes: &[u8],
        time: UnixTime,
        filters: &Filters,
        mut pass_on: impl FnMut(&Frame<'_>, UnixTime, Selected),
    ) {
        let Self { backtrace, repeats, redacted } = self;
        let Some(record) = Frame::read(bytes) else { return };
        let record = record.redacted(redacted);
        if backtrace.is_none() && repeats.is_none() {
            return pass_on(&record, time, Selected::Written);
        }
        if let Some(backtrace) = backtrace {
            if !filters.are_written(record.level, record.target) {
                return backtrace.keep(bytes, time);
            }
        }
        if let Some(repeats) = repeats {
            if repeats.has(&record, time) {
                return pass_on(&record, time, Selected::Repeated);
            }
            report(repeats, time, &mut |record: &Frame<'_>, time| {
                pass_on(record, time, Selected::Count);
            });
            repeats.keep(bytes);
        }
        if let Some(backtrace) = backtrace {
            if record.level.of_log() == log::Level::Error {
                backtrace.release(|bytes, time| {
                    if let Some(record) = Frame::read(bytes) {
                        pass_on(&record.redacted(redacted), time, Selected::Released);
                    }
                });
            }
        }
        pass_on(&record, time, Selected::Written);
    }

    /// Returns how often the last record was repeated, if that is not written yet.
    pub(crate) fn repeats(&self) -> u64 {
        let counted = self.repeats.as_ref().and_then(Repeats::counted);
        counted.map_or(0, |counted| counted.count)
    }

    /// Writes how often the last record was repeated, if `is_asked` or if the count is due.
    pub(crate) fn end_round(
        &mut self,
        now: UnixTime,
        is_asked: bool,
        mut write: impl FnMut(&Frame<'_>, UnixTime),
    ) {
        if let Some(repeats) = &mut self.repeats {
            if is_asked || repeats.are_due(now) {
                report(repeats, now, &mut write);
            }
        }
    }

    /// Returns whether a count of repeated records waits to be written.
    pub(crate) fn is_waiting(&self) -> bool {
        self.repeats.as_ref().is_some_and(Repeats::are_counted)
    }
}

/// If the last record was repeated, writes how often.
fn report(repeats: &mut Repeats, now: UnixTime, write: &mut impl FnMut(&Frame<'_>, UnixTime)) {
    let Some(repeated) = repeats.take() else { return };
    let message = "the last record was repeated";
    let report = report::counted(repeated.level, &repeated.times, now, message);
    if let Some(record) = Frame::read(&report) {
        write(&record, now);
    }
}

#[cfg(test)]
mod tests {
    use log::LevelFilter;

    use super::Selected::{Count, Released, Repeated, Written};
    use super::*;
    use crate::filter::Levels;
    use crate::frame::MaybeStatic;
    use crate::frame::{Scratch, Time, Writer};
    use crate::level::Level;

    #[test]
    fn each_record_that_the_filter_accepts_is_passed_on() {
        let kept = Some(Levels::all(LevelFilter::Debug));
        let filters = Filters::new(
            Levels::all(LevelFilter::Info),
            kept,
            vec![Levels::all(LevelFilter::Trace)],
        );
        let mut selection = Selection::new(10, true, Vec::new());
        let mut passed_on = Vec::new();
        let [info, debug, error] =
            [log::Level::Info, log::Level::Debug, log::Level::Error].map(Level::of);
        for (at, level) in (0..).zip([info, info, debug, debug, error, error]) {
            let (mut scratch, time) = (Scratch::new(), UnixTime::from_nanos(at));
            let target = MaybeStatic::Static("app");
            Writer::begin(&mut scratch, Time::Unix(time), level, target).end();
            selection.record(scratch.written(), time, &filters, |record, time, selected| {
                assert_eq!(record.target == "app", selected != Count);
                if selected != Count {
                    passed_on.push((time.as_nanos(), selected));
                }
            });
        }
        let expected = [
            (0, Written),
            (1, Repeated),
            (2, Released),
            (3, Released),
            (4, Written),
            (5, Repeated),
        ];
        assert_eq!(passed_on, expected);
    }
}
