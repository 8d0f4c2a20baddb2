//! The counts and the reports of a sink's output.

use core::mem;
use core::time::Duration;
use std::io;
use std::sync::Arc;

use tach_sinks::adapter::{self, Mark, Receiver};

use super::batch::dropped;
use crate::incident::{Incident, Reporter};
use crate::level::Level;
use crate::stats::{Dropped, SinkCounts};
use tach_sinks::Task;

/// A receiver, and the events that it has not taken yet.
pub(super) type Output = adapter::Output<Owner>;

/// Counts and reports what becomes of the events of a sink.
pub(super) struct Owner {
    pub(super) counts: Arc<SinkCounts>,
    pub(super) reporter: Reporter,
    /// How many rotations that the program asked for were begun.
    rotations: u64,
    /// Events that were given up and not reported yet.
    pub(super) dropped: Option<Dropped>,
}

/// Returns an output whose events are counted in `counts`.
pub(super) fn output(
    receiver: Box<dyn Receiver>,
    counts: Arc<SinkCounts>,
    reporter: Reporter,
) -> Output {
    let rotations = counts.rotations.get();
    Output::new(receiver, Owner { counts, reporter, rotations, dropped: None })
}

impl adapter::Owner for Owner {
    type Label = Option<Level>;

    fn wrote(&mut self, bytes: usize, events: usize) {
        self.counts.bytes.add(bytes as u64);
        self.counts.is_stalled.set(false);
        self.counts.written.add(events as u64);
    }

    fn was_divided(&mut self) {
        self.counts.oversize.add(1);
    }

    fn lost(&mut self, events: &[Mark<Option<Level>>]) {
        if let Some(dropped) = dropped(events) {
            self.counts.dropped.add(&dropped);
        }
    }

    /// Don't report this on stderr: after `tool | head` it would be noise at the user's terminal.
    fn left_unread(&mut self, error: &io::Error) {
        if self.reporter.on_incident.is_some() {
            self.failed(Task::Write, error, 0, Duration::ZERO);
        }
    }

    fn gave_up(&mut self, events: &[Mark<Option<Level>>], count: u64) {
        let accepted = events.len() as u64 - count;
        self.counts.written.add(accepted);
        if let Some(all) = dropped(events) {
            // If the receiver accepted some events, nobody knows which. So count the others without
            // their levels.
            let dropped = if accepted == 0 { all } else { Dropped::new(count, all.from, all.to) };
            self.counts.dropped.add(&dropped);
            dropped.add_to(&mut self.dropped);
        }
    }

    fn refused(&mut self, error: &io::Error, count: u64) -> bool {
        self.counts.failed(error);
        let (sink, items) = (&*self.counts.name, self.counts.items.as_str());
        self.reporter.report(&Incident::Refused { sink, items, error, count })
    }

    fn warned(&mut self, warning: &str) {
        let (sink, items) = (&*self.counts.name, self.counts.items.as_str());
        self.reporter.report(&Incident::Warned { sink, items, warning });
    }

    fn failed(&mut self, task: Task, error: &io::Error, waiting: usize, retry_after: Duration) {
        self.counts.failed(error);
        let (sink, items) = (&*self.counts.name, self.counts.items.as_str());
        self.reporter.report(&Incident::Failed { sink, items, task, error, waiting, retry_after });
    }

    fn recovered(&mut self, task: Task) {
        let (sink, items) = (&*self.counts.name, self.counts.items.as_str());
        self.reporter.report(&Incident::Recovered { sink, items, task });
    }

    fn fails(&mut self, is_failing: bool) {
        self.counts.is_failing.set(is_failing);
    }

    fn overtakes(&mut self, is_possible: bool) {
        self.counts.note_overtaking(is_possible);
    }

    fn asks_for_rotation(&mut self) -> bool {
        let asked = self.counts.rotations.get();
        asked != mem::replace(&mut self.rotations, asked)
    }

    fn reason(&self, error: Option<&io::Error>) -> String {
        match error {
            Some(error) => self.counts.cannot_write(error),
            None => self.counts.cannot_write(&self.counts.last_error().unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests;
