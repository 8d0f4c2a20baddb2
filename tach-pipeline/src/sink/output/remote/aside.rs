//! Events that a receiver did not take, while the receiver may take others.

use core::time::Duration;
use std::collections::VecDeque;
use std::time::Instant;

use crate::sink::batch::Batch;

/// The first pause between two tries of an event that fails alone, and the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Parts of batches that were not accepted yet.
#[derive(Default)]
pub(in crate::sink) struct Aside {
    parts: VecDeque<Part>,
    /// How often the receiver has accepted a request.
    accepted: u64,
    /// Whether a part failed last, so that new events come next.
    part_failed: bool,
    /// How many events were refused, and not reported as an incident yet.
    pub(super) refused: u64,
}

pub(super) struct Part {
    pub(super) batch: Batch,
    /// When a request with these events failed first.
    pub(super) since: Instant,
    /// Whether a request with more events was refused as a whole.
    pub(super) is_half: bool,
    /// Whether a request with these events alone has failed.
    is_tried: bool,
    /// The count of accepted requests when a request with these events failed last.
    failed_at: u64,
    /// When the part may be tried again.
    next: Instant,
    /// The pause after the next failure of an event that fails alone.
    pause: Duration,
    /// Whether the part is an event that fails alone.
    is_alone: bool,
}

impl Part {
    pub(super) fn new(batch: Batch) -> Self {
        let now = Instant::now();
        Self {
            batch,
            since: now,
            is_half: false,
            is_tried: false,
            failed_at: 0,
            next: now,
            pause: FIRST_PAUSE,
            is_alone: false,
        }
    }

    /// Takes the first half of the events, if there are several.
    pub(super) fn take_half(&mut self) -> Option<Self> {
        let batch = self.batch.take_half()?;
        Some(Self { batch, ..*self })
    }
}

impl Aside {
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns how many bytes the parts have.
    pub(super) fn bytes(&self) -> usize {
        self.parts.iter().map(|part| part.batch.left()).sum()
    }

    /// Returns whether a part of new events may be added besides others: two parts, or more if
    /// these have up to `most` bytes. Events that fail alone don't count.
    pub(super) fn has_room(&self, most: usize) -> bool {
        let several = self.parts.iter().filter(|part| !part.is_alone);
        let (count, bytes) =
            several.fold((0, 0), |(count, bytes), part| (count + 1, bytes + part.batch.left()));
        count < 2 || bytes <= most
    }

    /// Returns whether new events are tried next, though there is no room for them if they fail:
    /// they and the parts are tried by turns.
    pub(super) fn is_turn_of_new(&self) -> bool {
        self.part_failed
    }

    /// Notes whether a part failed last, or new events.
    pub(super) fn failed_last(&mut self, is_part: bool) {
        self.part_failed = is_part;
    }

    /// Notes that the receiver has accepted a request.
    pub(super) fn accepted(&mut self) {
        self.accepted += 1;
    }

    /// Returns whether other events were accepted after the part had failed, so that the part
    /// itself may be the reason.
    pub(super) fn is_suspect(&self, part: &Part) -> bool {
        self.accepted > part.failed_at
    }

    /// Adds a part that failed.
    pub(super) fn add(&mut self, part: Part) {
        self.parts.push_back(Part { is_tried: true, failed_at: self.accepted, ..part });
    }

    /// Adds a half of a part that failed.
    pub(super) fn add_half(&mut self, half: Part) {
        self.parts.push_back(Part { is_tried: false, failed_at: self.accepted, ..half });
    }

    /// Adds an event that fails alone. The pauses between two tries grow. If such events have more
    /// than `most` bytes, returns the oldest of them, for which there is no room.
    pub(super) fn add_alone(&mut self, mut part: Part, most: usize) -> Option<Part> {
        part.next = Instant::now() + part.pause;
        part.pause = (part.pause * 2).min(LONGEST_PAUSE);
        part.is_alone = true;
        self.add(part);
        let alone = self.parts.iter().filter(|part| part.is_alone);
        if alone.map(|part| part.batch.left()).sum::<usize>() <= most {
            return None;
        }
        let oldest = self.parts.iter().enumerate().filter(|(_, part)| part.is_alone);
        let at = oldest.min_by_key(|(_, part)| part.since)?.0;
        self.parts.remove(at)
    }

    /// Takes a part that the receiver may accept, since it was not tried or others were accepted
    /// after it had failed.
    pub(super) fn take_hopeful(&mut self) -> Option<Part> {
        self.take_if(|aside, part| !part.is_tried || aside.is_suspect(part))
    }

    /// Takes a part that may be tried.
    pub(super) fn take(&mut self) -> Option<Part> {
        self.take_if(|_, _| true)
    }

    fn take_if(&mut self, is_taken: impl Fn(&Self, &Part) -> bool) -> Option<Part> {
        let now = Instant::now();
        let at = self.parts.iter().position(|part| part.next <= now && is_taken(self, part))?;
        self.parts.remove(at)
    }

    /// Returns how long no part may be tried: `None` if there is no part.
    pub(in crate::sink) fn wait(&self) -> Option<Duration> {
        let now = Instant::now();
        self.parts.iter().map(|part| part.next.saturating_duration_since(now)).min()
    }
}

#[cfg(test)]
mod tests {
    use tach_core::UnixTime;

    use super::*;

    fn part(events: usize) -> Part {
        let mut batch = Batch::new();
        for _ in 0..events {
            let event = |to: &mut Vec<u8>| {
                to.push(0);
                Ok(())
            };
            batch.add(UnixTime::EPOCH, event).unwrap();
        }
        Part::new(batch)
    }

    #[test]
    fn a_part_is_hopeful_until_it_fails_and_after_others_are_accepted() {
        let mut aside = Aside::default();
        assert!(aside.take().is_none() && aside.wait().is_none());
        aside.add_half(part(3));
        let untried = aside.take_hopeful().unwrap();
        assert!(!aside.is_suspect(&untried));
        aside.add(untried);
        assert!(aside.take_hopeful().is_none());
        aside.accepted();
        let suspect = aside.take_hopeful().unwrap();
        assert!(aside.is_suspect(&suspect));
        aside.add(suspect);
        assert!(aside.take_hopeful().is_none(), "each acceptance is one more hope");
        assert!(aside.take().is_some(), "there may be nothing else to try");
        // The whole has failed, and the other half is accepted.
        aside.add_half(part(3));
        aside.accepted();
        let second = aside.take_hopeful().unwrap();
        assert!(aside.is_suspect(&second));
    }

    #[test]
    fn an_event_that_fails_alone_waits_longer_each_time() {
        let mut aside = Aside::default();
        assert!(aside.add_alone(part(1), 1).is_none());
        aside.accepted();
        assert!(aside.take_hopeful().is_none() && aside.take().is_none());
        let wait = aside.wait().unwrap();
        assert!(wait <= FIRST_PAUSE && !wait.is_zero());
        let mut one = aside.parts.pop_front().unwrap();
        assert_eq!(one.pause, 2 * FIRST_PAUSE);
        one.pause = LONGEST_PAUSE;
        aside.add_alone(one, 1);
        assert_eq!(aside.parts[0].pause, LONGEST_PAUSE);
    }

    #[test]
    fn events_that_fail_alone_have_a_bound_and_take_no_room_of_others() {
        let mut aside = Aside::default();
        let first = part(1);
        let since = first.since;
        assert!(aside.add_alone(first, 2).is_none() && aside.add_alone(part(1), 2).is_none());
        assert_eq!(aside.add_alone(part(1), 2).unwrap().since, since);
        assert!(aside.has_room(0) && aside.bytes() == 2);
        aside.add(part(3));
        assert!(aside.has_room(0), "there is room for a second part, however long the first is");
        aside.add(part(3));
        assert!(aside.has_room(6) && !aside.has_room(5) && aside.bytes() == 8);
    }

    #[test]
    fn halves_have_all_events() {
        let mut five = part(5);
        let half = five.take_half().unwrap();
        assert_eq!((half.batch.events_left(), five.batch.events_left()), (2, 3));
        assert_eq!((half.batch.left(), five.batch.left()), (2, 3));
        assert!(part(1).take_half().is_none());
    }
}
