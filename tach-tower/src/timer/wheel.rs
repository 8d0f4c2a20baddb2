//! Which waker is due at which tick. Pure: it reads no clock.
//!
//! A hash table from ticks to lists. Unlike a hierarchical wheel it never moves an entry, and it
//! has no position in time that an idle hour or a late driver could upset.

use core::mem;
use core::task::Waker;
use core::time::Duration;

/// Nanoseconds of a tick. Tokio's own timer is no finer.
pub(super) const TICK_NS: u64 = 1_000_000;

/// A power of two, so that a tick's slot is a mask.
const SLOTS: usize = 512;

/// No entry.
const NONE: u32 = u32::MAX;

/// Identifies an entry. The key of a removed entry matches no later one, until 2^32 entries have
/// used its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    index: u32,
    generation: u32,
}

#[derive(Debug)]
struct Entry {
    /// `None` if the entry is free.
    waker: Option<Waker>,
    tick: u64,
    generation: u32,
    /// Neighbours in the slot's list. Free entries form a list by `next`.
    previous: u32,
    next: u32,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    first: u32,
    /// No entry of the slot is due earlier. It may be too early after a removal.
    earliest: u64,
}

impl Slot {
    const EMPTY: Self = Self { first: NONE, earliest: u64::MAX };
}

#[derive(Debug)]
pub(super) struct Wheel {
    slots: Box<[Slot]>,
    entries: Vec<Entry>,
    free: u32,
}

impl Wheel {
    pub(super) fn new() -> Self {
        Self { slots: vec![Slot::EMPTY; SLOTS].into(), entries: Vec::new(), free: NONE }
    }

    /// Adds a waker that is due at `tick`.
    pub(super) fn insert(&mut self, tick: u64, waker: Waker) -> Key {
        let index = self.take_free();
        let slot = &mut self.slots[slot_of(tick)];
        let entry = &mut self.entries[index as usize];
        entry.waker = Some(waker);
        entry.tick = tick;
        entry.previous = NONE;
        entry.next = slot.first;
        let key = Key { index, generation: entry.generation };
        let second = mem::replace(&mut slot.first, index);
        slot.earliest = slot.earliest.min(tick);
        if let Some(second) = self.entries.get_mut(second as usize) {
            second.previous = index;
        }
        key
    }

    /// Removes an entry. Returns its waker, or `None` if it was removed before.
    pub(super) fn remove(&mut self, key: Key) -> Option<Waker> {
        let entry = self.entries.get(key.index as usize)?;
        if entry.generation == key.generation { self.unlink(key.index) } else { None }
    }

    /// Returns an entry's waker, or `None` if it was removed.
    pub(super) fn waker(&mut self, key: Key) -> Option<&mut Waker> {
        let entry = self.entries.get_mut(key.index as usize)?;
        if entry.generation == key.generation { entry.waker.as_mut() } else { None }
    }

    /// Removes all entries that are due at `tick` or earlier, and adds their wakers to `due`.
    pub(super) fn expire(&mut self, tick: u64, due: &mut Vec<Waker>) {
        for slot in 0..SLOTS {
            if self.slots[slot].earliest > tick {
                continue;
            }
            let mut earliest = u64::MAX;
            let mut index = self.slots[slot].first;
            while let Some(entry) = self.entries.get(index as usize) {
                let (this, at) = (index, entry.tick);
                index = entry.next;
                if at <= tick {
                    due.extend(self.unlink(this));
                } else {
                    earliest = earliest.min(at);
                }
            }
            self.slots[slot].earliest = earliest;
        }
    }

    /// Returns a tick before which nothing is due; `None` if the wheel is empty.
    pub(super) fn next(&self) -> Option<u64> {
        self.slots.iter().map(|slot| slot.earliest).min().filter(|&tick| tick < u64::MAX)
    }

    fn take_free(&mut self) -> u32 {
        let index = self.free;
        if let Some(entry) = self.entries.get(index as usize) {
            self.free = entry.next;
            return index;
        }
        // So many tasks don't fit into memory.
        let index = u32::try_from(self.entries.len()).unwrap_or(NONE);
        assert!(index < NONE, "the timer is full");
        self.entries.push(Entry {
            waker: None,
            tick: 0,
            generation: 0,
            previous: NONE,
            next: NONE,
        });
        index
    }

    /// Takes an entry out of its slot and frees it.
    fn unlink(&mut self, index: u32) -> Option<Waker> {
        let entry = self.entries.get_mut(index as usize)?;
        let waker = entry.waker.take()?;
        let (previous, next, slot) = (entry.previous, entry.next, slot_of(entry.tick));
        entry.generation = entry.generation.wrapping_add(1);
        entry.next = mem::replace(&mut self.free, index);
        match self.entries.get_mut(previous as usize) {
            Some(previous) => previous.next = next,
            None => self.slots[slot].first = next,
        }
        if let Some(next) = self.entries.get_mut(next as usize) {
            next.previous = previous;
        }
        if self.slots[slot].first == NONE {
            self.slots[slot] = Slot::EMPTY;
        }
        Some(waker)
    }
}

/// Returns the first tick that does not begin before `end`: what is due then is not early.
pub(super) fn first_tick_from(end: Duration) -> u64 {
    nanos(end).div_ceil(TICK_NS)
}

/// Returns the last tick that has begun by `now`.
pub(super) fn last_tick_by(now: Duration) -> u64 {
    nanos(now) / TICK_NS
}

/// Saturates at 584 years.
fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[expect(clippy::cast_possible_truncation, reason = "only the low bits count")]
fn slot_of(tick: u64) -> usize {
    tick as usize & (SLOTS - 1)
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicU32, Ordering};
    use std::collections::BTreeMap;
    use std::sync::Arc;
    use std::task::Wake;

    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Default)]
    struct Count(AtomicU32);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn waker() -> (Arc<Count>, Waker) {
        let count = Arc::new(Count::default());
        (count.clone(), count.into())
    }

    #[test]
    fn entries_of_one_slot_are_due_at_their_own_ticks() {
        let mut wheel = Wheel::new();
        let rounds = SLOTS as u64;
        for tick in [5, 5 + rounds, 5 + 2 * rounds] {
            wheel.insert(tick, waker().1);
        }
        let mut due = Vec::new();
        for (tick, expected) in [(4, 0), (5, 1), (4 + rounds, 1), (5 + 2 * rounds, 3)] {
            wheel.expire(tick, &mut due);
            assert_eq!(due.len(), expected, "at {tick}");
        }
        assert_eq!(wheel.next(), None);
    }

    #[test]
    fn a_key_names_nothing_once_its_entry_is_gone() {
        let mut wheel = Wheel::new();
        let key = wheel.insert(1, waker().1);
        assert!(wheel.remove(key).is_some());
        let other = wheel.insert(1, waker().1);
        assert_eq!(other.index, key.index, "the place is reused");
        assert!(wheel.remove(key).is_none());
        assert!(wheel.waker(key).is_none());
        assert!(wheel.waker(other).is_some());
    }

    #[test]
    fn an_empty_slot_forgets_what_was_due() {
        let mut wheel = Wheel::new();
        let key = wheel.insert(7, waker().1);
        assert_eq!(wheel.next(), Some(7));
        wheel.remove(key);
        assert_eq!(wheel.next(), None);
    }

    #[test]
    fn a_tick_begins_at_its_first_nanosecond() {
        let cases = [(0, 0, 0), (1, 1, 0), (999_999, 1, 0), (1_000_000, 1, 1), (1_000_001, 2, 1)];
        for (ns, first_from, last_by) in cases {
            let time = Duration::from_nanos(ns);
            assert_eq!((first_tick_from(time), last_tick_by(time)), (first_from, last_by), "{ns}");
        }
        assert_eq!(last_tick_by(Duration::MAX), u64::MAX / TICK_NS, "the last tick of all");
    }

    #[derive(Debug, Clone)]
    enum Step {
        Insert(u64),
        Remove(usize),
        Expire(u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let tick = prop_oneof![0..2_000_u64, 0..u64::MAX];
        let step = prop_oneof![
            4 => tick.clone().prop_map(Step::Insert),
            3 => any::<usize>().prop_map(Step::Remove),
            1 => tick.prop_map(Step::Expire),
        ];
        prop::collection::vec(step, 0..200)
    }

    proptest! {
        /// A fake clock passes budgets' ends in steps of any length, and the wheel is looked at
        /// after each step: whoever is woken is at its end, and nobody is overlooked for a tick.
        #[test]
        fn nobody_is_woken_before_its_end(
            ends in prop::collection::vec(0..20_000_000_u64, 1..50),
            steps in prop::collection::vec(1..3_000_000_u64, 1..50),
        ) {
            let mut wheel = Wheel::new();
            let ends: Vec<_> = ends.into_iter().map(Duration::from_nanos).collect();
            let counts: Vec<_> = ends.iter().map(|&end| {
                let (count, waker) = waker();
                wheel.insert(first_tick_from(end), waker);
                count
            }).collect();
            let mut now = Duration::ZERO;
            for step in steps {
                now += Duration::from_nanos(step);
                let mut due = Vec::new();
                wheel.expire(last_tick_by(now), &mut due);
                due.into_iter().for_each(Waker::wake);
                for (end, count) in ends.iter().zip(&counts) {
                    let is_woken = count.0.load(Ordering::Relaxed) > 0;
                    prop_assert!(!is_woken || *end <= now, "{end:?} was woken at {now:?}");
                    let is_late = *end + Duration::from_nanos(TICK_NS) <= now;
                    prop_assert!(is_woken || !is_late, "{end:?} still waits at {now:?}");
                }
            }
        }

        /// Each waker is woken once, when a sorted map says so, unless it is removed.
        #[test]
        fn it_does_as_a_sorted_map(steps in steps()) {
            let mut wheel = Wheel::new();
            let mut model: BTreeMap<(u64, usize), (Key, Arc<Count>)> = BTreeMap::new();
            for (number, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Insert(tick) => {
                        let (count, waker) = waker();
                        model.insert((tick, number), (wheel.insert(tick, waker), count));
                    }
                    Step::Remove(choice) if !model.is_empty() => {
                        let at = *model.keys().nth(choice % model.len()).unwrap();
                        let (key, _) = model.remove(&at).unwrap();
                        prop_assert!(wheel.remove(key).is_some());
                        prop_assert!(wheel.remove(key).is_none());
                    }
                    Step::Remove(_) => {}
                    Step::Expire(tick) => {
                        let mut due = Vec::new();
                        wheel.expire(tick, &mut due);
                        due.into_iter().for_each(Waker::wake);
                        let later = model.split_off(&(tick.saturating_add(1), 0));
                        for (_, count) in mem::replace(&mut model, later).into_values() {
                            prop_assert_eq!(count.0.load(Ordering::Relaxed), 1);
                        }
                        for (_, count) in model.values() {
                            prop_assert_eq!(count.0.load(Ordering::Relaxed), 0);
                        }
                    }
                }
                let first = model.first_key_value().map(|(&(tick, _), _)| tick);
                match (wheel.next(), first) {
                    (Some(next), Some(first)) => prop_assert!(next <= first),
                    (next, first) => prop_assert_eq!(next, first),
                }
            }
        }
    }
}
