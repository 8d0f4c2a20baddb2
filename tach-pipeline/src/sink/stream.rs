//! The events for all sinks with the same format and the same filter, and the sinks' writers.

use core::mem;
use core::time::Duration;
use std::io;
use std::sync::Arc;

use super::batch::{BATCH, Batch, KEPT};
use super::formatter::Formatter;
use super::owner::Output;
use super::thread::levels_with_room;
use super::unreported::{Occasion, Unreported};
use super::worker::{Patience, Worker};
use crate::filter::Levels;
use crate::incident::{Incident, Reporter};
use crate::level::Level;
use crate::stats::{Dropped, Happened, Items, SinkCounts};
use tach_sinks::Task;

pub(super) struct Stream {
    pub(super) levels: Levels,
    pub(super) batch: Batch,
    /// Records that were dropped before they reached the batch, and not reported yet.
    unreported: Unreported,
    /// Whether the format failed at the last record.
    pub(super) is_not_formatted: bool,
    /// The number of records that came since `taken` was last raised in `counts`.
    added: u64,
    /// A pipeline's only sink, to which the back end itself writes: there is no other sink that a
    /// thread would keep from waiting.
    pub(super) here: Option<Here>,
    /// Otherwise the threads of the sinks.
    pub(super) workers: Vec<Worker>,
    /// The statistics of each sink.
    pub(super) counts: Vec<Arc<SinkCounts>>,
    /// The names of the sinks, separated by commas.
    names: String,
    reporter: Reporter,
}

/// A pipeline's only sink.
pub(super) struct Here {
    pub(super) output: Output,
    /// How many bytes may wait.
    pub(super) buffer_bytes: usize,
    /// For how long other sinks will wait for it, if some come.
    #[allow(dead_code, reason = "it stays alone")]
    pub(super) patience: Patience,
}

impl Stream {
    pub(super) fn new(levels: Levels, reporter: Reporter) -> Self {
        Self {
            levels,
            batch: Batch::new(),
            unreported: Unreported::default(),
            is_not_formatted: false,
            added: 0,
            here: None,
            workers: Vec::new(),
            counts: Vec::new(),
            names: String::new(),
            reporter,
        }
    }

    /// Adds a sink, whose records are counted in `counts`.
    pub(super) fn count_for(&mut self, counts: Arc<SinkCounts>) {
        self.counts.push(counts);
        self.name();
    }

    /// Makes the stream's names those of its sinks.
    pub(super) fn name(&mut self) {
        let names: Vec<_> = self.counts.iter().map(|counts| &*counts.name).collect();
        self.names = names.join(", ");
    }

    /// Uses the filter that the first of the sinks has now. Removes and returns the sinks that have
    /// another one, with those filters. Call after [`pass_on_all`](Self::pass_on_all): the events
    /// in the batch belong to all of the present sinks.
    pub(super) fn refilter<'a>(
        &mut self,
        levels_of: &impl Fn(&Arc<SinkCounts>) -> Option<&'a Levels>,
    ) -> Vec<(Worker, Arc<SinkCounts>, &'a Levels)> {
        let Some(levels) = self.counts.first().and_then(levels_of) else { return Vec::new() };
        self.levels = levels.clone();
        let mut moved = Vec::new();
        for at in (1..self.counts.len()).rev() {
            match levels_of(&self.counts[at]) {
                Some(other) if !other.is_same(levels) => {
                    moved.push((self.workers.remove(at), self.counts.remove(at), other));
                }
                _ => {}
            }
        }
        self.name();
        moved
    }

    /// Makes room for one more record. If there is no room, counts that
    /// record as dropped and returns `false`.
    #[inline]
    pub(super) fn make_room(&mut self, formatter: &Formatter, happened: Happened) -> bool {
        self.added += 1;
        if self.batch.len() >= BATCH {
            if !self.is_noted() {
                self.pass_on(formatter);
            }
            if !self.has_room(happened.level) {
                self.drop_one(happened);
                return false;
            }
        }
        self.report_dropped(formatter, Occasion::Round);
        true
    }

    /// Returns whether the back end notes how far it has come before the only sink writes.
    fn is_noted(&self) -> bool {
        self.here.as_ref().is_some_and(|here| here.output.notes.is_some())
    }

    /// Returns whether the batch has room for a record of that level. Threads don't limit it: they
    /// empty the batch.
    #[cold]
    fn has_room(&self, level: Option<Level>) -> bool {
        let Some(Here { buffer_bytes, .. }) = self.here else { return true };
        let least = levels_with_room(buffer_bytes, |more| self.batch.len() < buffer_bytes + more);
        self.batch.len() < buffer_bytes || level.is_some_and(|level| level.passes(least))
    }

    /// Returns what the sinks of the stream take.
    fn items(&self) -> &'static str {
        self.counts.first().map_or(Items::RECORDS, |counts| counts.items).as_str()
    }

    /// Counts and reports a record that can't be formatted.
    #[cold]
    pub(super) fn not_formatted(&mut self, error: &io::Error, happened: Happened) {
        for counts in &self.counts {
            counts.failed(error);
        }
        let (sink, items) = (&*self.names, self.items());
        let (task, waiting, retry_after) = (Task::Format, 0, Duration::ZERO);
        self.reporter.report(&Incident::Failed { sink, items, task, error, waiting, retry_after });
        self.is_not_formatted = true;
        self.drop_one(happened);
    }

    /// Notes that the format works again.
    #[cold]
    pub(super) fn formatted_again(&mut self) {
        self.is_not_formatted = false;
        let (sink, items, task) = (&*self.names, self.items(), Task::Format);
        self.reporter.report(&Incident::Recovered { sink, items, task });
    }

    fn drop_one(&mut self, happened: Happened) {
        self.counts.iter().for_each(|counts| counts.refuse_one(happened.level));
        Dropped::add(&mut self.unreported.dropped, happened);
    }

    /// Returns how many events were dropped that were not reported, for each sink.
    pub(super) fn unreported(&self) -> u64 {
        let of_all = self.unreported.count() * self.counts.len() as u64;
        of_all + self.workers.iter().map(Worker::unreported).sum::<u64>()
    }

    /// If records were dropped for all sinks of the stream, adds a record that states their number.
    /// Before the end, a second after the last such record.
    #[inline]
    pub(super) fn report_dropped(&mut self, formatter: &Formatter, occasion: Occasion) {
        if self.unreported.dropped.is_some() && formatter.takes_events() {
            self.report_dropped_if_due(formatter, occasion);
        }
    }

    #[cold]
    fn report_dropped_if_due(&mut self, formatter: &Formatter, occasion: Occasion) {
        let Some(dropped) = self.unreported.due(occasion, true) else { return };
        let before = self.batch.events_left();
        if formatter.write_dropped(&dropped, &self.levels, &mut self.batch).is_err() {
            return;
        }
        self.unreported.report();
        self.added += (self.batch.events_left() - before) as u64;
        for counts in &self.counts {
            let (sink, items) = (Some(&*counts.name), counts.items.as_str());
            let count = dropped.count;
            self.reporter.report(&Incident::Dropped { sink, items, count });
        }
    }

    /// Takes the numbers of dropped spans or durations of each sink. A stream of spans or durations
    /// can't contain a record of them, so `report` adds it to other streams. `report` receives the
    /// sink's name.
    pub(super) fn take_dropped(
        &mut self,
        occasion: Occasion,
        mut report: impl FnMut(&str, &Dropped),
    ) {
        if let Some(dropped) = self.unreported.due(occasion, true) {
            self.unreported.report();
            report(&self.names, &dropped);
        }
        for worker in &mut self.workers {
            if let Some(dropped) = worker.take_dropped(occasion) {
                report(worker.name(), &dropped);
            }
        }
    }

    /// Writes the events to the only sink, or passes them to the sinks' threads. Events stay in the
    /// batch only if the only sink fails.
    pub(super) fn pass_on(&mut self, formatter: &Formatter) {
        if self.batch.len() < BATCH {
            self.report_dropped(formatter, Occasion::Round);
        }
        self.count();
        match &mut self.here {
            Some(here) => here.output.write(&mut self.batch),
            None => self.hand_over(formatter, Occasion::Round),
        }
    }

    /// Passes the events to the threads, with the reports of dropped records that are due.
    fn hand_over(&mut self, formatter: &Formatter, occasion: Occasion) {
        if formatter.takes_events() {
            for worker in &mut self.workers {
                worker.report_dropped(occasion, formatter, &self.levels);
            }
        }
        self.workers.iter_mut().for_each(Worker::pass_own_on);
        if self.batch.is_empty() {
            return;
        }
        // Serve the sinks with room first, so that a full sink delays no other.
        let mut full = Vec::new();
        for worker in &mut self.workers {
            if !worker.offer(&self.batch) {
                full.push(worker);
            }
        }
        for worker in full {
            worker.offer_and_wait(&self.batch);
        }
        self.batch.clear(KEPT);
    }

    /// Passes all events to the threads for a flush or the end, with reports of dropped records.
    /// The events of a pipeline's only sink stay: see [`flush_here`](Self::flush_here).
    pub(super) fn pass_on_all(&mut self, formatter: &Formatter, occasion: Occasion) {
        if self.here.is_some() {
            // If the only sink fails, its full batch stays and has no room for a report.
            // `flush_here` adds the report after it has written the batch.
            return self.count();
        }
        self.report_dropped(formatter, occasion);
        self.count();
        self.hand_over(formatter, occasion);
    }

    /// Raises `taken` by the records that came. Call before any of them is counted as written or
    /// dropped by a sink's writer.
    pub(super) fn count(&mut self) {
        if self.levels.take_panic() {
            self.report_panic();
        }
        let added = mem::take(&mut self.added);
        self.counts.iter().for_each(|counts| counts.taken.add(added));
    }

    /// Reports that the function of the stream's filter has panicked.
    #[cold]
    fn report_panic(&mut self) {
        let (sink, items) = (&*self.names, self.items());
        let error = &io::Error::other("the function of Sink::only panicked; all records pass now");
        let (task, waiting, retry_after) = (Task::Format, 0, Duration::ZERO);
        self.reporter.report(&Incident::Failed { sink, items, task, error, waiting, retry_after });
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
    pub(super) fn flush_here(
        &mut self,
        formatter: &Formatter,
        occasion: Occasion,
    ) -> Result<(), String> {
        let Some(here) = &mut self.here else { return Ok(()) };
        here.output.write_now(&mut self.batch)?;
        self.report_dropped(formatter, occasion);
        self.count();
        let Some(here) = &mut self.here else { return Ok(()) };
        here.output.write_now(&mut self.batch)?;
        here.output.flush(&self.batch)
    }
}
