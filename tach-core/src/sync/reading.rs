//! A reading of the clock, published in two words without a lock.

use core::num::NonZeroU64;

use crate::sync::{AtomicU64, Ordering, const_fn};

/// A tick, and the Unix time at it in ns. Neither is 0, which stands for no reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reading {
    pub(crate) ticks: NonZeroU64,
    pub(crate) unix_ns: NonZeroU64,
}

impl Reading {
    /// Creates a reading. A value of 0 becomes 1, one unit late, which is the nearest that can be
    /// stored.
    pub(crate) fn new(ticks: u64, unix_ns: u64) -> Self {
        let or_one = |value| NonZeroU64::new(value).unwrap_or(NonZeroU64::MIN);
        Self { ticks: or_one(ticks), unix_ns: or_one(unix_ns) }
    }
}

/// A published reading, or none. Both words are on the same cache lines, since they are written
/// together.
///
/// The Unix time is written first, and a thread raises the tick only after it has published its
/// Unix time. So the Unix time is never the older of the two.
#[derive(Debug)]
pub(crate) struct Words {
    ticks: Word,
    unix_ns: Word,
}

impl Words {
    const_fn! {
        pub(crate) const fn none() -> Self {
            Self { ticks: Word::none(), unix_ns: Word::none() }
        }
    }

    #[inline]
    pub(crate) fn ticks(&self) -> Option<NonZeroU64> {
        self.ticks.get()
    }

    #[inline]
    pub(crate) fn unix_ns(&self) -> Option<NonZeroU64> {
        self.unix_ns.get()
    }

    /// Returns the tick, and a Unix time that is not older.
    pub(crate) fn reading(&self) -> Option<Reading> {
        let ticks = self.ticks.get_with_earlier_writes()?;
        Some(Reading { ticks, unix_ns: self.unix_ns()? })
    }

    /// Publishes the reading that `read` returns, if there is a reading to replace.
    ///
    /// If another refresh published in between, calls `read` again: the other thread may have taken
    /// its reading long before it published.
    pub(crate) fn refresh(&self, read: impl Fn() -> Reading) {
        let Self { ticks, unix_ns } = self;
        let mut seen = unix_ns.get_with_earlier_writes();
        // If there is no reading, publish none. Otherwise a refresh that loses the race against the
        // last `clear` would leave a reading that no thread ever refreshes.
        while let Some(current) = seen {
            let now = read();
            match unix_ns.replace(current, now.unix_ns) {
                Ok(()) => return ticks.raise(now.ticks),
                Err(other) => seen = other,
            }
        }
    }

    /// Publishes `reading` where there is none. The caller must hold the refreshers' lock.
    pub(crate) fn set(&self, reading: Reading) {
        self.unix_ns.set(reading.unix_ns);
        self.ticks.set(reading.ticks);
    }

    /// Removes the reading. The caller must hold the refreshers' lock.
    pub(crate) fn clear(&self) {
        self.ticks.clear();
        self.unix_ns.clear();
    }
}

/// A value or none, in one word.
#[derive(Debug)]
struct Word(AtomicU64);

/// The content of a [`Word`] that has no value.
const NONE: u64 = 0;

impl Word {
    const_fn! {
        const fn none() -> Self {
            Self(AtomicU64::new(NONE))
        }
    }

    #[inline]
    fn get(&self) -> Option<NonZeroU64> {
        // ORDERING: Relaxed. A reader uses only the value. Values don't go back, since of two loads
        // of one word the later never sees the earlier write.
        NonZeroU64::new(self.0.load(Ordering::Relaxed))
    }

    /// Returns the value as [`get`](Self::get) does, and makes the writer's earlier stores visible.
    fn get_with_earlier_writes(&self) -> Option<NonZeroU64> {
        // ORDERING: Acquire, pairs with the Release in `replace`, `raise` and `set`. A thread that
        // sees a Unix time reads the clock after that time's writer did, and gets no earlier tick.
        // A thread that sees a tick sees its Unix time or a later one.
        NonZeroU64::new(self.0.load(Ordering::Acquire))
    }

    /// Changes the value from `current` to `new`. If the value is not `current`, returns the actual
    /// one as the error.
    fn replace(&self, current: NonZeroU64, new: NonZeroU64) -> Result<(), Option<NonZeroU64>> {
        let (current, new) = (current.get(), new.get());
        // ORDERING: Release, pairs with the Acquire here and in `get_with_earlier_writes`: a thread
        // that sees the value reads the clock after this thread did. Acquire on failure, for the
        // reading that the caller takes next.
        let result = self.0.compare_exchange(current, new, Ordering::Release, Ordering::Acquire);
        result.map(drop).map_err(NonZeroU64::new)
    }

    /// Raises the value to at least `value`, unless there is none.
    fn raise(&self, value: NonZeroU64) {
        // ORDERING: Release, pairs with the Acquire in `get_with_earlier_writes`: publishes the
        // reading's Unix time, which was written before. Relaxed otherwise: the exchange checks the
        // value seen.
        let _ = self.0.fetch_update(Ordering::Release, Ordering::Relaxed, |current| {
            (current != NONE && current < value.get()).then_some(value.get())
        });
    }

    /// Stores `value` where there was none.
    fn set(&self, value: NonZeroU64) {
        // ORDERING: Release, pairs with the Acquire in `get_with_earlier_writes`: publishes the
        // clock's reading and, if this is the tick, its Unix time.
        self.0.store(value.get(), Ordering::Release);
    }

    fn clear(&self) {
        // An exchange, not a store: loom would let a plain store come between an exchange of
        // `raise` or `replace` and the value that the exchange replaced.
        // ORDERING: Relaxed. The removal publishes nothing, and a reader that still sees a value
        // behaves as if it had read earlier.
        self.0.swap(NONE, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn zero_stands_for_no_reading() {
        assert_eq!(Reading::new(0, 0), Reading::new(1, 1));
        assert_ne!(Reading::new(1, 1), Reading::new(2, 2));
    }

    #[test]
    fn none_is_neither_raised_nor_replaced() {
        let [low, high] = [5, 9].map(|n| Reading::new(n, n).ticks);
        let word = Word::none();
        word.raise(high);
        assert_eq!(word.replace(low, high), Err(None));
        assert_eq!(word.get(), None);
        word.set(low);
        assert_eq!(word.replace(high, low), Err(Some(low)));
        word.raise(high);
        assert_eq!(word.get(), Some(high));
        word.raise(low);
        assert_eq!(word.get_with_earlier_writes(), Some(high));
        assert_eq!(word.replace(high, low), Ok(()));
        word.clear();
        word.raise(high);
        assert_eq!(word.get(), None);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    /// A clock that two threads read: a read that happens after another returns no less.
    struct Clock(AtomicU64);

    impl Clock {
        /// Reads the clock. Like a counter, it advances by a store that synchronizes with nobody: a
        /// read may be late, unless the reader has seen another thread's reading.
        fn read(&self) -> Reading {
            let n = self.0.load(Ordering::Relaxed);
            Reading::new(n, 100 + n)
        }
    }

    fn words() -> Words {
        let words = Words::none();
        words.set(Reading::new(1, 101));
        words
    }

    /// A thread that sees a tick sees its Unix time or a later one.
    #[test]
    fn loom_a_reading_is_not_torn() {
        loom::model(|| {
            let words = Arc::new(words());
            let reader = thread::spawn({
                let words = words.clone();
                move || {
                    let Reading { ticks, unix_ns } = words.reading().unwrap();
                    assert!(unix_ns.get() >= 100 + ticks.get());
                }
            });
            words.refresh(|| Reading::new(2, 102));
            reader.join().unwrap();
        });
    }

    #[test]
    fn loom_the_first_reading_is_not_torn() {
        loom::model(|| {
            let words = Arc::new(Words::none());
            let reader = thread::spawn({
                let words = words.clone();
                move || {
                    if words.ticks.get_with_earlier_writes().is_some() {
                        assert!(words.unix_ns().is_some());
                    }
                }
            });
            words.set(Reading::new(2, 102));
            reader.join().unwrap();
        });
    }

    /// Unix time does not go back: of two refreshes, the one that sees the other's Unix time reads
    /// the clock after it.
    #[test]
    fn loom_unix_time_does_not_go_back() {
        loom::model(|| {
            let shared = Arc::new((words(), Clock(AtomicU64::new(2))));
            let refresh = |shared: &(Words, Clock)| {
                let before = shared.0.unix_ns().unwrap();
                shared.0.refresh(|| shared.1.read());
                let after = shared.0.unix_ns().unwrap();
                assert!(after >= before, "{after} after {before}");
            };
            let other = thread::spawn({
                let shared = shared.clone();
                move || {
                    shared.1.0.store(3, Ordering::Relaxed);
                    refresh(&shared);
                }
            });
            refresh(&shared);
            other.join().unwrap();
            // The other thread's read returned 3, and so did this thread's if it came later.
            assert_eq!(shared.0.reading(), Some(Reading::new(3, 103)));
        });
    }

    #[test]
    fn loom_nothing_is_left_after_the_clearing() {
        loom::model(|| {
            let words = Arc::new(words());
            let other = thread::spawn({
                let words = words.clone();
                move || words.refresh(|| Reading::new(2, 102))
            });
            words.clear();
            other.join().unwrap();
            assert_eq!((words.ticks(), words.unix_ns()), (None, None));
        });
    }
}
