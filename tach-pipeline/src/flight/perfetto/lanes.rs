//! Decides on which track a span is drawn.
//!
//! Perfetto draws the spans of a track as a stack: a span that begins within another span is drawn
//! as its child, and must end within it. Spans of tracing need not nest: tasks take turns on a
//! thread, and a task moves between threads. A span is drawn on its thread's track if it nests
//! there within its parent, or if that track is empty. All other spans share tracks that belong to
//! no thread.

use core::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// The number of a track.
pub(super) type Lane = usize;

/// The owner of a track.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    Thread(u64),
    /// No thread. Such tracks are for spans that can't be drawn on their threads' tracks.
    Tasks,
}

/// A span that is to be drawn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slice {
    pub(super) id: u64,
    /// The parent's id. Zero if there is no parent.
    pub(super) parent: u64,
    pub(super) start: u64,
    /// The time of the end. `u64::MAX` for an open span.
    pub(super) end: u64,
    /// The thread on which the span began and ended. `None` if these are two threads.
    pub(super) thread: Option<u64>,
}

#[derive(Default)]
pub(super) struct Lanes {
    owners: Vec<Owner>,
    /// For each track, the ids and the ends of the spans that are open when the span starts that
    /// was last placed there.
    stacks: Vec<Vec<(u64, u64)>>,
    threads: HashMap<u64, Lane>,
    /// The time from which each track without a thread is free.
    ends: BinaryHeap<Reverse<(u64, Lane)>>,
}

impl Lanes {
    /// Returns the tracks' owners.
    pub(super) fn owners(&self) -> &[Owner] {
        &self.owners
    }

    /// Returns the track of a thread.
    pub(super) fn of_thread(&mut self, thread: u64) -> Lane {
        if let Some(&lane) = self.threads.get(&thread) {
            return lane;
        }
        let lane = self.add(Owner::Thread(thread));
        self.threads.insert(thread, lane);
        lane
    }

    /// Places a span, whose parent is on the track `of_parent`. Spans must be placed in the order
    /// of their starts.
    pub(super) fn place(&mut self, slice: Slice, of_parent: Option<Lane>) -> Lane {
        let lane = self.find(slice, of_parent);
        self.stacks[lane].push((slice.id, slice.end));
        lane
    }

    fn find(&mut self, slice: Slice, of_parent: Option<Lane>) -> Lane {
        if let Some(thread) = slice.thread {
            let lane = self.of_thread(thread);
            if self.has_place(lane, slice) {
                return lane;
            }
        }
        let beside = of_parent.filter(|&lane| self.owners[lane] == Owner::Tasks);
        if let Some(lane) = beside.filter(|&lane| self.has_place(lane, slice)) {
            return lane;
        }
        let free = self.ends.peek().filter(|Reverse((end, _))| *end <= slice.start);
        let lane = match free.map(|Reverse((_, lane))| *lane) {
            Some(lane) => {
                self.ends.pop();
                self.stacks[lane].clear();
                lane
            }
            None => self.add(Owner::Tasks),
        };
        self.ends.push(Reverse((slice.end, lane)));
        lane
    }

    /// Returns whether the span can be drawn on a track: the track is empty when the span starts,
    /// or the span nests in its parent there.
    fn has_place(&mut self, lane: Lane, slice: Slice) -> bool {
        let stack = &mut self.stacks[lane];
        while stack.last().is_some_and(|&(_, end)| end <= slice.start) {
            stack.pop();
        }
        // `find` finds an empty track without a thread by the time from which it is free.
        match stack.last() {
            None => self.owners[lane] != Owner::Tasks,
            Some(&(id, end)) => id == slice.parent && slice.end <= end,
        }
    }

    fn add(&mut self, owner: Owner) -> Lane {
        self.owners.push(owner);
        self.stacks.push(Vec::new());
        self.owners.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const OPEN: u64 = u64::MAX;

    fn slice(id: u64, parent: u64, start: u64, end: u64, thread: u64) -> Slice {
        Slice { id, parent, start, end, thread: (thread != 0).then_some(thread) }
    }

    fn owners(slices: &[Slice]) -> Vec<Owner> {
        let mut lanes = Lanes::default();
        let placed = place_all(&mut lanes, slices);
        placed.into_iter().map(|lane| lanes.owners()[lane]).collect()
    }

    fn place_all(lanes: &mut Lanes, slices: &[Slice]) -> Vec<Lane> {
        let mut places = HashMap::new();
        let mut place = |slice: &Slice| {
            let lane = lanes.place(*slice, places.get(&slice.parent).copied());
            places.insert(slice.id, lane);
            lane
        };
        slices.iter().map(&mut place).collect()
    }

    #[test]
    fn spans_that_nest_are_on_their_thread() {
        let slices = [
            slice(1, 0, 0, 100, 1),
            slice(2, 1, 10, 20, 1),
            // The parent is on another thread, and waits.
            slice(3, 1, 15, 90, 2),
            slice(4, 3, 20, 90, 2),
            slice(5, 1, 20, 30, 1),
            // The parent is not known.
            slice(6, 77, 100, 110, 1),
            slice(7, 0, 110, OPEN, 1),
            slice(8, 7, 120, OPEN, 1),
        ];
        let expected = [1, 1, 2, 2, 1, 1, 1, 1].map(Owner::Thread);
        assert_eq!(owners(&slices), expected);
    }

    #[test]
    fn tasks_that_take_turns_are_not() {
        let slices = [
            slice(1, 0, 0, 100, 1),
            // A second request on the same thread, which ends earlier or later.
            slice(2, 0, 10, 20, 1),
            slice(3, 0, 15, 110, 1),
            slice(4, 2, 16, 18, 1),
            slice(5, 1, 30, 40, 1),
            // A task that moved to another thread, and one that outlives its parent.
            slice(6, 1, 50, 60, 0),
            slice(7, 1, 50, 120, 1),
        ];
        let (thread, tasks) = (Owner::Thread(1), Owner::Tasks);
        assert_eq!(owners(&slices), [thread, tasks, tasks, tasks, thread, tasks, tasks]);
    }

    proptest! {
        /// Whatever the spans are, the spans of a track nest within their parents, and only there.
        #[test]
        fn the_spans_of_a_track_nest(
            spans in prop::collection::vec((0..60_u64, 0..30_u64, 0..12_u64, 0..4_u64), 0..60),
        ) {
            let mut slices: Vec<_> = (1..)
                .zip(spans)
                .map(|(id, (start, took, parent, thread))| {
                    let end = if took == 29 { OPEN } else { start + took };
                    slice(id, parent, start, end, thread)
                })
                .collect();
            slices.sort_by_key(|slice| (slice.start, Reverse(slice.end)));
            let mut lanes = Lanes::default();
            let placed = place_all(&mut lanes, &slices);
            let placed: Vec<_> = placed.into_iter().zip(slices.iter().copied()).collect();
            for (at, &(lane, slice)) in placed.iter().enumerate() {
                let before = placed[..at].iter().filter(|(other, _)| *other == lane);
                let around: Vec<_> = before.filter(|(_, other)| other.end > slice.start).collect();
                for (_, other) in &around {
                    prop_assert!(slice.end <= other.end);
                }
                if let Some((_, innermost)) = around.last() {
                    prop_assert_eq!(slice.parent, innermost.id);
                }
                if let (Owner::Thread(thread), Some(own)) = (lanes.owners()[lane], slice.thread) {
                    prop_assert_eq!(thread, own);
                }
            }
        }
    }
}
