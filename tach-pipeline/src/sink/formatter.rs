//! Writes records and other content in a sink's format.

use std::io;

use tach_core::UnixTime;
use tach_log::adapter::{self, Parts, Site};

use super::batch::Batch;
use super::content::Content;
use super::cut::Cut;
use crate::filter::Levels;
use crate::frame::Frame;
use crate::level::Level;
use crate::report;
use crate::stats::{Dropped, SINK_FAILED};

pub(super) struct Formatter {
    pub(super) content: Content,
    pub(super) is_colored: bool,
    /// The longest record in bytes. Longer records are cut.
    pub(super) most: usize,
    /// The longest line in bytes, as the receiver takes it.
    pub(super) most_line: usize,
}

/// The search for the longest cut ends when at most this many bytes are left to gain.
const LEAST: usize = 64;

impl Formatter {
    #[inline]
    pub(super) fn takes_events(&self) -> bool {
        self.content.format.is_some()
    }

    /// Adds a record, which happened at `time`.
    ///
    /// # Errors
    ///
    /// If the format fails or panics.
    #[inline]
    pub(super) fn write(
        &self,
        record: &Frame<'_>,
        time: UnixTime,
        to: &mut Batch,
    ) -> io::Result<()> {
        if record.bytes.len() > self.most {
            self.write_cut(record, self.longest_cut(), time, to)?;
        } else if record.exceeds_bounds() {
            self.write_cut(record, usize::MAX, time, to)?;
        } else {
            self.write_parts(self.parts(record, time), record.level, to)?;
        }
        if to.last_len() > self.most_line {
            return self.write_shorter(record, time, to);
        }
        Ok(())
    }

    /// Replaces the last event by a shorter one, because it has more bytes than the receiver takes:
    /// the receiver would cut it, or take the rest for another message. We find the length by
    /// trying, since a format may turn one byte into six.
    #[cold]
    fn write_shorter(&self, record: &Frame<'_>, time: UnixTime, to: &mut Batch) -> io::Result<()> {
        let (mut fits, mut most) = (0, self.longest_cut());
        while most - fits > LEAST.max(self.most_line / 64) {
            let half = fits.midpoint(most);
            to.remove_last();
            self.write_cut(record, half, time, to)?;
            if to.last_len() > self.most_line { most = half } else { fits = half }
        }
        to.remove_last();
        self.write_cut(record, fits, time, to)?;
        if to.last_len() > self.most_line {
            // Even without a message the line may be too long, because of the names of the target,
            // the file and the spans. Leave these out too.
            to.remove_last();
            let cut = Cut::new(record.message, &record.fields, 0);
            let whole = self.parts(record, time);
            let site = Site { trace_context: whole.site.trace_context, ..Site::default() };
            let parts = Parts { message: "", target: "", fields: &cut, site, ..whole };
            self.write_parts(Parts { has_spans: false, ..parts }, record.level, to)?;
        }
        Ok(())
    }

    /// Returns the largest cut of a record. It lets a message fill a line, since a message gets
    /// half of the bytes.
    fn longest_cut(&self) -> usize {
        self.most.min(self.most_line.saturating_mul(2))
    }

    /// Adds a record that is too long, cut to `most` bytes and to the largest number of fields.
    #[cold]
    fn write_cut(
        &self,
        record: &Frame<'_>,
        most: usize,
        time: UnixTime,
        to: &mut Batch,
    ) -> io::Result<()> {
        let cut = Cut::new(record.message, &record.fields, most);
        let line = if record.is_line { cut.line() } else { String::new() };
        let message = if record.is_line { &line } else { cut.message() };
        let parts = Parts { message, fields: &cut, ..self.parts(record, time) };
        self.write_parts(parts, record.level, to)
    }

    #[expect(clippy::inline_always, reason = "the parts would be moved")]
    #[inline(always)]
    fn write_parts(&self, parts: Parts<'_>, level: Level, to: &mut Batch) -> io::Result<()> {
        let event = adapter::event(parts);
        match &self.content.format {
            Some(format) => {
                to.add((event.time(), Some(level)), |bytes| format.write(&event, bytes))
            }
            // A sink of spans or durations can't write a log record. Its count of dropped items is
            // reported through the other sinks.
            None => Ok(()),
        }
    }

    #[inline]
    fn parts<'a>(&self, record: &'a Frame<'_>, time: UnixTime) -> Parts<'a> {
        record.parts(time, self.is_colored)
    }

    /// Adds a record of how many records a sink with these levels dropped.
    ///
    /// # Errors
    ///
    /// If the format fails or panics.
    pub(super) fn write_dropped(
        &self,
        dropped: &Dropped,
        levels: &Levels,
        to: &mut Batch,
    ) -> io::Result<()> {
        // Use the time of the last dropped record, so that the report sorts among its neighbors.
        let time = dropped.to;
        let bytes = report::dropped(dropped, time, &format!("records dropped {SINK_FAILED}"));
        match Frame::read(&bytes) {
            Some(record) if levels.enabled(record.level, record.target) => {
                self.write(&record, time, to)
            }
            _ => Ok(()),
        }
    }
}
