//! Which of the records that were taken are written: not those kept for a backtrace, and not those
//! that repeat the one before.

use tach_core::UnixTime;

use super::backtrace::Backtrace;
use super::repeats::Repeats;
use crate::filter::Filters;
use crate::frame::Frame;
use crate::report;

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

    /// Passes a record on, if it is to be written, and the records that are due before it.
    #[inline]
    pub(crate) fn record(
        &mut self,
        bytes: &[u8],
        time: UnixTime,
        filters: &Filters,
        mut write: impl FnMut(&Frame<'_>, UnixTime),
    ) {
        let Self { backtrace, repeats, redacted } = self;
        let Some(record) = Frame::read(bytes) else { return };
        let record = record.redacted(redacted);
        if backtrace.is_none() && repeats.is_none() {
            return write(&record, time);
        }
        if let Some(backtrace) = backtrace {
            if !filters.are_written(record.level, record.target) {
                return backtrace.keep(bytes, time);
            }
        }
        if let Some(repeats) = repeats {
            if repeats.has(&record, time) {
                return;
            }
            report(repeats, time, &mut write);
            repeats.keep(bytes);
        }
        if let Some(backtrace) = backtrace {
            if record.level.of_log() == log::Level::Error {
                backtrace.release(|bytes, time| {
                    if let Some(record) = Frame::read(bytes) {
                        write(&record.redacted(redacted), time);
                    }
                });
            }
        }
        write(&record, time);
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
