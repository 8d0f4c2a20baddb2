//! An instant that threads share.

use core::fmt;

use crate::instants::Instant;
use crate::line::{shifted_tick, unshifted_tick};
use crate::sync::{AtomicU64, Ordering};

/// An [`Instant`] that threads read and write concurrently.
///
/// It has the size and the alignment of an [`AtomicU64`], whose operations of the same names have
/// the same orderings. `compare_exchange` in a loop makes any other. Instants are compared by their
/// ticks.
///
/// # Guarantees
///
/// If a [`MonotonicInstant`](crate::MonotonicInstant), converted by `into`, is written with
/// [`Release`](Ordering::Release) or stronger and read with [`Acquire`](Ordering::Acquire) or
/// stronger, a `MonotonicInstant::now()` after the read does not precede it. *Not* promised: the
/// same with weaker orderings, or with an `Instant` on either side.
///
/// # Cost
///
/// The same operation on an `AtomicU64`. No clock is read.
///
/// # Examples
///
/// The time since any thread last saw the peer:
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
    /// The shifted tick, so that the greater of two numbers belongs to the later instant.
    shifted: AtomicU64,
}

// ORDERING: each access has the ordering that the caller passes, since only the caller knows which
// data the instant publishes. This type publishes nothing but the tick.
impl AtomicInstant {
    /// Creates an atomic that holds `instant`.
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
        Self { shifted: AtomicU64::new(to_shifted(instant)) }
    }

    /// Returns the instant.
    ///
    /// # Panics
    ///
    /// If `order` is `Release` or `AcqRel`.
    ///
    /// # Examples
    ///
    /// This pair of orderings keeps the promise of a `MonotonicInstant`:
    ///
    /// ```
    /// use std::sync::atomic::Ordering;
    /// use tach_core::{AtomicInstant, Instant, MonotonicInstant};
    ///
    /// let shared = AtomicInstant::new(MonotonicInstant::now().into());
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| {
    ///         shared.store(MonotonicInstant::now().into(), Ordering::Release);
    ///     });
    ///     let seen = shared.load(Ordering::Acquire);
    ///     assert!(Instant::from(MonotonicInstant::now()) >= seen);
    /// });
    /// ```
    #[must_use]
    #[inline]
    pub fn load(&self, order: Ordering) -> Instant {
        // ORDERING: the caller's.
        from_shifted(self.shifted.load(order))
    }

    /// Stores `instant`.
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
        // ORDERING: the caller's.
        self.shifted.store(to_shifted(instant), order);
    }

    /// Stores `instant`, and returns the previous one.
    ///
    /// # Examples
    ///
    /// The time since any thread last took a sample:
    ///
    /// ```
    /// use std::sync::atomic::Ordering;
    /// use tach_core::{AtomicInstant, Instant};
    ///
    /// let sampled = AtomicInstant::new(Instant::now());
    /// let now = Instant::now();
    /// println!("{:?}", now - sampled.swap(now, Ordering::Relaxed));
    /// ```
    #[inline]
    pub fn swap(&self, instant: Instant, order: Ordering) -> Instant {
        // ORDERING: the caller's.
        from_shifted(self.shifted.swap(to_shifted(instant), order))
    }

    /// Stores the later of `instant` and the current one, and returns the previous instant.
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
    /// assert_eq!(latest.load(Ordering::Relaxed), b);
    /// ```
    #[inline]
    pub fn fetch_max(&self, instant: Instant, order: Ordering) -> Instant {
        // ORDERING: the caller's.
        from_shifted(self.shifted.fetch_max(to_shifted(instant), order))
    }

    /// Stores the earlier of `instant` and the current one, and returns the previous instant.
    ///
    /// # Examples
    ///
    /// The next deadline of all threads:
    ///
    /// ```
    /// use std::sync::atomic::Ordering;
    /// use std::time::Duration;
    /// use tach_core::{AtomicInstant, Instant};
    ///
    /// let now = Instant::now();
    /// let next = AtomicInstant::new(now + Duration::from_secs(60));
    /// next.fetch_min(now + Duration::from_secs(5), Ordering::Relaxed);
    /// assert!(next.load(Ordering::Relaxed) < now + Duration::from_secs(6));
    /// ```
    #[inline]
    pub fn fetch_min(&self, instant: Instant, order: Ordering) -> Instant {
        // ORDERING: the caller's.
        from_shifted(self.shifted.fetch_min(to_shifted(instant), order))
    }

    /// Stores `new` if the current instant is `current`, and returns the previous instant.
    ///
    /// `success` orders the exchange. `failure` orders the read if nothing is exchanged.
    ///
    /// # Errors
    ///
    /// Returns the instant that is stored if it is not `current`.
    ///
    /// # Panics
    ///
    /// If `failure` is `Release` or `AcqRel`.
    ///
    /// # Examples
    ///
    /// Of all threads that find a deadline passed, one does the work:
    ///
    /// ```
    /// use std::sync::atomic::Ordering::Relaxed;
    /// use std::time::Duration;
    /// use tach_core::{AtomicInstant, Instant};
    ///
    /// let deadline = AtomicInstant::new(Instant::now());
    /// let (seen, now) = (deadline.load(Relaxed), Instant::now());
    /// let next = now + Duration::from_secs(60);
    /// let won = now >= seen && deadline.compare_exchange(seen, next, Relaxed, Relaxed).is_ok();
    /// assert!(won);
    /// ```
    #[inline]
    pub fn compare_exchange(
        &self,
        current: Instant,
        new: Instant,
        success: Ordering,
        failure: Ordering,
    ) -> Result<Instant, Instant> {
        let (current, new) = (to_shifted(current), to_shifted(new));
        // ORDERING: the caller's.
        let result = self.shifted.compare_exchange(current, new, success, failure);
        result.map(from_shifted).map_err(from_shifted)
    }
}

impl From<Instant> for AtomicInstant {
    fn from(instant: Instant) -> Self {
        Self::new(instant)
    }
}

/// Prints the instant.
impl fmt::Debug for AtomicInstant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // ORDERING: Relaxed, since the printed value publishes nothing.
        self.load(Ordering::Relaxed).fmt(f)
    }
}

const fn to_shifted(instant: Instant) -> u64 {
    shifted_tick(instant.as_ticks())
}

const fn from_shifted(shifted: u64) -> Instant {
    Instant::from_ticks(unshifted_tick(shifted))
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
    const C: Instant = Instant::from_ticks(u64::MAX / 2);
    /// Before the counter started.
    const EARLY: Instant = Instant::from_ticks(u64::MAX);

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
    }

    #[test]
    fn a_swap_returns_what_was_stored_before() {
        let atomic = AtomicInstant::new(A);
        for (order, instant, before) in [(Relaxed, EARLY, A), (AcqRel, C, EARLY), (SeqCst, B, C)] {
            assert_eq!(atomic.swap(instant, order), before);
            assert_eq!(atomic.load(Relaxed), instant);
        }
    }

    #[test]
    fn the_earlier_or_the_later_instant_by_tick_stays() {
        for (held, given, later) in
            [(A, B, B), (B, A, B), (B, B, B), (C, A, C), (EARLY, A, A), (A, EARLY, A)]
        {
            let atomic = AtomicInstant::new(held);
            assert_eq!(atomic.fetch_max(given, Relaxed), held);
            assert_eq!(atomic.load(Relaxed), later);
            let atomic = AtomicInstant::new(held);
            assert_eq!(atomic.fetch_min(given, Relaxed), held);
            assert_eq!(atomic.load(Relaxed), if later == held { given } else { held });
        }
    }

    #[test]
    fn an_exchange_is_made_only_for_the_current_one() {
        let atomic = AtomicInstant::new(A);
        assert_eq!(atomic.compare_exchange(B, C, AcqRel, Acquire), Err(A));
        assert_eq!(atomic.compare_exchange(A, B, AcqRel, Acquire), Ok(A));
        assert_eq!(atomic.compare_exchange(B, C, Relaxed, Relaxed), Ok(B));
        assert_eq!(atomic.load(Relaxed), C);
    }

    #[test]
    #[cfg_attr(target_family = "wasm", ignore = "a panic ends the program")]
    fn meaningless_orderings_panic() {
        let meaningless: [fn(&AtomicInstant); 6] = [
            |atomic| _ = atomic.load(Release),
            |atomic| _ = atomic.load(AcqRel),
            |atomic| atomic.store(B, Acquire),
            |atomic| atomic.store(B, AcqRel),
            |atomic| _ = atomic.compare_exchange(A, B, SeqCst, Release),
            |atomic| _ = atomic.compare_exchange(A, B, SeqCst, AcqRel),
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
    fn of_many_threads_the_latest_stays() {
        const THREADS: u64 = 8;
        const EACH: u64 = 10_000;
        let latest = AtomicInstant::new(Instant::from_ticks(0));
        thread::scope(|scope| {
            for i in 0..THREADS {
                let latest = &latest;
                scope.spawn(move || {
                    // Each thread writes its own numbers, in turn from a rising and from a falling
                    // series.
                    for k in 0..EACH {
                        let k = if k % 2 == 0 { k } else { EACH - k };
                        let instant = Instant::from_ticks(1 + k * THREADS + i);
                        latest.fetch_max(instant, Relaxed);
                    }
                });
            }
        });
        // The greatest `k` is EACH - 1, and the greatest `i` is THREADS - 1.
        assert_eq!(latest.load(Relaxed).as_ticks(), EACH * THREADS);
    }

    #[test]
    #[cfg_attr(target_family = "wasm", ignore = "there are no threads")]
    fn a_monotonic_instant_passed_on_is_not_after_the_next() {
        let shared = AtomicInstant::new(MonotonicInstant::now().into());
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..50_000 {
                        let seen = shared.load(Acquire);
                        let now = Instant::from(MonotonicInstant::now());
                        assert!(now >= seen, "{now:?} was taken after {seen:?} was seen");
                        shared.store(now, Release);
                    }
                });
            }
        });
    }
}
