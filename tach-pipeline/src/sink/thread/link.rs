//! The state that the back end and the thread of a sink share: the events that wait, and the
//! requests.

use core::mem;
use core::time::Duration;
use std::sync::MutexGuard;

use log::LevelFilter;

use crate::sink::batch::{BATCH, Batch};
use crate::stats::Dropped;
use crate::sync::{Changed, Lock};

/// The state that the back end and the thread share.
pub(in crate::sink) struct Link {
    state: Lock<State>,
    /// Wakes the thread when there is work, and the back end when the thread has taken events and
    /// there is room.
    changed: Changed,
    /// How many bytes may wait in all lanes together.
    buffer_bytes: usize,
}

pub(in crate::sink) struct State {
    pub(in crate::sink) lanes: Vec<Handover>,
    /// The number of the last flush that was requested.
    pub(super) flush: u64,
    /// How many times the back end has requested that the file is opened again.
    pub(super) reopenings: u64,
    pub(super) is_ending: bool,
    /// Whether the thread or the back end waits, and must be notified.
    waits: bool,
}

/// The part of a lane that the back end and the thread share.
pub(in crate::sink) struct Handover {
    pub(in crate::sink) pending: Batch,
    /// The number of bytes at which events no longer wait for more.
    enough: usize,
    /// Events that the thread gave up, and that the back end has not taken yet.
    pub(super) dropped: Option<Dropped>,
}

impl Link {
    /// Creates a link with a lane for each of `enough`, the bytes at which events no longer wait
    /// for more.
    pub(super) fn new(enough: impl IntoIterator<Item = usize>, buffer_bytes: usize) -> Self {
        let lane = |enough| Handover { pending: Batch::new(), enough, dropped: None };
        let state = State {
            lanes: enough.into_iter().map(lane).collect(),
            flush: 0,
            reopenings: 0,
            is_ending: false,
            waits: false,
        };
        Self { state: Lock::new(state), changed: Changed::default(), buffer_bytes }
    }

    pub(in crate::sink) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    pub(super) fn wait<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        timeout: Duration,
    ) -> MutexGuard<'a, State> {
        state.waits = true;
        self.changed.wait(state, timeout)
    }

    pub(in crate::sink) fn notify(&self, mut state: MutexGuard<'_, State>) {
        if mem::take(&mut state.waits) {
            drop(state);
            self.changed.notify();
        }
    }

    /// Adds events to a lane if there is room, and returns whether there is. The buffer counts as
    /// `more` bytes larger.
    pub(in crate::sink) fn add(&self, lane: usize, batch: &Batch, more: usize) -> bool {
        let mut state = self.lock();
        let has_room = state.has_room(lane, self.buffer_bytes.saturating_add(more));
        if has_room && state.lanes[lane].append(batch) {
            self.notify(state);
        }
        has_room
    }

    /// Returns whether a lane has room for events. The buffer counts as `more` bytes larger.
    pub(in crate::sink) fn has_room(&self, lane: usize, more: usize) -> bool {
        self.lock().has_room(lane, self.buffer_bytes + more)
    }

    /// Returns the levels of events for which a lane without room has a reserve.
    pub(in crate::sink) fn reserve(&self, lane: usize) -> LevelFilter {
        // A batch is accepted if there is any room, so a lane may exceed its share by one batch.
        // That excess must not use up the reserve.
        levels_with_room(self.buffer_bytes, |more| self.has_room(lane, more + BATCH))
    }

    /// Waits until the thread has taken events, for `timeout` at most. Returns at once if there is
    /// room.
    pub(in crate::sink) fn wait_for_room(&self, lane: usize, timeout: Duration) {
        let state = self.lock();
        if !state.has_room(lane, self.buffer_bytes) {
            drop(self.wait(state, timeout));
        }
    }

    /// Returns how many events in a lane the thread gave up since the last take.
    pub(in crate::sink) fn dropped(&self, lane: usize) -> u64 {
        self.lock().lanes[lane].dropped.map_or(0, |dropped| dropped.count)
    }

    /// Takes the number of events in a lane that the thread gave up since the last call.
    pub(in crate::sink) fn take_dropped(&self, lane: usize) -> Option<Dropped> {
        self.lock().lanes[lane].dropped.take()
    }
}

impl State {
    /// Returns whether a lane has room, if `most` bytes may wait in all lanes together.
    fn has_room(&self, lane: usize, most: usize) -> bool {
        let kept = reserved(most, self.lanes.len());
        let waiting = self.lanes.iter().enumerate().map(|(at, other)| {
            let length = other.pending.len();
            if at == lane { length } else { length.max(kept) }
        });
        self.lanes[lane].pending.len() < kept || waiting.sum::<usize>() < most
    }
}

impl Handover {
    /// Adds events. Returns whether the thread must be woken: the first events begin the time for
    /// which they wait, and enough are taken at once.
    pub(in crate::sink) fn append(&mut self, batch: &Batch) -> bool {
        let is_first = self.pending.is_empty();
        self.pending.append(batch);
        !batch.is_empty() && (is_first || self.has_enough())
    }

    pub(super) fn has_enough(&self) -> bool {
        self.pending.len() >= self.enough
    }
}

/// Returns how many bytes are reserved for each lane, if `most` may wait in all: half of an equal
/// share, so that a lane that can't be sent leaves room to the others.
pub(super) fn reserved(most: usize, lanes: usize) -> usize {
    most / (2 * lanes.max(1))
}

/// Returns the levels that still have room where `bytes` of events wait. Warnings and errors have
/// as much again, as in the [queues](crate::queue), and errors alone its second half.
pub(in crate::sink) fn levels_with_room(
    bytes: usize,
    has_room: impl Fn(usize) -> bool,
) -> LevelFilter {
    if has_room(bytes / 2) {
        LevelFilter::Warn
    } else if has_room(bytes) {
        LevelFilter::Error
    } else {
        LevelFilter::Off
    }
}

#[cfg(test)]
pub(super) mod tests {
    use tach_core::UnixTime;

    use super::*;

    /// Returns an event of `bytes` bytes.
    pub(in crate::sink::thread) fn batch(bytes: usize) -> Batch {
        let mut batch = Batch::new();
        let event = |to: &mut Vec<u8>| {
            to.resize(bytes, 0);
            Ok(())
        };
        batch.add((UnixTime::EPOCH, None), event).unwrap();
        batch
    }

    #[test]
    fn a_lane_that_is_full_leaves_room_for_the_others() {
        let (one, link) = (batch(10), Link::new([0; 3], 600));
        let fill = |lane| (0..1000).take_while(|_| link.add(lane, &one, 0)).count();
        // A hundred bytes are reserved for each of the other two lanes.
        assert_eq!(fill(0), 40);
        assert_eq!(fill(1), 10);
        assert_eq!(fill(2), 10);
        assert!(!link.has_room(2, 0) && link.has_room(2, 10), "a report has a room of its own");
        let (long, link) = (batch(590), Link::new([0; 3], 600));
        assert!(link.add(0, &long, 0), "a batch is added whole");
        assert!(link.add(1, &one, 0) && link.add(2, &one, 0));
        let alone = Link::new([0], 600);
        assert_eq!((0..1000).take_while(|_| alone.add(0, &one, 0)).count(), 60);
    }

    #[test]
    fn the_thread_is_woken_by_the_first_events_and_by_enough() {
        for (enough, expected) in [(30, [true, false, true, true]), (0, [true; 4])] {
            let (one, link) = (batch(10), Link::new([enough], 600));
            let woken = expected.map(|_| {
                link.lock().waits = true;
                assert!(link.add(0, &one, 0));
                !link.lock().waits
            });
            assert_eq!(woken, expected);
            assert!(!link.lock().lanes[0].append(&Batch::new()), "nothing came");
        }
    }
}
