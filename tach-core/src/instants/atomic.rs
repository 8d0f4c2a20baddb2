//! An instant that threads share.

use core::fmt;

use crate::instants::Instant;
use crate::sync::{AtomicU64, Ordering};

/// An [`Instant`] that threads read and write at once.
///
/// It has the API of [`AtomicU64`](core::sync::atomic::AtomicU64), whose size and alignment it has
/// too, and takes the same orderings: they say what else a thread sees that sees the instant. Which
/// of two instants is the later is told by their ticks. There is no `Default`, since no instant
/// would be a good one.
///
/// # Guarantees
///
/// A [`MonotonicInstant`](crate::MonotonicInstant) is stored as what
/// [`as_unordered`](crate::MonotonicInstant::as_unordered) gives. If it was written with
/// [`Release`](Ordering::Release) or stronger and is read with [`Acquire`](Ordering::Acquire) or
/// stronger, a `MonotonicInstant::now()` after the read is not before it. *Not* promised: the same
/// with weaker orderings, or of an `Instant` on either side.
///
/// # Cost
///
/// That of the same operation on an `AtomicU64`: no clock is read.
///
/// # Examples
///
/// When did any thread last see the peer?
///
/// ```
/// use std::sync::atomic::Ordering;
/// use std::time::Duration;
/// use tach_core::{AtomicInstant, Instant};
///
/// let last_seen = AtomicInstant::new(Instant::now());
/// std::thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| last_seen.fetch_max(Instant::now(), Ordering::Relaxed));
///     }
/// });
/// let silent_for = last_seen.load(Ordering::Relaxed).elapsed();
/// assert!(silent_for < Duration::from_secs(3600));
/// ```
pub struct AtomicInstant {
    ticks: AtomicU64,
}

// ORDERING: here each access has the ordering that the caller asks for, who alone knows what the
// instant publishes. This type publishes nothing by itself: the tick is all there is.
impl AtomicInstant {
    /// Holds `instant` at first.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{AtomicInstant, Instant};
    ///
    /// static NEVER_YET: AtomicInstant = AtomicInstant::new(Instant::from_ticks(0));
    /// ```
    #[must_use]
    #[inline]
    pub const fn new(instant: Instant) -> Self {
        Self { ticks: AtomicU64::new(instant.as_ticks()) }
    }

    /// The instant it holds.
    ///
    /// # Panics
    ///
    /// If `order` is `Release` or `AcqRel`.
    ///
    /// # Examples
    ///
    /// What a `MonotonicInstant` promises is kept by this pair of orderings.
    ///
    /// ```
    /// use std::sync::atomic::Ordering;
    /// use tach_core::{AtomicInstant, MonotonicInstant};
    ///
    /// let shared = AtomicInstant::new(MonotonicInstant::now().as_unordered());
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| {
    ///         shared.store(MonotonicInstant::now().as_unordered(), Ordering::Release);
    ///     });
    ///     let seen = shared.load(Ordering::Acquire);
    ///     assert!(MonotonicInstant::now().as_unordered() >= seen);
    /// });
    /// ```
    #[must_use]
    #[inline]
    pub fn load(&self, order: Ordering) -> Instant {
        // ORDERING: the caller's, see above.
        Instant::from_ticks(self.ticks.load(order))
    }

    /// Makes it hold `instant`.
    ///
    /// # Panics
    ///
    /// If `order` is `Acquire` or `AcqRel`.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::atomic::Ordering;
    /// use tach_core::{AtomicInstant, Instant};
    ///
    /// let started = AtomicInstant::new(Instant::from_ticks(0));
    /// let now = Instant::now();
    /// started.store(now, Ordering::Relaxed);
    /// assert_eq!(started.load(Ordering::Relaxed), now);
    /// ```
    #[inline]
    pub fn store(&self, instant: Instant, order: Ordering) {
        // ORDERING: the caller's, see above.
        self.ticks.store(instant.as_ticks(), order);
    }

    /// Makes it hold `instant`; the one it held before.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::atomic::Ordering;
    /// use tach_core::{AtomicInstant, Instant};
    ///
    /// let last_report = AtomicInstant::new(Instant::now());
    /// let now = Instant::now();
    /// let since_last = now - last_report.swap(now, Ordering::Relaxed);
    /// ```
    #[inline]
    pub fn swap(&self, instant: Instant, order: Ordering) -> Instant {
        // ORDERING: the caller's, see above.
        Instant::from_ticks(self.ticks.swap(instant.as_ticks(), order))
    }

    /// Makes it hold the later of `instant` and the one it holds; the one it held before.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::atomic::Ordering;
    /// use tach_core::{AtomicInstant, Instant};
    ///
    /// let (a, b) = (Instant::from_ticks(1), Instant::from_ticks(2));
    /// let latest = AtomicInstant::new(a);
    /// assert_eq!(latest.fetch_max(b, Ordering::Relaxed), a);
    /// assert_eq!(latest.fetch_max(a, Ordering::Relaxed), b);
    /// assert_eq!(latest.into_inner(), b);
    /// ```
    #[inline]
    pub fn fetch_max(&self, instant: Instant, order: Ordering) -> Instant {
        // ORDERING: the caller's, see above.
        Instant::from_ticks(self.ticks.fetch_max(instant.as_ticks(), order))
    }

    /// Makes it hold the earlier of `instant` and the one it holds; the one it held before.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::atomic::Ordering;
    /// use tach_core::{AtomicInstant, Instant};
    ///
    /// let (a, b) = (Instant::from_ticks(1), Instant::from_ticks(2));
    /// let earliest = AtomicInstant::new(b);
    /// assert_eq!(earliest.fetch_min(a, Ordering::Relaxed), b);
    /// assert_eq!(earliest.fetch_min(b, Ordering::Relaxed), a);
    /// assert_eq!(earliest.into_inner(), a);
    /// ```
    #[inline]
    pub fn fetch_min(&self, instant: Instant, order: Ordering) -> Instant {
        // ORDERING: the caller's, see above.
        Instant::from_ticks(self.ticks.fetch_min(instant.as_ticks(), order))
    }

    /// Makes it hold `new` if it holds `current`; the one it held before.
    ///
    /// `success` orders the exchange, and `failure` the read if there is none.
    ///
    /// # Errors
    ///
    /// The instant it holds, if that is not `current`.
    ///
    /// # Panics
    ///
    /// If `failure` is `Release` or `AcqRel`.
    ///
    /// # Examples
    ///
    /// Of all threads that find a deadline passed, one does the work.
    ///
    /// ```
    /// use std::sync::atomic::Ordering::Relaxed;
    /// use std::time::Duration;
    /// use tach_core::{AtomicInstant, Instant};
    ///
    /// let deadline = AtomicInstant::new(Instant::now());
    /// let (seen, now) = (deadline.load(Relaxed), Instant::now());
    /// let next = now + Duration::from_secs(60);
    /// let is_mine = now >= seen && deadline.compare_exchange(seen, next, Relaxed, Relaxed).is_ok();
    /// assert!(is_mine);
    /// ```
    #[inline]
    pub fn compare_exchange(
        &self,
        current: Instant,
        new: Instant,
        success: Ordering,
        failure: Ordering,
    ) -> Result<Instant, Instant> {
        let (current, new) = (current.as_ticks(), new.as_ticks());
        // ORDERING: the caller's, see above.
        let result = self.ticks.compare_exchange(current, new, success, failure);
        result.map(Instant::from_ticks).map_err(Instant::from_ticks)
    }

    /// [`compare_exchange`](Self::compare_exchange) that may also fail if it does hold `current`.
    ///
    /// In a loop it is the cheaper of the two on some CPUs.
    ///
    /// # Errors
    ///
    /// The instant it holds, if nothing was exchanged; that may be `current`.
    ///
    /// # Panics
    ///
    /// If `failure` is `Release` or `AcqRel`.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::atomic::Ordering::Relaxed;
    /// use std::time::Duration;
    /// use tach_core::{AtomicInstant, Instant};
    ///
    /// let deadline = AtomicInstant::new(Instant::now());
    /// let mut seen = deadline.load(Relaxed);
    /// let later = Duration::from_secs(1);
    /// while let Err(other) = deadline.compare_exchange_weak(seen, seen + later, Relaxed, Relaxed) {
    ///     seen = other;
    /// }
    /// assert_eq!(deadline.into_inner(), seen + later);
    /// ```
    #[inline]
    pub fn compare_exchange_weak(
        &self,
        current: Instant,
        new: Instant,
        success: Ordering,
        failure: Ordering,
    ) -> Result<Instant, Instant> {
        let (current, new) = (current.as_ticks(), new.as_ticks());
        // ORDERING: the caller's, see above.
        let result = self.ticks.compare_exchange_weak(current, new, success, failure);
        result.map(Instant::from_ticks).map_err(Instant::from_ticks)
    }

    /// The instant it holds, when no thread shares it any more.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{AtomicInstant, Instant};
    ///
    /// let now = Instant::now();
    /// assert_eq!(AtomicInstant::new(now).into_inner(), now);
    /// ```
    #[must_use]
    #[inline]
    pub const fn into_inner(self) -> Instant {
        Instant::from_ticks(self.ticks.into_inner())
    }
}

impl From<Instant> for AtomicInstant {
    fn from(instant: Instant) -> Self {
        Self::new(instant)
    }
}

/// As the instant it holds shows itself.
impl fmt::Debug for AtomicInstant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // ORDERING: Relaxed, since what is shown publishes nothing.
        self.load(Ordering::Relaxed).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;
    use std::thread;

    use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

    use super::*;
    use crate::instants::MonotonicInstant;

    const A: Instant = Instant::from_ticks(1_000);
    const B: Instant = Instant::from_ticks(2_000);
    const C: Instant = Instant::from_ticks(u64::MAX);

    #[test]
    fn it_holds_what_was_stored_last() {
        let atomic = AtomicInstant::from(A);
        for order in [Relaxed, Acquire, SeqCst] {
            assert_eq!(atomic.load(order), A);
        }
        for (order, instant) in [(Relaxed, B), (Release, C), (SeqCst, A)] {
            atomic.store(instant, order);
            assert_eq!(atomic.load(Relaxed), instant);
        }
        assert_eq!(atomic.swap(C, AcqRel), A);
        assert_eq!(atomic.into_inner(), C);
    }

    #[test]
    fn the_later_and_the_earlier_are_by_tick() {
        // From what it holds and what comes: what is left by `fetch_max`, and by `fetch_min`.
        for (held, given, later, earlier) in
            [(A, B, B, A), (B, A, B, A), (B, B, B, B), (C, A, C, A)]
        {
            let atomic = AtomicInstant::new(held);
            assert_eq!(atomic.fetch_max(given, Relaxed), held);
            assert_eq!(atomic.into_inner(), later);
            let atomic = AtomicInstant::new(held);
            assert_eq!(atomic.fetch_min(given, Relaxed), held);
            assert_eq!(atomic.into_inner(), earlier);
        }
    }

    #[test]
    fn an_exchange_is_made_only_for_the_current_one() {
        let atomic = AtomicInstant::new(A);
        assert_eq!(atomic.compare_exchange(B, C, AcqRel, Acquire), Err(A));
        assert_eq!(atomic.compare_exchange(A, B, AcqRel, Acquire), Ok(A));
        assert_eq!(atomic.compare_exchange_weak(A, C, Relaxed, Relaxed), Err(B));
        // The weak one may fail for no reason, but not for ever.
        while let Err(held) = atomic.compare_exchange_weak(B, C, Relaxed, Relaxed) {
            assert_eq!(held, B);
        }
        assert_eq!(atomic.into_inner(), C);
    }

    #[test]
    #[cfg_attr(target_family = "wasm", ignore = "a panic ends the program")]
    fn meaningless_orderings_panic() {
        let meaningless: [fn(&AtomicInstant); 8] = [
            |atomic| _ = atomic.load(Release),
            |atomic| _ = atomic.load(AcqRel),
            |atomic| atomic.store(B, Acquire),
            |atomic| atomic.store(B, AcqRel),
            |atomic| _ = atomic.compare_exchange(A, B, SeqCst, Release),
            |atomic| _ = atomic.compare_exchange(A, B, SeqCst, AcqRel),
            |atomic| _ = atomic.compare_exchange_weak(A, B, SeqCst, Release),
            |atomic| _ = atomic.compare_exchange_weak(A, B, SeqCst, AcqRel),
        ];
        for (i, access) in meaningless.into_iter().enumerate() {
            let atomic = AtomicInstant::new(A);
            assert!(catch_unwind(|| access(&atomic)).is_err(), "case {i}");
            assert_eq!(atomic.load(Relaxed), A, "case {i}");
        }
    }

    #[test]
    fn it_shows_itself_as_an_instant() {
        let atomic = AtomicInstant::new(A);
        assert_eq!(format!("{atomic:?}"), format!("{A:?}"));
        assert_eq!(format!("{atomic:#?}"), format!("{A:#?}"));
    }

    #[test]
    #[cfg_attr(target_family = "wasm", ignore = "there are no threads")]
    fn of_many_threads_the_latest_and_the_earliest_stay() {
        const THREADS: u64 = 8;
        const EACH: u64 = 10_000;
        let latest = AtomicInstant::new(Instant::from_ticks(0));
        let earliest = AtomicInstant::new(Instant::from_ticks(u64::MAX));
        thread::scope(|scope| {
            for i in 0..THREADS {
                let (latest, earliest) = (&latest, &earliest);
                scope.spawn(move || {
                    // Each thread goes through numbers of its own, up and down by turns.
                    for k in 0..EACH {
                        let k = if k % 2 == 0 { k } else { EACH - k };
                        let instant = Instant::from_ticks(1 + k * THREADS + i);
                        latest.fetch_max(instant, Relaxed);
                        earliest.fetch_min(instant, Relaxed);
                    }
                });
            }
        });
        // For each thread the even numbers go up to EACH - 2, and the odd ones to EACH - 1.
        assert_eq!(latest.into_inner().as_ticks(), EACH * THREADS);
        assert_eq!(earliest.into_inner().as_ticks(), 1);
    }

    #[test]
    #[cfg_attr(target_family = "wasm", ignore = "there are no threads")]
    fn a_monotonic_instant_passed_on_is_not_after_the_next() {
        let shared = AtomicInstant::new(MonotonicInstant::now().as_unordered());
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..50_000 {
                        let seen = shared.load(Acquire);
                        let now = MonotonicInstant::now().as_unordered();
                        assert!(now >= seen, "{now:?} was taken after {seen:?} was seen");
                        shared.store(now, Release);
                    }
                });
            }
        });
    }
}
