//! The events for a sink, and the sink's writer.

use core::mem;
use core::time::Duration;
use std::io;
use std::sync::Arc;

use tach_core::UnixTime;
use tach_sinks::Task;

use super::batch::{BATCH, Batch, KEPT};
use super::formatter::Formatter;
use super::owner::Output;
use super::thread::levels_with_room;
use super::unreported::{Occasion, Unreported};
use super::worker::{Patience, Worker};
use crate::filter::Levels;
use crate::frame::Frame;
use crate::incident::{Incident, Reporter};
use crate::level::Level;
use crate::stats::{Dropped, Happened, SinkCounts};

pub(super) struct Stream {
    pub(super) formatter: Formatter,
    pub(super) levels: Levels,
    pub(super) batch: Batch,
    /// Records that were dropped before they reached the batch, and not reported yet.
    unreported: Unreported,
    /// Whether the format failed at the last record.
    is_not_formatted: bool,
    /// The number of records that came since `taken` was last raised in `counts`.
    added: u64,
    /// The pipeline's only sink. The back end writes to it without a thread: no other sink would
    /// have to wait for it.
    pub(super) here: Option<Here>,
    /// The thread of one of several sinks.
    pub(super) worker: Option<Worker>,
    pub(super) counts: Arc<SinkCounts>,
    reporter: Reporter,
}

/// A pipeline's only sink.
pub(super) struct Here {
    pub(super) output: Output,
    /// How many bytes may wait.
    pub(super) buffer_bytes: usize,
    /// The stall timeout, for the time when other sinks are added.
    #[allow(dead_code, reason = "it stays alone")]
    pub(super) patience: Patience,
}

impl Stream {
    pub(super) fn new(
        formatter: Formatter,
        levels: Levels,
        counts: Arc<SinkCounts>,
        reporter: Reporter,
    ) -> Self {
        Self {
            formatter,
            levels,
            batch: Batch::new(),
            unreported: Unreported::default(),
            is_not_formatted: false,
            added: 0,
            here: None,
            worker: None,
            counts,
            reporter,
        }
    }

    /// Adds a record, if the sink takes records and its filter accepts this one.
    #[inline]
    pub(super) fn record(&mut self, record: &Frame<'_>, time: UnixTime) {
        let happened = Happened { time, level: Some(record.level) };
        if self.formatter.takes_events()
            && self.levels.enabled(record.level, record.target)
            && self.make_room(happened)
        {
            let added = self.formatter.write(record, time, &mut self.batch);
            self.formatted(added, happened);
        }
    }

    /// Notes whether something was formatted and added to the batch.
    #[inline]
    pub(super) fn formatted(&mut self, added: io::Result<()>, happened: Happened) {
        match added {
            Ok(()) if self.is_not_formatted => self.formatted_again(),
            Ok(()) => {}
            Err(error) => self.not_formatted(&error, happened),
        }
    }

    /// Makes room for one more record. If there is no room, counts that
    /// record as dropped and returns `false`.
    #[inline]
    pub(super) fn make_room(&mut self, happened: Happened) -> bool {
        self.added += 1;
        if self.batch.len() >= BATCH {
            // If the only sink notes its writes in a file, don't write here: the back end must
            // first note how far it has come.
            if self.here.as_ref().is_some_and(|here| here.output.notes.is_none()) {
                self.pass_on();
            }
            if !self.has_room(happened.level) {
                self.drop_one(happened);
                return false;
            }
        }
        self.report_dropped(Occasion::Round);
        true
    }

    /// Returns whether the batch has room for a record of that level. Threads don't limit it: they
    /// empty the batch.
    #[cold]
    fn has_room(&self, level: Option<Level>) -> bool {
        let Some(Here { buffer_bytes, .. }) = self.here else { return true };
        let least = levels_with_room(buffer_bytes, |more| self.batch.len() < buffer_bytes + more);
        self.batch.len() < buffer_bytes || level.is_some_and(|level| level.passes(least))
    }

    /// Counts and reports a record that can't be formatted.
    #[cold]
    fn not_formatted(&mut self, error: &io::Error, happened: Happened) {
        self.counts.failed(error);
        self.fails(error);
        self.is_not_formatted = true;
        self.drop_one(happened);
    }

    /// Reports that the sink's format or filter fails.
    fn fails(&mut self, error: &io::Error) {
        let (sink, items) = (&*self.counts.name, self.counts.items.as_str());
        let (task, waiting, retry_after) = (Task::Format, 0, Duration::ZERO);
        self.reporter.report(&Incident::Failed { sink, items, task, error, waiting, retry_after });
    }

    /// Notes that the format works again.
    #[cold]
    fn formatted_again(&mut self) {
        self.is_not_formatted = false;
        let (sink, items) = (&*self.counts.name, self.counts.items.as_str());
        self.reporter.report(&Incident::Recovered { sink, items, task: Task::Format });
    }

    fn drop_one(&mut self, happened: Happened) {
        self.counts.refuse_one(happened.level);
        Dropped::add(&mut self.unreported.dropped, happened);
    }

    /// Returns how many events were dropped that were not reported.
    pub(super) fn unreported(&self) -> u64 {
        self.unreported.count() + self.worker.as_ref().map_or(0, Worker::unreported)
    }

    /// If records were dropped before they reached the batch, adds a record that states their
    /// number. Before the end, waits until a second after the last such record.
    #[inline]
    fn report_dropped(&mut self, occasion: Occasion) {
        if self.unreported.dropped.is_some() && self.formatter.takes_events() {
            self.report_dropped_if_due(occasion);
        }
    }

    #[cold]
    fn report_dropped_if_due(&mut self, occasion: Occasion) {
        let Some(dropped) = self.unreported.due(occasion, true) else { return };
        let before = self.batch.events_left();
        if self.formatter.write_dropped(&dropped, &self.levels, &mut self.batch).is_err() {
            return;
        }
        self.unreported.report();
        self.added += (self.batch.events_left() - before) as u64;
        let (sink, items) = (Some(&*self.counts.name), self.counts.items.as_str());
        self.reporter.report(&Incident::Dropped { sink, items, count: dropped.count });
    }

    /// Takes the counts of dropped spans or durations. Such a sink can't write the record that
    /// reports them, so `report` adds it to other streams.
    pub(super) fn take_dropped(
        &mut self,
        occasion: Occasion,
        mut report: impl FnMut(&SinkCounts, &Dropped),
    ) {
        if let Some(dropped) = self.unreported.due(occasion, true) {
            self.unreported.report();
            report(&self.counts, &dropped);
        }
        if let Some(dropped) = self.worker.as_mut().and_then(|it| it.take_dropped(occasion)) {
            report(&self.counts, &dropped);
        }
    }

    /// Writes the events to the only sink, or passes them to the sink's thread. They stay in the
    /// batch if the only sink fails, or the thread has no room.
    pub(super) fn pass_on(&mut self) {
        if self.batch.len() < BATCH {
            self.report_dropped(Occasion::Round);
        }
        self.count();
        match &mut self.here {
            Some(here) => here.output.write(&mut self.batch),
            None => self.hand_over(Occasion::Round),
        }
    }

    /// Passes the events to the thread if it has room, with the reports of dropped records that are
    /// due.
    fn hand_over(&mut self, occasion: Occasion) {
        let Some(worker) = &mut self.worker else { return };
        if self.formatter.takes_events() {
            worker.report_dropped(occasion, &self.formatter, &self.levels);
        }
        if !self.batch.is_empty() && worker.offer(&self.batch) {
            self.batch.clear(KEPT);
        }
    }

    /// Waits until the thread has room for what is left in the batch.
    pub(super) fn wait_for_room(&mut self) {
        if let Some(worker) = self.worker.as_mut().filter(|_| !self.batch.is_empty()) {
            worker.offer_and_wait(&self.batch);
            self.batch.clear(KEPT);
        }
    }

    /// Passes all events to the thread for a flush or the end, with reports of dropped records.
    /// The events of a pipeline's only sink stay: see [`flush_here`](Self::flush_here).
    pub(super) fn pass_on_all(&mut self, occasion: Occasion) {
        if self.here.is_some() {
            // If the only sink fails, its full batch stays and has no room for a report.
            // `flush_here` adds the report after it has written the batch.
            return self.count();
        }
        self.report_dropped(occasion);
        self.count();
        self.hand_over(occasion);
    }

    /// Raises `taken` by the records that came. Call before any of them is counted as written or
    /// dropped by a sink's writer.
    pub(super) fn count(&mut self) {
        if self.levels.take_panic() {
            self.report_panic();
        }
        let added = mem::take(&mut self.added);
        self.counts.taken.add(added);
    }

    /// Reports that the function of the filter has panicked.
    #[cold]
    fn report_panic(&mut self) {
        self.fails(&io::Error::other("the function of Sink::only panicked; all records pass now"));
    }

    /// Opens the only sink's file again. Call after the events are written.
    pub(super) fn reopen_here(&mut self) {
        if let Some(here) = &mut self.here {
            here.output.renew(&mut self.batch);
        }
    }

    /// Writes everything to the only sink, and flushes it.
    ///
    /// # Errors
    ///
    /// Returns the reason, after reporting the failure.
    pub(super) fn flush_here(&mut self, occasion: Occasion) -> Result<(), String> {
        let Some(here) = &mut self.here else { return Ok(()) };
        here.output.write_now(&mut self.batch)?;
        self.report_dropped(occasion);
        self.count();
        let Some(here) = &mut self.here else { return Ok(()) };
        here.output.write_now(&mut self.batch)?;
        here.output.flush(&self.batch)
    }
}
