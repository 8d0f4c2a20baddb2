//! The references to one open span, which any thread may count, and the facts that a thread may
//! read without a reference.

// `cargo xtask loom` compiles this file alone.
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// The number of the slot's turn, and how many references its span has. A slot without a span has
/// none.
#[derive(Default)]
pub(super) struct References {
    word: AtomicU64,
    /// The number of the parent, or zero.
    parent: AtomicU64,
    /// The code of the callsite, or zero.
    callsite: AtomicU32,
}

/// What the span of a slot starts with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Facts {
    pub(super) parent: u64,
    pub(super) callsite: u32,
}

/// The bits of a turn, which are above those of the count. Whoever keeps the number of a closed span
/// while its slot has four billion others would reach one of those. Four billion references fill the
/// count: their handles alone would take 60 GB.
pub(super) const TURN: u64 = u64::MAX << u32::BITS;
const NEXT: u64 = 1 << u32::BITS;

impl References {
    /// Begins the turn of a span that has one reference. Returns the [bits](TURN) of the turn. The
    /// caller is the only one that may begin it.
    #[inline]
    pub(super) fn begin(&self, facts: Facts) -> u64 {
        // ORDERING: Relaxed: whoever had the slot before has passed it to this thread.
        let turn = (self.word.load(Ordering::Relaxed) & TURN).wrapping_add(NEXT);
        // ORDERING: Release, with the Acquire fence of `facts`: whoever reads a fact that is
        // written below sees afterwards that the span before is closed.
        fence(Ordering::Release);
        // ORDERING: Relaxed: whoever has the span's number has it from this thread.
        self.parent.store(facts.parent, Ordering::Relaxed);
        self.callsite.store(facts.callsite, Ordering::Relaxed);
        self.word.store(turn | 1, Ordering::Relaxed);
        turn
    }

    /// Adds a reference. Returns `false` if the span of that turn is closed.
    #[inline]
    pub(super) fn add(&self, turn: u64) -> bool {
        // ORDERING: Relaxed: the caller has a reference, or will use nothing of the span.
        let add = |word| is_open(word, turn).then_some(word + 1);
        self.word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok()
    }

    /// Removes a reference. Returns `true` if it was the last one, so that the caller closes the
    /// span.
    #[inline]
    pub(super) fn remove(&self, turn: u64) -> bool {
        let remove = |word| is_open(word, turn).then(|| word - 1);
        // ORDERING: Release, with the Acquire of the last one: what other threads did with the span
        // happened before it closes.
        let before = self.word.fetch_update(Ordering::AcqRel, Ordering::Relaxed, remove);
        before.is_ok_and(|before| before - 1 == turn)
    }

    /// Returns whether the span of that turn is open.
    #[inline]
    pub(super) fn are_any(&self, turn: u64) -> bool {
        // ORDERING: Relaxed: the caller has a reference, or learns nothing but the state.
        is_open(self.word.load(Ordering::Relaxed), turn)
    }

    /// Returns the facts of the span of that turn, unless the span is closed.
    #[inline]
    pub(super) fn facts(&self, turn: u64) -> Option<Facts> {
        let facts = self.last_facts();
        // ORDERING: Acquire, with the Release fence of `begin`.
        fence(Ordering::Acquire);
        self.are_any(turn).then_some(facts)
    }

    /// Returns the facts of the span whose last reference the caller has removed.
    #[inline]
    pub(super) fn last_facts(&self) -> Facts {
        // ORDERING: Relaxed: the caller has the span's number from the thread that wrote the facts.
        Facts {
            parent: self.parent.load(Ordering::Relaxed),
            callsite: self.callsite.load(Ordering::Relaxed),
        }
    }
}

#[inline]
const fn is_open(word: u64, turn: u64) -> bool {
    // The turn is the same, and the count is not zero.
    word.wrapping_sub(turn).wrapping_sub(1) < u32::MAX as u64
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_last_reference_closes_and_the_next_turn_has_its_own() {
        let references = References::default();
        let facts = Facts { parent: 3, callsite: 4 };
        let turn = references.begin(facts);
        assert!(references.add(turn) && references.are_any(turn));
        assert_eq!(references.facts(turn), Some(facts));
        assert!(!references.remove(turn));
        assert!(references.remove(turn));
        assert!(!references.are_any(turn) && !references.add(turn) && !references.remove(turn));
        assert_eq!((references.facts(turn), references.last_facts()), (None, facts));
        let next = references.begin(Facts::default());
        assert_ne!(next, turn);
        assert!(references.are_any(next));
        assert!(!references.are_any(turn) && !references.add(turn) && !references.remove(turn));
    }

    #[test]
    fn the_number_of_a_turn_wraps() {
        let references = References { word: AtomicU64::new(TURN), ..References::default() };
        let turn = references.begin(Facts::default());
        assert_eq!(turn, 0);
        assert!(references.are_any(turn) && !references.are_any(TURN) && !references.are_any(NEXT));
        assert!(references.remove(turn) && !references.are_any(turn));
        assert_eq!(references.begin(Facts::default()), NEXT);
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
            let turn = references.begin(Facts::default());
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
            let turn = references.begin(Facts::default());
            let other = Arc::clone(&references);
            let other = thread::spawn(move || assert!(other.add(turn)));
            assert!(references.add(turn));
            other.join().unwrap();
            assert!(!references.remove(turn) && !references.remove(turn));
            assert!(references.remove(turn));
        });
    }

    /// The reader has an old number, and no reference.
    #[test]
    fn a_reader_without_a_reference_takes_no_fact_of_the_next_span() {
        loom::model(|| {
            let references = Arc::new(References::default());
            let (facts, next) =
                (Facts { parent: 1, callsite: 1 }, Facts { parent: 2, callsite: 2 });
            let turn = references.begin(facts);
            let reader = Arc::clone(&references);
            let reader = thread::spawn(move || {
                let read = reader.facts(turn);
                assert!(read.is_none_or(|read| read == facts), "{read:?}");
            });
            assert!(references.remove(turn));
            references.begin(next);
            reader.join().unwrap();
        });
    }
}
