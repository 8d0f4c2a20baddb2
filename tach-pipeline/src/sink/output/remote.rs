//! Sending to a receiver elsewhere, which may take some events and not others.

mod aside;

use core::time::Duration;
use std::io;
use std::time::Instant;

pub(in crate::sink) use self::aside::Aside;
use self::aside::Part;
use super::{Output, attempt};
use crate::incident::{Incident, Task};
use crate::sink::batch::Batch;
use crate::sink::refused::{Refused, Which};

/// After a failure that took longer, the other lanes of the thread come first.
const LONG: Duration = Duration::from_secs(1);

/// What became of the next part of a batch.
enum Sent {
    Accepted,
    /// Events were given up, for this reason.
    GivenUp(String),
    /// The receiver refused the part as a whole.
    Whole(io::Error),
    Later(io::Error),
}

impl Output {
    /// Sends the events, and those that were set aside.
    ///
    /// A part that the receiver does not take now is set aside, and other events are tried. If
    /// these are accepted, the part is suspect: it is halved, until the events that fail stand
    /// alone. These are tried with growing pauses, and given up at last. A part that the receiver
    /// refuses as a whole is halved once.
    ///
    /// # Errors
    ///
    /// Returns the reason, which was reported too, if events were given up or have to wait.
    pub(super) fn send(&mut self, batch: &mut Batch) -> Result<(), String> {
        let outcome = self.send_all(batch);
        if batch.left() == 0 {
            batch.clear();
        }
        outcome
    }

    fn send_all(&mut self, batch: &mut Batch) -> Result<(), String> {
        let mut outcome = Ok(());
        loop {
            let given_up = if let Some(part) = self.aside.take_hopeful() {
                self.send_part(part, true)?
            } else if batch.left() > 0 && (self.has_room() || self.aside.is_turn_of_new()) {
                self.send_next(batch)?
            } else if let Some(part) = self.aside.take() {
                self.send_part(part, false)?
            } else if batch.left() == 0 && self.aside.is_empty() {
                return outcome;
            } else {
                return Err(self.waits());
            };
            if let Some(reason) = given_up {
                outcome = Err(reason);
            }
        }
    }

    fn has_room(&self) -> bool {
        self.aside.has_room(self.writer.most_bytes())
    }

    /// Sends the next part of new events. Returns the reason if events were given up.
    ///
    /// # Errors
    ///
    /// Returns the reason if nothing is to be sent now.
    fn send_next(&mut self, batch: &mut Batch) -> Result<Option<String>, String> {
        let most = self.writer.most_bytes();
        let length = batch.next(most).len();
        match self.attempt_next(batch, most) {
            Sent::Accepted => Ok(None),
            Sent::GivenUp(reason) => Ok(Some(reason)),
            Sent::Whole(error) => Ok(self.halve_once(Part::new(batch.take(length)), &error)),
            Sent::Later(error) => {
                let reason = self.has_failed(&error, batch);
                self.aside.failed_last(false);
                if self.has_room() {
                    self.aside.add(Part::new(batch.take(length)));
                }
                Err(reason)
            }
        }
    }

    /// Sends a part that was set aside: see [`send_next`](Self::send_next). If the part is hopeful,
    /// others may be tried after its failure.
    fn send_part(&mut self, mut part: Part, is_hopeful: bool) -> Result<Option<String>, String> {
        let start = Instant::now();
        let error = match self.attempt_next(&mut part.batch, usize::MAX) {
            Sent::Accepted => return Ok(None),
            Sent::GivenUp(reason) => return Ok(Some(reason)),
            Sent::Whole(error) => return Ok(self.halve_once(part, &error)),
            Sent::Later(error) => error,
        };
        let reason = self.has_failed(&error, &part.batch);
        self.aside.failed_last(true);
        let asks = self.writer.asks_for_pause();
        self.set_aside_again(part, &error, asks);
        if is_hopeful && !asks && start.elapsed() < LONG { Ok(None) } else { Err(reason) }
    }

    /// Sets a part aside that has failed again, in halves if the part itself may be the reason.
    fn set_aside_again(&mut self, mut part: Part, error: &io::Error, asks_for_pause: bool) {
        let is_suspect = self.aside.is_suspect(&part) && !asks_for_pause;
        let half = if is_suspect { part.take_half() } else { None };
        if let Some(half) = half {
            self.aside.add_half(half);
            self.aside.add_half(part);
        } else if part.since.elapsed() >= self.writer.retries_for() {
            self.give_up(part.batch.left(), None, error, &mut part.batch);
        } else if is_suspect {
            let most = self.writer.most_bytes();
            if let Some(mut oldest) = self.aside.add_alone(part, most) {
                self.give_up(oldest.batch.left(), None, error, &mut oldest.batch);
            }
        } else {
            self.aside.add(part);
        }
    }

    /// Has the halves of a part tried that was refused as a whole. Returns the reason if the part
    /// is given up instead: it is such a half, or one event.
    fn halve_once(&mut self, mut part: Part, error: &io::Error) -> Option<String> {
        let half = if part.is_half { None } else { part.take_half() };
        let Some(half) = half else {
            return Some(self.give_up(part.batch.left(), None, error, &mut part.batch));
        };
        for mut half in [half, part] {
            half.is_half = true;
            self.aside.add_half(half);
        }
        None
    }

    /// Sends the next `most` bytes of the batch.
    fn attempt_next(&mut self, batch: &mut Batch, most: usize) -> Sent {
        let next = batch.next(most);
        let length = next.len();
        let Err(error) = attempt(|| self.writer.write(next)) else {
            self.wrote(length, batch);
            self.has_accepted();
            return Sent::Accepted;
        };
        let count = match Refused::of(&error).map(|refused| refused.which) {
            None => return Sent::Later(error),
            Some(Which::Whole) => return Sent::Whole(error),
            Some(Which::All) => None,
            Some(Which::Some(0)) => {
                let (sink, items) = (&*self.counts.name, self.counts.items.as_str());
                let warning = &*error.to_string();
                self.reporter.report(&Incident::Warned { sink, items, warning });
                self.wrote(length, batch);
                self.has_accepted();
                return Sent::Accepted;
            }
            Some(Which::Some(count)) => {
                self.has_accepted();
                Some(count)
            }
        };
        Sent::GivenUp(self.give_up(length, count, &error, batch))
    }

    /// Notes that the receiver has accepted a request, or a part of it.
    fn has_accepted(&mut self) {
        self.aside.accepted();
        if self.is_over() {
            self.recovered(Task::Write);
        }
    }

    /// Reports a failure, after which the events of the batch and those set aside wait.
    fn has_failed(&mut self, error: &io::Error, batch: &Batch) -> String {
        self.failed(error, batch.left() + self.aside.bytes())
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
        let (sink, items) = (&*self.counts.name, self.counts.items.as_str());
        if let Some(dropped) = dropped {
            self.counts.dropped.add(dropped.count);
            dropped.add_to(&mut self.dropped);
            let count = self.aside.refused + dropped.count;
            let is_reported =
                self.reporter.report(&Incident::Refused { sink, items, error, count });
            self.aside.refused = if is_reported { 0 } else { count };
        }
        self.counts.cannot_write(error)
    }
}
