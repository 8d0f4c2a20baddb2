//! Which of the records that were taken are written: not those kept for a backtrace, and not those
//! that repeat the one before.

use tach_core::UnixTime;

use super::backtrace::Backtrace;
use super::repeats::Repeats;
use crate::filter::Filters;
use crate::frame::Frame;
use crate::report;

/// What becomes of a record that was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Selected {
    Written,
    /// It repeats the record before, and is counted.
    Repeated,
    /// It was kept, and is written now, before an error.
    Released,
}

pub(crate) struct Selection {
    backtrace: Option<Backtrace>,
    repeats: Option<Repeats>,
    redacted: Vec<String>,
}

impl Selection {
    /// Keeps up to `backtrace` refused records for the next error, and writes equal records once
    /// if `is_collapsing`. Fields with the keys `redacted` have no values.
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

    /// Passes on the records that are due before a record, and the record itself, unless the filter
    /// refuses it.
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
                pass_on(record, time, Selected::Written);
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

    /// Writes how often the last record was repeated, if that is due.
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

    /// Returns whether a count waits until it is due.
    pub(crate) fn is_waiting(&self) -> bool {
        self.repeats.as_ref().is_some_and(Repeats::are_counted)
    }
}

/// Writes how often the last record was repeated, if it was.
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

    use super::Selected::{Released, Repeated, Written};
    use super::*;
    use crate::filter::Levels;
    use crate::frame::texts::MaybeStatic;
    use crate::frame::{Scratch, Time, Writer};
    use crate::level::Level;

    #[test]
    fn each_record_that_the_filter_accepts_is_passed_on() {
        let kept = Some(Levels::all(LevelFilter::Debug));
        let filters = Filters::new(Levels::all(LevelFilter::Info), kept, LevelFilter::Trace);
        let mut selection = Selection::new(10, true, Vec::new());
        let mut passed_on = Vec::new();
        let [info, debug, error] =
            [log::Level::Info, log::Level::Debug, log::Level::Error].map(Level::of);
        for (at, level) in (0..).zip([info, info, debug, debug, error, error]) {
            let (mut scratch, time) = (Scratch::new(), UnixTime::from_nanos(at));
            let target = MaybeStatic::Static("app");
            Writer::begin(&mut scratch, Time::Unix(time), level, target).end();
            selection.record(scratch.written(), time, &filters, |record, time, selected| {
                if record.target == "app" {
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
