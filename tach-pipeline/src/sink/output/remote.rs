//! Sends events to a remote receiver, which may accept some events and not others.

mod aside;

use core::time::Duration;
use std::io;

pub(in crate::sink) use self::aside::Aside;
use self::aside::Part;
use super::{Output, attempt};
use crate::incident::Incident;
use crate::sink::batch::Batch;
use crate::sink::refused::{Refused, Which};

/// The longest pause that a first failure causes by itself. If a pause is longer, the receiver has
/// asked for it.
const LONGEST_OWN_PAUSE: Duration = Duration::from_millis(800);

/// The outcome of sending the next part of a batch.
enum Sent {
    Accepted,
    /// Events were given up, for this reason.
    GivenUp(String),
    /// The receiver refused the part as a whole.
    Whole(io::Error),
    Later(io::Error),
}

impl Output {
    /// Sends the new events in `batch`, and tries events again that failed before.
    ///
    /// If the receiver does not accept a part of the batch now, the part is set aside and other
    /// events are tried first. If the receiver accepts those, the part itself may be at fault: the
    /// part is halved until each event that fails is alone. Such an event is tried with growing
    /// pauses, and given up in the end.
    ///
    /// A part that the receiver refuses as a whole is halved once.
    ///
    /// # Errors
    ///
    /// If events were given up or have to wait. Returns the reason, after reporting it.
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
            let given_up = match self.aside.take(batch.left() > 0) {
                Some(part) => self.send_again(part)?,
                None if batch.left() > 0 => self.send_next(batch)?,
                None if self.aside.is_empty() => return outcome,
                None => return self.waits(),
            };
            if let Some(reason) = given_up {
                outcome = Err(reason);
            }
        }
    }

    /// Sends the next part of the new events. If events were given up, returns the reason.
    ///
    /// # Errors
    ///
    /// If the receiver must be tried later. Returns the reason.
    fn send_next(&mut self, batch: &mut Batch) -> Result<Option<String>, String> {
        let most = self.writer.most_bytes();
        let length = batch.next(most).len();
        match self.attempt_next(batch, most) {
            Sent::Accepted => Ok(None),
            Sent::GivenUp(reason) => Ok(Some(reason)),
            Sent::Whole(error) => self.halve_once(Part::new(batch.take(length)), &error),
            Sent::Later(error) => {
                let reason = self.failed(&error, batch);
                if self.aside.is_empty() {
                    self.aside.add(Part::new(batch.take(length)));
                } else {
                    self.aside.others_failed();
                }
                Err(reason)
            }
        }
    }

    /// Like [`send_next`](Self::send_next), for a part that was set aside.
    fn send_again(&mut self, mut part: Part) -> Result<Option<String>, String> {
        match self.attempt_next(&mut part.batch, usize::MAX) {
            Sent::Accepted => Ok(None),
            Sent::GivenUp(reason) => Ok(Some(reason)),
            Sent::Whole(error) => self.halve_once(part, &error),
            Sent::Later(error) if part.is_suspect && part.batch.events_left() > 1 => {
                self.isolate(part, &error)
            }
            Sent::Later(error) if part.since.elapsed() >= self.writer.retries_for() => {
                Ok(Some(self.give_up(part.batch.left(), None, &error, &mut part.batch)))
            }
            Sent::Later(error) if part.is_suspect => {
                let reason = self.failed(&error, &part.batch);
                self.aside.add_suspect(part);
                Err(reason)
            }
            Sent::Later(error) => {
                let reason = self.failed(&error, &part.batch);
                self.aside.add(part);
                Err(reason)
            }
        }
    }

    /// Halves a part that fails although other events are accepted, until each event that fails is
    /// alone.
    fn isolate(&mut self, mut part: Part, error: &io::Error) -> Result<Option<String>, String> {
        let mut given_up = None;
        while let Some(half) = part.take_half() {
            let mut failing = Vec::new();
            for mut half in [half, part] {
                if self.asked_pause() > LONGEST_OWN_PAUSE {
                    failing.push(half);
                    continue;
                }
                match self.attempt_next(&mut half.batch, usize::MAX) {
                    Sent::Accepted => {}
                    Sent::GivenUp(reason) => given_up = Some(reason),
                    Sent::Whole(error) => given_up = self.halve_once(half, &error)?.or(given_up),
                    Sent::Later(_) => failing.push(half),
                }
            }
            match (failing.pop(), failing.pop()) {
                (None, _) => return Ok(given_up),
                (Some(only), None) => part = only,
                // By now the receiver may accept no events at all.
                (Some(second), Some(first)) => {
                    let reason = self.failed(error, &first.batch);
                    self.aside.add(first);
                    self.aside.add(second);
                    return Err(reason);
                }
            }
        }
        let reason = self.failed(error, &part.batch);
        self.aside.add_suspect(part);
        Err(reason)
    }

    /// Sends the halves of a part that was refused as a whole. A half that is refused again is
    /// given up.
    fn halve_once(&mut self, mut part: Part, error: &io::Error) -> Result<Option<String>, String> {
        let Some(half) = part.take_half() else {
            return Ok(Some(self.give_up(part.batch.left(), None, error, &mut part.batch)));
        };
        let mut outcome = Ok(None);
        for mut half in [half, part] {
            match self.attempt_next(&mut half.batch, usize::MAX) {
                Sent::Accepted => {}
                Sent::GivenUp(reason) => outcome = outcome.map(|_| Some(reason)),
                Sent::Whole(error) => {
                    let left = half.batch.left();
                    let reason = self.give_up(left, None, &error, &mut half.batch);
                    outcome = outcome.map(|_| Some(reason));
                }
                Sent::Later(error) => {
                    outcome = Err(self.failed(&error, &half.batch));
                    self.aside.add(half);
                }
            }
        }
        outcome
    }

    /// Sends the next `most` bytes of the batch.
    fn attempt_next(&mut self, batch: &mut Batch, most: usize) -> Sent {
        let next = batch.next(most);
        let length = next.len();
        let Err(error) = attempt(|| self.writer.write(next)) else {
            return self.accepted(length, batch);
        };
        let count = match Refused::of(&error).map(|refused| refused.which) {
            None => return Sent::Later(error),
            Some(Which::Whole) => return Sent::Whole(error),
            Some(Which::All) => None,
            Some(Which::Some(0)) => {
                let (sink, warning) = (&*self.counts.name, &*error.to_string());
                self.reporter.report(&Incident::Warned { sink, warning });
                return self.accepted(length, batch);
            }
            Some(Which::Some(count)) => Some(count),
        };
        let reason = self.give_up(length, count, &error, batch);
        Sent::GivenUp(reason)
    }

    /// Counts `length` bytes of events as accepted.
    fn accepted(&mut self, length: usize, batch: &mut Batch) -> Sent {
        self.wrote(length, batch);
        self.aside.others_are_accepted();
        if self.is_over() {
            self.recovered();
        }
        Sent::Accepted
    }

    /// Drops the events in the next `length` bytes. The receiver refused `count` of them, or all if
    /// that is `None`.
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
}
