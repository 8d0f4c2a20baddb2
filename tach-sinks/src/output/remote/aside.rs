//! Events that a receiver did not take, while the receiver may take others.
//!
//! A round is what is sent between two pauses. A part is in one of these states, in this order:
//!
//! 1. *Untried*: a half, or the first event of a part that failed. It is sent in the same round.
//! 2. *Tried*: a request with the part failed, and none was accepted since. The receiver may be
//!    down, so the part is sent again after a pause.
//! 3. *Suspect*: a request was accepted after the part had failed or had become a half. The part is
//!    sent at once.
//! 4. *Guilty*: the part fails as a suspect, and became one in this round. It is halved. Otherwise
//!    it is tried again, as a receiver that limits the rate of requests may be the reason.
//! 5. *Alone*: one event that failed as a suspect. It is sent again after pauses of its own, which
//!    grow. Each request that is accepted allows one such event to fail before new events are sent.

use core::time::Duration;
use std::collections::VecDeque;
use std::time::Instant;

use crate::batch::Batch;

/// The first pause between two tries of an event that fails alone, and the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Parts of batches that were not accepted yet.
pub(crate) struct Aside<L> {
    parts: VecDeque<Part<L>>,
    /// How often the receiver has accepted a request.
    accepted: u64,
    /// The count of accepted requests when the round began.
    accepted_before: u64,
    /// Whether new events are tried before parts that are neither suspect nor alone: they are tried
    /// by turns.
    pub(crate) is_turn_of_new: bool,
    /// Whether an event alone failed, and no request was accepted since. Then new events come
    /// first.
    pub(crate) has_alone_failed: bool,
    /// How many events were refused, and not reported as an incident yet.
    pub(crate) refused: u64,
}

pub(crate) struct Part<L> {
    pub(crate) batch: Batch<L>,
    /// When a request with these events failed first.
    pub(crate) since: Instant,
    /// Whether these events are half of a request that was refused as a whole.
    pub(crate) was_split: bool,
    /// Whether a request with these events alone has failed.
    is_tried: bool,
    /// The count of accepted requests when a request with these events failed last.
    failed_at: u64,
    /// When the part may be tried again.
    next: Instant,
    /// The pause after the next failure, if the part is an event that fails alone.
    pause: Option<Duration>,
}

impl<L: Copy> Part<L> {
    fn new(batch: Batch<L>, accepted: u64) -> Self {
        let now = Instant::now();
        Self {
            batch,
            since: now,
            was_split: false,
            is_tried: false,
            failed_at: accepted,
            next: now,
            pause: None,
        }
    }

    /// Returns whether the part is an event that fails alone.
    pub(crate) fn is_alone(&self) -> bool {
        self.pause.is_some()
    }

    pub(crate) fn has_several(&self) -> bool {
        self.batch.events_left() > 1
    }

    /// Takes the first event, if there are several.
    fn take_first(&mut self) -> Option<Self> {
        let length = self.batch.next(0).len();
        let batch = self.has_several().then(|| self.batch.take(length))?;
        Some(Self { batch, ..*self })
    }

    /// Takes the first half of the events, if there are several.
    fn take_half(&mut self) -> Option<Self> {
        let batch = self.batch.take_half()?;
        Some(Self { batch, ..*self })
    }
}

impl<L: Copy> Aside<L> {
    pub(crate) const fn new() -> Self {
        Self {
            parts: VecDeque::new(),
            accepted: 0,
            accepted_before: 0,
            is_turn_of_new: false,
            has_alone_failed: false,
            refused: 0,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns a part of new events, without adding it.
    pub(crate) fn part(&self, batch: Batch<L>) -> Part<L> {
        Part::new(batch, self.accepted)
    }

    /// Returns how many bytes the parts have.
    pub(crate) fn bytes(&self) -> usize {
        self.parts.iter().map(|part| part.batch.left()).sum()
    }

    /// Returns whether a part of new events may be added besides others: two parts, or more if
    /// these have up to `most` bytes. Events that fail alone don't count.
    pub(crate) fn has_room(&self, most: usize) -> bool {
        let several = self.parts.iter().filter(|part| !part.is_alone());
        let (count, bytes) =
            several.fold((0, 0), |(count, bytes), part| (count + 1, bytes + part.batch.left()));
        count < 2 || bytes <= most
    }

    /// Begins a round.
    pub(crate) fn begin(&mut self) {
        self.accepted_before = self.accepted;
    }

    /// Returns whether the receiver has accepted a request in this round.
    pub(crate) fn is_up(&self) -> bool {
        self.accepted > self.accepted_before
    }

    /// Notes that the receiver has accepted a request.
    pub(crate) fn accepted(&mut self) {
        self.accepted += 1;
        self.has_alone_failed = false;
    }

    /// Returns whether a request was accepted after the part had failed, so that the part itself
    /// may be the reason.
    pub(crate) fn is_suspect(&self, part: &Part<L>) -> bool {
        self.accepted > part.failed_at
    }

    /// Returns whether the part failed, or became a half, after a request was accepted in this
    /// round. A suspect that fails once more is guilty: a receiver that limits the rate of requests
    /// would have accepted no request in between.
    pub(crate) fn failed_in_this_round(&self, part: &Part<L>) -> bool {
        part.failed_at > self.accepted_before
    }

    /// Adds a part that failed.
    pub(crate) fn add(&mut self, part: Part<L>) {
        self.parts.push_back(Part { is_tried: true, failed_at: self.accepted, ..part });
    }

    /// Adds a part that failed, and its first event as a part of its own. If one event is the
    /// reason, the receiver accepts one of the two parts.
    pub(crate) fn add_split(&mut self, mut part: Part<L>) {
        let first = part.take_first();
        self.add(part);
        match first {
            Some(first) if self.is_up() => self.add_untried(first),
            // Queue the first event behind the longer part: a receiver may accept only one request
            // before a pause.
            Some(first) => self.add(first),
            None => {}
        }
    }

    /// Adds the halves of a part that failed.
    pub(crate) fn add_halves(&mut self, mut part: Part<L>) {
        if let Some(half) = part.take_half() {
            self.add_untried(half);
        }
        self.add_untried(part);
    }

    fn add_untried(&mut self, part: Part<L>) {
        self.parts.push_back(Part { is_tried: false, failed_at: self.accepted, ..part });
    }

    /// Adds an event that fails alone. The pauses between two tries grow. Each begins after the
    /// pause of the receiver, so that other events are sent in between. If such events have more
    /// than `most` bytes, returns the oldest of them, for which there is no room.
    pub(crate) fn add_alone(
        &mut self,
        mut part: Part<L>,
        receiver_pause: Duration,
        most: usize,
    ) -> Option<Part<L>> {
        let pause = part.pause.unwrap_or(FIRST_PAUSE);
        part.next = Instant::now() + receiver_pause + pause;
        part.pause = Some((pause * 2).min(LONGEST_PAUSE));
        self.has_alone_failed = true;
        self.add(part);
        let alone = self.parts.iter().filter(|part| part.is_alone());
        if alone.map(|part| part.batch.left()).sum::<usize>() <= most {
            return None;
        }
        let oldest = self.parts.iter().enumerate().filter(|(_, part)| part.is_alone());
        let at = oldest.min_by_key(|(_, part)| part.since)?.0;
        self.parts.remove(at)
    }

    /// Takes a part that is untried or suspect.
    pub(crate) fn take_hopeful(&mut self) -> Option<Part<L>> {
        self.take_if(|aside, part| {
            (!part.is_tried || aside.is_suspect(part))
                && !(part.is_alone() && aside.has_alone_failed)
        })
    }

    /// Takes a part that did not fail in this round, after which new events have their turn.
    pub(crate) fn take(&mut self) -> Option<Part<L>> {
        let part =
            self.take_if(|aside, part| !part.is_alone() && !aside.failed_in_this_round(part))?;
        self.is_turn_of_new = true;
        Some(part)
    }

    /// Takes an event that fails alone and did not fail in this round.
    pub(crate) fn take_alone(&mut self) -> Option<Part<L>> {
        self.take_if(|aside, part| part.is_alone() && !aside.failed_in_this_round(part))
    }

    fn take_if(&mut self, is_taken: impl Fn(&Self, &Part<L>) -> bool) -> Option<Part<L>> {
        let now = Instant::now();
        let at = self.parts.iter().position(|part| part.next <= now && is_taken(self, part))?;
        self.parts.remove(at)
    }

    /// Returns how long no part may be tried: `None` if there is no part.
    pub(crate) fn wait(&self) -> Option<Duration> {
        let now = Instant::now();
        self.parts.iter().map(|part| part.next.saturating_duration_since(now)).min()
    }
}

#[cfg(test)]
impl<L> Aside<L> {
    /// Lets virtual time pass for all parts.
    pub(crate) fn pass(&mut self, time: Duration) {
        for part in &mut self.parts {
            part.since = part.since.checked_sub(time).unwrap_or(part.since);
            part.next = part.next.checked_sub(time).unwrap_or(part.next);
        }
    }
}

#[cfg(test)]
mod tests {
    use tach_core::UnixTime;

    use super::*;

    fn part(events: usize) -> Part<()> {
        let mut batch = Batch::new();
        for _ in 0..events {
            let event = |to: &mut Vec<u8>| {
                to.push(0);
                Ok(())
            };
            batch.add((UnixTime::EPOCH, ()), event).unwrap();
        }
        Part::new(batch, 0)
    }

    #[test]
    fn a_part_is_hopeful_until_it_fails_and_after_others_are_accepted() {
        let mut aside = Aside::new();
        assert!(aside.take().is_none() && aside.wait().is_none());
        aside.add_untried(part(3));
        let untried = aside.take_hopeful().unwrap();
        assert!(!aside.is_suspect(&untried));
        aside.add(untried);
        assert!(aside.take_hopeful().is_none());
        aside.accepted();
        let suspect = aside.take_hopeful().unwrap();
        assert!(aside.is_suspect(&suspect));
        aside.add(suspect);
        assert!(aside.take_hopeful().is_none(), "each acceptance is one more hope");
        assert!(aside.take().is_none(), "without hope, each part fails once in a round");
        aside.begin();
        assert!(aside.take().is_some());
        // `part(3)` is a half of a request that failed as a whole. Once the other half is accepted,
        // this half is a suspect, although it was never sent alone.
        aside.add_untried(part(3));
        aside.accepted();
        let second = aside.take_hopeful().unwrap();
        assert!(aside.is_suspect(&second));
    }

    #[test]
    fn a_suspect_is_guilty_if_it_fails_twice_in_a_round() {
        let mut aside = Aside::new();
        aside.begin();
        aside.accepted();
        aside.add(part(3));
        aside.accepted();
        let suspect = aside.take_hopeful().unwrap();
        assert!(aside.is_suspect(&suspect) && aside.failed_in_this_round(&suspect));
        aside.begin();
        assert!(!aside.is_up());
        assert!(!aside.failed_in_this_round(&suspect), "there was a pause");
    }

    #[test]
    fn the_first_event_of_a_part_that_failed_is_tried_at_once_if_the_receiver_is_up() {
        let mut aside = Aside::new();
        aside.begin();
        aside.add_split(part(3));
        assert!(aside.take_hopeful().is_none());
        let events = |part: Option<Part<()>>| part.map(|part| part.batch.events_left());
        assert_eq!([events(aside.take()), events(aside.take())], [Some(2), Some(1)]);
        aside.accepted();
        aside.add_split(part(3));
        assert_eq!(events(aside.take_hopeful()), Some(1));
        assert!(aside.take_hopeful().is_none() && aside.take().is_none());
        aside.add_split(part(1));
        assert_eq!((aside.parts.len(), aside.bytes()), (2, 3));
    }

    #[test]
    fn an_event_that_fails_alone_waits_longer_each_time() {
        let mut aside = Aside::new();
        assert!(aside.add_alone(part(1), Duration::ZERO, 1).is_none());
        aside.accepted();
        assert!(aside.take_hopeful().is_none() && aside.take_alone().is_none());
        let wait = aside.wait().unwrap();
        assert!(wait <= FIRST_PAUSE && !wait.is_zero());
        let mut one = aside.parts.pop_front().unwrap();
        assert_eq!(one.pause, Some(2 * FIRST_PAUSE));
        one.pause = Some(LONGEST_PAUSE);
        aside.add_alone(one, Duration::from_secs(60), 1);
        assert_eq!(aside.parts[0].pause, Some(LONGEST_PAUSE));
        assert!(aside.wait().unwrap() > LONGEST_PAUSE, "after the receiver's pause");
    }

    #[test]
    fn one_event_may_fail_alone_for_each_acceptance() {
        let mut aside = Aside::new();
        for _ in 0..3 {
            aside.add_alone(part(1), Duration::ZERO, 3);
        }
        aside.pass(FIRST_PAUSE);
        aside.accepted();
        let first = aside.take_hopeful().unwrap();
        aside.add_alone(first, Duration::ZERO, 3);
        assert!(aside.take_hopeful().is_none());
        assert!(aside.take_alone().is_some(), "after all others");
        aside.accepted();
        assert!(aside.take_hopeful().is_some());
    }

    #[test]
    fn events_that_fail_alone_have_a_bound_and_take_no_room_of_others() {
        let mut aside = Aside::new();
        let first = part(1);
        let since = first.since;
        let mut add = |part| aside.add_alone(part, Duration::ZERO, 2);
        assert!(add(first).is_none() && add(part(1)).is_none());
        assert_eq!(add(part(1)).unwrap().since, since);
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
