//! A stack of free slots, which any thread may use without a lock.

// `cargo xtask loom` compiles this file alone.
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// The slot on top, and how many slots were taken so far. The count prevents an ABA fault: if a
/// slot was taken and freed between a thread's load and its exchange, the slot on top may be the
/// same, but the slot below it may not. The count differs, so the exchange fails.
///
/// Each slot in the stack names the next one in its [`Below`].
pub(super) struct Stack(AtomicU64);

/// The index of the next slot of the stack, plus one, or zero for the last. A slot that is taken
/// keeps another number here, because a word of its own would need another line.
#[derive(Default)]
pub(super) struct Below(AtomicU32);

impl Below {
    /// Keeps a number in a slot that is taken.
    #[inline]
    pub(super) fn keep(&self, number: u32) {
        // ORDERING: Relaxed: a thread that reads the number of an open span received the span from
        // this thread. If a `pop` reads it, the slot was taken meanwhile, and the exchange of that
        // `pop` fails.
        self.0.store(number, Ordering::Relaxed);
    }

    /// Returns the number that the slot keeps.
    #[inline]
    pub(super) fn kept(&self) -> u32 {
        // ORDERING: Relaxed: a thread that reads the number received the span from the thread that
        // stored it, or loses the exchange of `pop`, or asks `Slot::begun_unheld` afterwards.
        self.0.load(Ordering::Relaxed)
    }
}

const COUNT_SHIFT: u32 = u32::BITS;

impl Stack {
    #[cfg(not(all(loom, test)))]
    pub(super) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Adds a slot.
    pub(super) fn push(&self, index: u32, below: &Below) {
        // ORDERING: Release, with the Acquire fence of `Slot::begun_unheld`: a thread that does not
        // hold the span and reads `below` as its number then sees that the span has left the slot.
        fence(Ordering::Release);
        // ORDERING: Relaxed: the exchange decides.
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            let (count, top) = parts(word);
            // ORDERING: Relaxed: published by the exchange.
            below.0.store(top, Ordering::Relaxed);
            // ORDERING: Release, with the Acquire of `pop`: the thread that takes the slot sees
            // that it is cleared and that `below` is written.
            let pushed = self.0.compare_exchange_weak(
                word,
                of(count, index + 1),
                Ordering::Release,
                Ordering::Relaxed,
            );
            match pushed {
                Ok(_) => return,
                Err(now) => word = now,
            }
        }
    }

    /// Takes a slot. `below` returns the one that belongs to an index.
    pub(super) fn pop<'a>(&self, below: impl Fn(u32) -> Option<&'a Below>) -> Option<u32> {
        // ORDERING: Acquire, with the Release of `push`: the slot is cleared, and its `below` is
        // written. A `pop` by another thread in between continues the release sequence.
        let mut word = self.0.load(Ordering::Acquire);
        loop {
            let (count, top) = parts(word);
            let index = top.checked_sub(1)?;
            // ORDERING: Relaxed: ordered by the load of the word. If the slot was taken since, the
            // exchange fails.
            let next = below(index)?.0.load(Ordering::Relaxed);
            let popped = self.0.compare_exchange_weak(
                word,
                of(count.wrapping_add(1), next),
                // ORDERING: Relaxed: each `pop` raises the count, so an equal word is the one that
                // was loaded with Acquire.
                Ordering::Relaxed,
                // ORDERING: Acquire, with the Release of `push`: the next attempt uses this word.
                Ordering::Acquire,
            );
            match popped {
                Ok(_) => return Some(index),
                Err(now) => word = now,
            }
        }
    }
}

/// Returns the count, and the slot on top.
#[expect(clippy::cast_possible_truncation, reason = "takes the halves")]
const fn parts(word: u64) -> (u32, u32) {
    ((word >> COUNT_SHIFT) as u32, word as u32)
}

fn of(count: u32, top: u32) -> u64 {
    u64::from(count) << COUNT_SHIFT | u64::from(top)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::HashSet;
    use std::thread;

    use super::*;

    #[test]
    fn the_slot_that_was_freed_last_is_taken_first() {
        let (stack, below) = (Stack::new(), [const { Below(AtomicU32::new(0)) }; 3]);
        let pop = || stack.pop(|index| below.get(index as usize));
        assert_eq!(pop(), None);
        for index in [2, 0, 1] {
            stack.push(index, &below[index as usize]);
        }
        assert_eq!([pop(), pop(), pop(), pop()], [Some(1), Some(0), Some(2), None]);
    }

    #[test]
    fn threads_take_each_slot_once() {
        const EACH: u32 = 100;
        let stack = Stack::new();
        let below: Vec<Below> = (0..4 * EACH).map(|_| Below::default()).collect();
        let pop = || stack.pop(|index| below.get(index as usize));
        thread::scope(|scope| {
            for thread in 0..4 {
                let (stack, below) = (&stack, &below);
                scope.spawn(move || {
                    for round in 0..1000 {
                        let own = thread * EACH + round % EACH;
                        if round < EACH {
                            stack.push(own, &below[own as usize]);
                        } else if let Some(index) = stack.pop(|index| below.get(index as usize)) {
                            stack.push(index, &below[index as usize]);
                        }
                    }
                });
            }
        });
        let all: HashSet<u32> = core::iter::from_fn(pop).collect();
        assert_eq!(all.len(), below.len());
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    struct Slots {
        stack: Stack,
        below: [Below; 2],
        /// What a slot contains while it is not in the stack.
        contents: [UnsafeCell<u32>; 2],
    }

    impl Slots {
        /// Returns both slots in the stack.
        fn full() -> Arc<Self> {
            let slots = Self {
                stack: Stack(AtomicU64::new(0)),
                below: Default::default(),
                contents: [UnsafeCell::new(0), UnsafeCell::new(0)],
            };
            (0..2).for_each(|index| slots.give(index));
            Arc::new(slots)
        }

        fn give(&self, index: u32) {
            self.contents[index as usize].with_mut(|_| {});
            self.stack.push(index, &self.below[index as usize]);
        }

        fn take(&self) -> Option<u32> {
            let index = self.stack.pop(|index| self.below.get(index as usize))?;
            self.contents[index as usize].with_mut(|_| {});
            // No slot has this index, so `pop` must not use it.
            self.below[index as usize].keep(7);
            Some(index)
        }
    }

    #[test]
    fn a_slot_is_taken_by_one_thread_after_it_was_cleared() {
        loom::model(|| {
            let slots = Slots::full();
            let other = Arc::clone(&slots);
            let other = thread::spawn(move || {
                let first = other.take();
                let second = other.take();
                first.into_iter().for_each(|index| other.give(index));
                second
            });
            let own = slots.take();
            let kept = other.join().unwrap();
            assert!(own.is_none() || own != kept, "{own:?} {kept:?}");
            let left = core::iter::from_fn(|| slots.take()).count();
            let taken = usize::from(own.is_some()) + usize::from(kept.is_some());
            assert_eq!(left + taken, 2);
        });
    }

    /// A thread that took the slot on top, and read an old `below`, would lose the slot below.
    #[test]
    fn the_slot_below_is_not_lost() {
        loom::model(|| {
            let slots = Slots::full();
            let top = slots.take().unwrap();
            let other = Arc::clone(&slots);
            let other = thread::spawn(move || other.give(top));
            let taken = [slots.take(), slots.take()].into_iter().flatten().count();
            other.join().unwrap();
            assert_eq!(taken + core::iter::from_fn(|| slots.take()).count(), 2);
        });
    }

    /// The back end reads the number of a slot without holding the span.
    #[test]
    fn a_number_that_is_overwritten_belongs_to_no_open_span() {
        loom::model(|| {
            let ids = AtomicU64::new(7);
            let slot = Arc::new((Stack(AtomicU64::new(0)), Below::default(), ids));
            slot.1.keep(5);
            let reader = Arc::clone(&slot);
            let reader = thread::spawn(move || {
                let (_, below, id) = &*reader;
                let number = below.kept();
                // ORDERING: Acquire, as in `Slot::begun_unheld`.
                fence(Ordering::Acquire);
                let is_open = id.load(Ordering::Relaxed) == 7;
                assert!(!is_open || number == 5, "{number}");
            });
            // The span leaves the slot.
            slot.2.store(0, Ordering::Relaxed);
            slot.0.push(0, &slot.1);
            reader.join().unwrap();
        });
    }
}
