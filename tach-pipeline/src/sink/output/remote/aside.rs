//! Events that are set aside because a receiver did not accept them. It may accept others.

use core::time::Duration;
use std::collections::VecDeque;
use std::time::Instant;

use crate::sink::batch::Batch;

/// The first and the longest pause between two tries of an event that fails alone.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Parts of batches, each of which failed at least once.
#[derive(Default)]
pub(in crate::sink) struct Aside {
    parts: VecDeque<Part>,
    /// Whether parts are tried before new events, because new events failed last.
    comes_first: bool,
}

pub(super) struct Part {
    pub(super) batch: Batch,
    /// When the part failed for the first time.
    pub(super) since: Instant,
    /// Whether the receiver accepted other events after the part had failed. Then the part itself
    /// may be the reason.
    pub(super) is_suspect: bool,
    /// The earliest time of the next try, and the pause that follows if that try fails. Only an
    /// event that fails alone makes a pause.
    next: Instant,
    pause: Duration,
}

impl Part {
    pub(super) fn new(batch: Batch) -> Self {
        let now = Instant::now();
        Self { batch, since: now, is_suspect: false, next: now, pause: FIRST_PAUSE }
    }

    /// Takes the first half of the events. If there is only one event, returns `None`.
    pub(super) fn take_half(&mut self) -> Option<Self> {
        let batch = self.batch.take_half()?;
        Some(Self { batch, ..*self })
    }
}

impl Aside {
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Adds a part that failed. Other events are tried before the part.
    pub(super) fn add(&mut self, mut part: Part) {
        part.is_suspect = false;
        self.parts.push_back(part);
        self.comes_first = false;
    }

    /// Adds an event that fails alone: the pauses between its tries grow.
    pub(super) fn add_suspect(&mut self, mut part: Part) {
        part.next = Instant::now() + part.pause;
        part.pause = (part.pause * 2).min(LONGEST_PAUSE);
        self.add(part);
    }

    /// Notes that other events were accepted.
    pub(super) fn others_are_accepted(&mut self) {
        self.parts.iter_mut().for_each(|part| part.is_suspect = true);
    }

    /// Notes that other events failed.
    pub(super) fn others_failed(&mut self) {
        self.comes_first = true;
    }

    /// Takes the next part to try now, or `None` if new events are to be tried first. `has_others`
    /// is `true` if there are new events.
    pub(super) fn take(&mut self, has_others: bool) -> Option<Part> {
        let now = Instant::now();
        let comes_first = self.comes_first || !has_others;
        let is_next = |part: &Part| part.next <= now && (comes_first || part.is_suspect);
        let at = self.parts.iter().position(is_next)?;
        self.parts.remove(at)
    }

    /// Returns how long to wait until a part may be tried, or `None` if there are no parts.
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
    fn a_part_is_tried_after_others_until_these_fail_or_are_accepted() {
        let mut aside = Aside::default();
        assert!(aside.take(false).is_none() && aside.wait().is_none());
        aside.add(part(3));
        assert!(aside.take(true).is_none(), "others are tried first");
        aside.others_failed();
        let failed = aside.take(true).unwrap();
        aside.add(failed);
        assert!(aside.take(true).is_none(), "by turns");
        aside.others_are_accepted();
        assert!(aside.take(true).is_some_and(|part| part.is_suspect));
        aside.add(part(1));
        assert!(aside.take(false).is_some(), "there are no others");
    }

    #[test]
    fn an_event_that_fails_alone_waits_longer_each_time() {
        let mut aside = Aside::default();
        aside.add_suspect(part(1));
        assert!(aside.take(false).is_none());
        let wait = aside.wait().unwrap();
        assert!(wait <= FIRST_PAUSE && !wait.is_zero());
        let mut one = aside.parts.pop_front().unwrap();
        assert_eq!(one.pause, 2 * FIRST_PAUSE);
        one.pause = LONGEST_PAUSE;
        aside.add_suspect(one);
        assert_eq!(aside.parts[0].pause, LONGEST_PAUSE);
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
