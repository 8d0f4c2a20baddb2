//! A sink's writer, which may fail.

mod failure;

use core::panic::AssertUnwindSafe;
use core::time::Duration;
use std::io;
use std::panic;
use std::sync::Arc;
use std::thread;

use self::failure::Failure;
use super::batch::{BATCH, Batch};
use super::refused::Refused;
use super::target::Writer;
use crate::incident::{Incident, Reporter};
use crate::stats::{Dropped, SinkCounts};

/// How long to wait for a writer that would block.
const BLOCKED: Duration = Duration::from_millis(1);

pub(super) struct Output {
    writer: Box<dyn Writer>,
    failure: Failure,
    /// Whether the file was deleted, so that writing to it is of no use.
    is_lost: bool,
    /// Events that were given up, until they are reported.
    dropped: Option<Dropped>,
    counts: Arc<SinkCounts>,
    reporter: Reporter,
}

impl Output {
    pub(super) fn new(
        writer: Box<dyn Writer>,
        counts: Arc<SinkCounts>,
        reporter: Reporter,
    ) -> Self {
        let (failure, dropped) = (Failure::default(), None);
        Self { writer, failure, is_lost: false, dropped, counts, reporter }
    }

    /// Returns how long to wait before the next try, if the last one failed.
    pub(super) fn pause(&self) -> Duration {
        self.failure.pause().max(self.writer.pause())
    }

    /// Returns how long events may wait for others.
    pub(super) fn max_delay(&self) -> Duration {
        self.writer.max_delay()
    }

    /// Takes the number of events that were given up since the last call.
    pub(super) fn take_dropped(&mut self) -> Option<Dropped> {
        self.dropped.take()
    }

    /// Publishes whether the last try failed, for the back end.
    pub(super) fn publish_failure(&self) {
        self.counts.is_failing.set(self.failure.is_lasting());
    }

    /// Writes the events, unless the writer failed a moment ago.
    pub(super) fn write(&mut self, batch: &mut Batch) {
        if !batch.is_empty() && self.pause().is_zero() {
            let _reported = self.write_now(batch);
        }
    }

    /// Writes the events.
    ///
    /// # Errors
    ///
    /// Returns the reason, which was reported too. The rest of the events stays, except those that
    /// are refused for good or tried for too long, which are given up. The events after a refusal
    /// are written.
    pub(super) fn write_now(&mut self, batch: &mut Batch) -> Result<(), String> {
        let mut outcome = Ok(());
        let mut has_failed = false;
        while batch.left() > 0 {
            self.follow(batch);
            if self.is_lost {
                self.reopen_now(batch).map_err(|error| self.failed(&error, batch))?;
            }
            let next = batch.next(self.writer.most_bytes());
            match attempt(|| self.writer.write(next)) {
                Ok(0) => return Err(self.failed(&io::ErrorKind::WriteZero.into(), batch)),
                Ok(_) if self.is_deleted() => self.is_lost = true,
                Ok(count) => {
                    let (length, count) = (next.len(), count.min(next.len()));
                    self.counts.bytes.add(count as u64);
                    self.counts.written.add(batch.wrote(count) as u64);
                    // A part may be all that a full disk has room for.
                    if count == length {
                        has_failed |= self.is_over();
                    }
                }
                Err(error) => {
                    let length = next.len();
                    if let Some(refused) = Refused::of(&error) {
                        outcome = Err(self.give_up(length, refused.count, &error, batch));
                        self.failure.gives_up();
                    } else if self.failure.duration() >= self.writer.retries_for() {
                        outcome = Err(self.give_up(length, None, &error, batch));
                        self.failure.gives_up();
                        if batch.left() > 0 {
                            // The pause that the writer asks for holds for the others too.
                            return outcome;
                        }
                    } else {
                        return Err(self.failed(&error, batch));
                    }
                }
            }
        }
        batch.clear();
        has_failed |= self.is_over();
        if has_failed && outcome.is_ok() {
            self.reporter.report(&Incident::Recovered { sink: &self.counts.name });
        }
        outcome
    }

    /// Ends the failure, and returns whether there was one.
    fn is_over(&mut self) -> bool {
        self.counts.is_failing.set(false);
        self.failure.is_over()
    }

    /// Drops `length` bytes of events, of which the receiver refused `count`, or all.
    #[cold]
    fn give_up(
        &mut self,
        length: usize,
        count: Option<u64>,
        error: &io::Error,
        batch: &mut Batch,
    ) -> String {
        let (dropped, accepted) = batch.refused(length, count);
        self.counts.written.add(accepted);
        self.counts.failed(error);
        let sink = &*self.counts.name;
        if let Some(dropped) = dropped {
            self.counts.dropped.add(dropped.count);
            dropped.add_to(&mut self.dropped);
            let count = dropped.count;
            self.reporter.report(&Incident::Refused { sink, error, count });
        }
        format!("can't write the log to {sink}: {error}")
    }

    /// Flushes the writer.
    ///
    /// # Errors
    ///
    /// Returns the reason, which was reported too.
    pub(super) fn flush(&mut self, batch: &Batch) -> Result<(), String> {
        attempt(|| self.writer.flush()).map_err(|error| self.failed(&error, batch))
    }

    /// Continues in a new file at the same path, or in the old one if no file can be opened.
    pub(super) fn reopen(&mut self, batch: &mut Batch) {
        if let Err(error) = self.reopen_now(batch) {
            self.failed(&error, batch);
        }
    }

    /// Continues in a new file at the same path.
    ///
    /// # Errors
    ///
    /// If it can't be opened. The old file stays.
    fn reopen_now(&mut self, batch: &mut Batch) -> io::Result<()> {
        if let Some(file) = self.writer.file() {
            file.reopen()?;
            self.is_lost = false;
            // An event that the old file holds in part is repeated in the new one.
            batch.repeat_part();
        }
        Ok(())
    }

    /// Continues in a new file if the old one was moved away or must be rotated.
    fn follow(&mut self, batch: &mut Batch) {
        let Some(file) = self.writer.file() else { return };
        if file.is_moved() {
            return self.reopen(batch);
        }
        if file.is_due(batch.next(BATCH).len()) {
            let rotated = file.rotate();
            if rotated.is_ok() {
                batch.repeat_part();
            }
            if let Err(error) = rotated.and_then(|()| file.tidy()) {
                self.failed(&error, batch);
            }
        }
    }

    fn is_deleted(&mut self) -> bool {
        self.writer.file().is_some_and(|file| file.is_deleted())
    }

    #[cold]
    fn failed(&mut self, error: &io::Error, batch: &Batch) -> String {
        self.failure.happened();
        self.counts.failed(error);
        let sink = &*self.counts.name;
        self.reporter.report(&Incident::Failed { sink, error, waiting: batch.left() });
        format!("can't write the log to {sink}: {error}")
    }
}

/// Calls the writer until it is neither interrupted nor would block: a terminal or pipe that was
/// made non-blocking stalls. A panic is an error.
fn attempt<R>(mut f: impl FnMut() -> io::Result<R>) -> io::Result<R> {
    loop {
        let result = panic::catch_unwind(AssertUnwindSafe(&mut f))
            .unwrap_or_else(|_| Err(io::Error::other("the writer panicked")));
        match result.as_ref().map_err(io::Error::kind) {
            Err(io::ErrorKind::Interrupted) => {}
            Err(io::ErrorKind::WouldBlock) => thread::sleep(BLOCKED),
            _ => return result,
        }
    }
}

#[cfg(test)]
mod tests;
