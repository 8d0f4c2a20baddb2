//! The references to one open span, which any thread may count.

// `cargo xtask loom` compiles this file alone.
use crate::sync::atomic::{AtomicU64, Ordering};

/// The number of the slot's turn, and how many references its span has. A slot without a span has
/// none.
#[derive(Default)]
pub(super) struct References(AtomicU64);

const TURN_SHIFT: u32 = u32::BITS;
/// The number of a turn wraps after so many spans: see [`Number`](super::slots::Number).
const TURNS: u64 = 1 << 14;

impl References {
    /// Begins the turn of a span that has one reference. Returns the turn's number. The caller is
    /// the only one that may begin it.
    #[inline]
    pub(super) fn begin(&self) -> u64 {
        // ORDERING: Relaxed: whoever had the slot before has passed it to this thread.
        let turn = ((self.0.load(Ordering::Relaxed) >> TURN_SHIFT) + 1) % TURNS;
        // ORDERING: Relaxed: whoever has the span's number has it from this thread.
        self.0.store(turn << TURN_SHIFT | 1, Ordering::Relaxed);
        turn
    }

    /// Adds a reference. Returns `false` if the span of that turn is closed.
    #[inline]
    pub(super) fn add(&self, turn: u64) -> bool {
        // ORDERING: Relaxed: the caller has a reference, or will use nothing of the span.
        let add = |word| is_open(word, turn).then_some(word + 1);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok()
    }

    /// Removes a reference. Returns `true` if it was the last one, so that the caller closes the
    /// span.
    #[inline]
    pub(super) fn remove(&self, turn: u64) -> bool {
        let remove = |word| is_open(word, turn).then(|| word - 1);
        // ORDERING: Release, with the Acquire of the last one: what other threads did with the span
        // happened before it closes.
        let before = self.0.fetch_update(Ordering::AcqRel, Ordering::Relaxed, remove);
        before.is_ok_and(|before| !is_open(before - 1, turn))
    }

    /// Returns whether the span of that turn is open.
    #[inline]
    pub(super) fn are_any(&self, turn: u64) -> bool {
        // ORDERING: Relaxed: the caller has a reference, or learns nothing but the state.
        is_open(self.0.load(Ordering::Relaxed), turn)
    }
}

fn is_open(word: u64, turn: u64) -> bool {
    word >> TURN_SHIFT == turn && word & !(u64::MAX << TURN_SHIFT) != 0
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_last_reference_closes_and_the_next_turn_has_its_own() {
        let references = References::default();
        let turn = references.begin();
        assert!(references.add(turn) && references.are_any(turn));
        assert!(!references.remove(turn));
        assert!(references.remove(turn));
        assert!(!references.are_any(turn) && !references.add(turn) && !references.remove(turn));
        let next = references.begin();
        assert_ne!(next, turn);
        assert!(references.are_any(next));
        assert!(!references.are_any(turn) && !references.add(turn) && !references.remove(turn));
    }

    #[test]
    fn the_number_of_a_turn_wraps() {
        let references = References::default();
        let first = references.begin();
        for _ in 1..TURNS {
            assert!(references.begin() < TURNS);
        }
        assert_eq!(references.begin(), first);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    /// The cell stands for what a thread does with a span while it has a reference.
    #[test]
    fn one_thread_closes_a_span_after_all_others_have_used_it() {
        loom::model(|| {
            let references = Arc::new(References::default());
            let span = Arc::new(UnsafeCell::new(0));
            let turn = references.begin();
            assert!(references.add(turn));
            let (other, used) = (Arc::clone(&references), Arc::clone(&span));
            let close = move |references: &References, span: &UnsafeCell<u32>| {
                span.with(|_| {});
                let is_last = references.remove(turn);
                if is_last {
                    span.with_mut(|_| {});
                }
                is_last
            };
            let other = thread::spawn(move || close(&other, &used));
            let is_last = close(&references, &span);
            assert_ne!(other.join().unwrap(), is_last);
            assert!(!references.are_any(turn));
        });
    }

    #[test]
    fn no_reference_is_lost() {
        loom::model(|| {
            let references = Arc::new(References::default());
            let turn = references.begin();
            let other = Arc::clone(&references);
            let other = thread::spawn(move || assert!(other.add(turn)));
            assert!(references.add(turn));
            other.join().unwrap();
            assert!(!references.remove(turn) && !references.remove(turn));
            assert!(references.remove(turn));
        });
    }
}
