//! The two words in which a reading is published, without a lock.

use core::num::NonZeroU64;

use crate::sync::{AtomicU64, Ordering, const_fn};

/// A tick, and the Unix time at it in ns. Neither is 0, which is published when there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reading {
    pub(crate) ticks: NonZeroU64,
    pub(crate) unix_ns: NonZeroU64,
}

impl Reading {
    /// A value of 0 becomes 1, which is a unit late and then the nearest that can be told.
    pub(crate) fn new(ticks: u64, unix_ns: u64) -> Self {
        let or_one = |value| NonZeroU64::new(value).unwrap_or(NonZeroU64::MIN);
        Self { ticks: or_one(ticks), unix_ns: or_one(unix_ns) }
    }
}

/// A reading or none. Both words are on the same cache lines, since they are written together.
///
/// The Unix time is written first. A tick is raised only by one whose Unix time was published, so
/// the Unix time is never the older of the two.
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

    /// The tick, and a Unix time that is not older.
    pub(crate) fn reading(&self) -> Option<Reading> {
        let ticks = self.ticks.get_with_earlier_writes()?;
        Some(Reading { ticks, unix_ns: self.unix_ns()? })
    }

    /// Publishes what `read` gives, unless there is none.
    ///
    /// `read` is called again if another refresh came between: what that one published may have been
    /// read long before.
    pub(crate) fn refresh(&self, read: impl Fn() -> Reading) {
        let Self { ticks, unix_ns } = self;
        let mut seen = unix_ns.get_with_earlier_writes();
        // None is left as it is. So a refresh that the last drop overtakes publishes nothing, rather
        // than something that nobody would ever refresh again.
        while let Some(current) = seen {
            let now = read();
            match unix_ns.replace(current, now.unix_ns) {
                Ok(()) => return ticks.raise(now.ticks),
                Err(other) => seen = other,
            }
        }
    }

    /// Publishes `reading` where there is none. Only for one who holds the lock.
    pub(crate) fn set(&self, reading: Reading) {
        self.unix_ns.set(reading.unix_ns);
        self.ticks.set(reading.ticks);
    }

    /// Publishes that there is none. Only for one who holds the lock.
    pub(crate) fn clear(&self) {
        self.ticks.clear();
        self.unix_ns.clear();
    }
}

/// A value or none, in one word.
#[derive(Debug)]
struct Word(AtomicU64);

/// What a [`Word`] holds if it holds no value.
const NONE: u64 = 0;

impl Word {
    const_fn! {
        const fn none() -> Self {
            Self(AtomicU64::new(NONE))
        }
    }

    #[inline]
    fn get(&self) -> Option<NonZeroU64> {
        // ORDERING: Relaxed, since the value is all that a reader wants. That values don't go back
        // needs no more: of two loads of one word, the later never sees the earlier write.
        NonZeroU64::new(self.0.load(Ordering::Relaxed))
    }

    /// [`get`](Self::get) by one who also goes by what was done before the value was written.
    fn get_with_earlier_writes(&self) -> Option<NonZeroU64> {
        // ORDERING: Acquire, with the Release in `replace`, `raise` and `set`. Whoever sees a Unix
        // time reads the clock after its writer did, and gets no earlier a tick; whoever sees a tick
        // sees its Unix time or a later one.
        NonZeroU64::new(self.0.load(Ordering::Acquire))
    }

    /// Makes it `new` if it is `current`; otherwise what it is.
    fn replace(&self, current: NonZeroU64, new: NonZeroU64) -> Result<(), Option<NonZeroU64>> {
        let (current, new) = (current.get(), new.get());
        // ORDERING: Release, so that who sees the value has the clock's reading before its own. If
        // it fails, Acquire for the sake of the reading that the caller then takes.
        let result = self.0.compare_exchange(current, new, Ordering::Release, Ordering::Acquire);
        result.map(drop).map_err(NonZeroU64::new)
    }

    /// Makes it at least `value`, unless it is none.
    fn raise(&self, value: NonZeroU64) {
        // ORDERING: Release, with the Acquire in `get_with_earlier_writes`: the Unix time of that
        // reading was written before. Relaxed otherwise, since the exchange checks what was seen.
        let _ = self.0.fetch_update(Ordering::Release, Ordering::Relaxed, |current| {
            (current != NONE && current < value.get()).then_some(value.get())
        });
    }

    /// Makes it `value`. Only for one who holds the lock and knows that it is none.
    fn set(&self, value: NonZeroU64) {
        // ORDERING: Release, as in `replace` and `raise`.
        self.0.store(value.get(), Ordering::Release);
    }

    /// Makes it none. Only for one who holds the lock.
    fn clear(&self) {
        // An exchange like those of `raise` and `replace`, after one of which it comes: loom would let a
        // store come between such a one and the value that it replaced.
        // ORDERING: Relaxed: none publishes nothing, and who still sees a value is merely as early.
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

    /// A clock that two threads read: what happens after a reading reads no less.
    struct Clock(AtomicU64);

    impl Clock {
        /// Time goes on by a store that nobody synchronizes with, as a counter does: a reader may be
        /// late, unless it has seen another's reading.
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

    /// Whoever sees a tick sees its Unix time or a later one.
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

    /// The same of a reading that is published where there was none.
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

    /// Of two refreshes, the one that sees the other's Unix time reads the clock after it: Unix time
    /// does not go back.
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
            // The other one's clock read 3, and so did this one's if it came later.
            assert_eq!(shared.0.reading(), Some(Reading::new(3, 103)));
        });
    }

    /// A refresh that the clearing overtakes publishes nothing.
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
