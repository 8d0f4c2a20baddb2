//! Sending to a receiver elsewhere, which may take some events and not others.

mod aside;

use core::time::Duration;
use std::io;
use std::time::Instant;

pub(crate) use self::aside::Aside;
use self::aside::Part;
use super::{Output, attempt};
use crate::batch::Batch;
use crate::incident::Task;
use crate::owner::Owner;

/// A failure that took longer ends the round, so that the thread can serve its other lanes.
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

impl<O: Owner> Output<O> {
    /// Sends the events, and those that were set aside.
    ///
    /// A part that the receiver does not take now is set aside, and its first event is split off.
    /// After a pause new events, the rest and the first event are tried. Once the receiver accepts
    /// one of these, what fails again is halved, until the events that fail stand alone. These are
    /// tried with growing pauses, few before new events, and given up at last. A part that the
    /// receiver refuses as a whole is halved once.
    ///
    /// # Errors
    ///
    /// Returns the reason, which was reported too, if events were given up or have to wait.
    pub(crate) fn send(&mut self, batch: &mut Batch<O::Label>) -> Result<(), String> {
        let outcome = self.send_all(batch);
        self.owner.overtakes(!self.aside.is_empty());
        if batch.left() == 0 {
            batch.clear(self.kept());
            self.note_sent();
        }
        outcome
    }

    fn send_all(&mut self, batch: &mut Batch<O::Label>) -> Result<(), String> {
        let mut outcome = Ok(());
        self.aside.begin();
        loop {
            self.owner.overtakes(!self.aside.is_empty());
            let given_up = if let Some(part) = self.aside.take_hopeful() {
                self.send_part(part)?
            } else if batch.left() > 0 && self.aside.is_turn_of_new {
                self.send_next(batch)?
            } else if let Some(part) = self.aside.take() {
                self.send_part(part)?
            } else if batch.left() > 0 && self.has_room() {
                self.send_next(batch)?
            } else if let Some(part) = self.aside.take_alone() {
                self.send_part(part)?
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
        self.aside.has_room(self.receiver.most_bytes())
    }

    /// Sends the next part of new events. Returns the reason if events were given up.
    ///
    /// # Errors
    ///
    /// Returns the reason if nothing is to be sent now.
    fn send_next(&mut self, batch: &mut Batch<O::Label>) -> Result<Option<String>, String> {
        let most = self.receiver.most_bytes();
        let length = batch.next(most).len();
        // If parts wait, their turn comes after this request.
        self.aside.is_turn_of_new = self.aside.is_empty();
        let start = Instant::now();
        let error = match self.attempt_next(batch, most) {
            Sent::Accepted => return Ok(None),
            Sent::GivenUp(reason) => return Ok(Some(reason)),
            Sent::Whole(error) => {
                let part = self.aside.part(batch.take(length));
                return Ok(self.halve_once(part, &error));
            }
            Sent::Later(error) => error,
        };
        let reason = self.has_failed(&error, batch);
        if self.has_room() {
            let part = self.aside.part(batch.take(length));
            let (goes_on, given_up) = self.set_aside(part, &error, start);
            if goes_on {
                return Ok(given_up);
            }
        }
        Err(reason)
    }

    /// Sends a part that was set aside: see [`send_next`](Self::send_next).
    fn send_part(&mut self, mut part: Part<O::Label>) -> Result<Option<String>, String> {
        let had_pause = !self.receiver_pause().is_zero();
        let start = Instant::now();
        let error = match self.attempt_next(&mut part.batch, usize::MAX) {
            Sent::Accepted => return Ok(None),
            Sent::GivenUp(reason) => return Ok(Some(reason)),
            Sent::Whole(error) => return Ok(self.halve_once(part, &error)),
            Sent::Later(error) => error,
        };
        // End the receiver's pause: this event has pauses of its own, for which other events need
        // not wait.
        if part.is_alone() && !had_pause && !self.receiver.asks_for_pause() {
            self.receiver.end_pause();
        }
        let reason = self.has_failed(&error, &part.batch);
        let (goes_on, given_up) = self.set_aside(part, &error, start);
        if goes_on { Ok(given_up) } else { Err(reason) }
    }

    /// Sets a part aside that failed, or gives it up. Returns whether the round goes on, and the
    /// reason if events were given up. The round goes on if the part is suspect or others were
    /// accepted in the round, the failure was fast, and the receiver does not ask for a pause. It
    /// ends with the second event that fails alone.
    fn set_aside(
        &mut self,
        mut part: Part<O::Label>,
        error: &io::Error,
        start: Instant,
    ) -> (bool, Option<String>) {
        let asks = self.receiver.asks_for_pause();
        let is_slow = start.elapsed() >= LONG;
        let fails_alone = part.is_alone() || self.aside.is_suspect(&part);
        let is_suspect = self.aside.is_suspect(&part) && !asks;
        let is_next_alone = part.is_alone() && self.aside.has_alone_failed;
        let goes_on = (self.aside.is_up() || is_suspect) && !asks && !is_slow && !is_next_alone;
        // A slow failure ends the round, so the part can't fail in the same round again.
        let is_guilty = is_suspect && (is_slow || self.aside.failed_in_this_round(&part));
        let has_several = part.has_several();
        let mut given_up = None;
        if has_several && is_guilty {
            self.aside.add_halves(part);
        } else if part.since.elapsed() >= self.receiver.retries_for() && !(has_several && goes_on) {
            given_up = Some(self.give_up(part.batch.left(), None, error, &mut part.batch));
        } else if has_several && !asks {
            self.aside.add_split(part);
        } else if !has_several && fails_alone {
            let (pause, most) = (self.receiver_pause(), self.receiver.most_bytes());
            if let Some(mut oldest) = self.aside.add_alone(part, pause, most) {
                let length = oldest.batch.left();
                given_up = Some(self.give_up(length, None, error, &mut oldest.batch));
            }
        } else {
            self.aside.add(part);
        }
        (goes_on, given_up)
    }

    /// Halves a part that was refused as a whole, so that both halves are tried. A part that is
    /// such a half or one event is given up instead: returns the reason.
    fn halve_once(&mut self, mut part: Part<O::Label>, error: &io::Error) -> Option<String> {
        if part.was_split || !part.has_several() {
            return Some(self.give_up(part.batch.left(), None, error, &mut part.batch));
        }
        part.was_split = true;
        self.aside.add_halves(part);
        None
    }

    /// Sends the next `most` bytes of the batch.
    fn attempt_next(&mut self, batch: &mut Batch<O::Label>, most: usize) -> Sent {
        let next = batch.next(most);
        let length = next.len();
        let Err(error) = attempt(|| self.receiver.write(next)) else {
            self.wrote(length, batch);
            self.has_accepted();
            return Sent::Accepted;
        };
        if !self.receiver.has_refused() {
            return Sent::Later(error);
        }
        if self.receiver.has_refused_whole() {
            return Sent::Whole(error);
        }
        let count = match self.receiver.refused_count() {
            None => None,
            Some(0) => {
                self.owner.warned(&error.to_string());
                self.wrote(length, batch);
                self.has_accepted();
                return Sent::Accepted;
            }
            Some(count) => {
                self.has_accepted();
                Some(count)
            }
        };
        Sent::GivenUp(self.give_up(length, count, &error, batch))
    }

    /// Notes that the receiver has accepted a request, or a part of it.
    fn has_accepted(&mut self) {
        self.aside.accepted();
        if self.succeeded() {
            self.owner.recovered(Task::Write);
        }
    }

    /// Reports a failure, after which the events of the batch and those set aside wait.
    fn has_failed(&mut self, error: &io::Error, batch: &Batch<O::Label>) -> String {
        self.failed(error, batch.left() + self.aside.bytes())
    }

    /// Drops `length` bytes of events, of which the receiver refused `count`, or all.
    #[cold]
    fn give_up(
        &mut self,
        length: usize,
        count: Option<u64>,
        error: &io::Error,
        batch: &mut Batch<O::Label>,
    ) -> String {
        let part = batch.take(length);
        let events = part.marks_left();
        let all = events.len() as u64;
        let count = count.map_or(all, |count| count.min(all));
        self.owner.gave_up(events, count);
        let count = self.aside.refused + count;
        let is_reported = self.owner.refused(error, count);
        self.aside.refused = if is_reported { 0 } else { count };
        let reason = self.owner.reason(Some(error));
        self.given_up = Some(reason.clone());
        reason
    }
}

#[cfg(test)]
mod tests;
