//! The trait of a clock, which a test can implement, and the system's clock.

mod increasing;
#[cfg(feature = "std")]
mod manual;

use core::panic::RefUnwindSafe;
use core::time::Duration;

pub use self::increasing::IncreasingClock;
#[cfg(feature = "std")]
pub use self::manual::ManualClock;
use crate::instants::{Anchor, Instant, MonotonicInstant};
use crate::system::{self, Early};
use crate::unix_time::{UnixTime, unix_nanos};

/// A clock: the system's, one that a test moves by hand, or your own.
///
/// Code that takes a `Clock` can be tested without sleeping. All adapters of tach take one. Their
/// default is [`SystemClock`], which costs no more than [`Instant::now`] and [`UnixTime::now`].
///
/// Threads share a clock and may read it while one of them panics: hence the bounds. (A field that
/// is not [`RefUnwindSafe`] can be wrapped in `AssertUnwindSafe`.)
///
/// # An instant belongs to its clock
///
/// An [`Instant`] is a tick, and only the clock that returned it knows how long a tick lasts.
/// `a - b`, `a.elapsed()`, `a + duration` and `a.unix_time()` use the *system's* clock. For the
/// instants of another clock, call that clock's [`duration_between`](Self::duration_between),
/// [`elapsed`](Self::elapsed) and [`unix_time_at`](Self::unix_time_at). Mixing clocks is safe, but
/// the results mean nothing. Mixing `ManualClock` and the system's clock panics.
///
/// # Guarantees
///
/// If one call of [`monotonic_now`](Self::monotonic_now) happens before another, on any threads,
/// the first returns no later instant than the second. Every implementation must ensure this.
///
/// # Examples
///
/// A function and its test:
///
/// ```
/// use std::time::Duration;
/// use tach_core::{Clock, Instant, ManualClock, UnixTime};
///
/// fn is_stale(clock: &dyn Clock, fetched: Instant) -> bool {
///     clock.elapsed(fetched) > Duration::from_secs(60)
/// }
///
/// let clock = ManualClock::new(UnixTime::EPOCH);
/// let fetched = clock.now();
/// clock.advance(Duration::from_secs(60));
/// assert!(!is_stale(&clock, fetched));
/// clock.advance(Duration::from_nanos(1));
/// assert!(is_stale(&clock, fetched));
/// ```
///
/// A custom clock:
///
/// ```
/// use std::time::Duration;
/// use tach_core::{Clock, Instant, SystemClock, UnixTime};
///
/// /// The system's clock, in a zone where it is an hour later.
/// struct Shifted;
///
/// impl Clock for Shifted {
///     fn monotonic_now(&self) -> Instant {
///         SystemClock.monotonic_now()
///     }
///
///     fn duration_between(&self, earlier: Instant, later: Instant) -> Duration {
///         SystemClock.duration_between(earlier, later)
///     }
///
///     fn unix_time_at(&self, instant: Instant) -> UnixTime {
///         SystemClock.unix_time_at(instant).saturating_add(Duration::from_secs(3600))
///     }
/// }
///
/// assert!(Shifted.unix_time() > SystemClock.unix_time());
/// ```
pub trait Clock: Send + Sync + RefUnwindSafe {
    /// Reads the time, which does not precede the result of any earlier call on any thread.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{Clock, SystemClock};
    ///
    /// assert!(SystemClock.monotonic_now() <= SystemClock.monotonic_now());
    /// ```
    fn monotonic_now(&self) -> Instant;

    /// Returns the time from `earlier` to `later`, both of this clock; zero if `earlier` is later.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{Clock, SystemClock};
    ///
    /// let (earlier, later) = (SystemClock.now(), SystemClock.now());
    /// assert_eq!(SystemClock.duration_between(earlier, later), later - earlier);
    /// ```
    fn duration_between(&self, earlier: Instant, later: Instant) -> Duration;

    /// Returns the Unix time at `instant`, an instant of this clock.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{Clock, SystemClock};
    ///
    /// let now = SystemClock.now();
    /// assert_eq!(SystemClock.unix_time_at(now), now.unix_time());
    /// ```
    fn unix_time_at(&self, instant: Instant) -> UnixTime;

    /// Reads the time, which does not precede an earlier result on the same thread.
    ///
    /// It may be cheaper than [`monotonic_now`](Self::monotonic_now), since the order across
    /// threads is not promised.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{Clock, SystemClock};
    ///
    /// assert!(SystemClock.now() <= SystemClock.now());
    /// ```
    #[inline]
    fn now(&self) -> Instant {
        self.monotonic_now()
    }

    /// Reads the time, which is not later than the result of any
    /// [`monotonic_now`](Self::monotonic_now) that happens after this call, and which does not
    /// precede an earlier result on the same thread.
    ///
    /// This is weaker than `monotonic_now`, and may be cheaper. Use it for start times that are
    /// published afterwards. [`Budget`](crate::Budget) and tach-otel's spans do. A clock whose
    /// reads all cost the same needs no implementation of its own.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::thread;
    /// use tach_core::{Clock, SystemClock};
    ///
    /// let begun = SystemClock.early_now();
    /// let received = thread::spawn(|| SystemClock.monotonic_now()).join().unwrap();
    /// assert!(begun <= received);
    /// ```
    #[inline]
    fn early_now(&self) -> Instant {
        self.monotonic_now()
    }

    /// Reads the Unix time.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{Clock, SystemClock};
    ///
    /// println!("{}", SystemClock.unix_time());
    /// ```
    #[inline]
    fn unix_time(&self) -> UnixTime {
        self.unix_time_at(self.now())
    }

    /// Returns the time from `since`, an instant of this clock, to now; zero if `since` is later.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{Clock, SystemClock};
    ///
    /// let start = SystemClock.now();
    /// println!("{:?}", SystemClock.elapsed(start));
    /// ```
    #[inline]
    fn elapsed(&self, since: Instant) -> Duration {
        self.duration_between(since, self.now())
    }

    /// Reads the clock once and returns the instant and its Unix time, for example as the
    /// [event time](crate::event_time) of an event.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{Clock, SystemClock};
    ///
    /// println!("{}", SystemClock.anchor().unix_time());
    /// ```
    #[inline]
    fn anchor(&self) -> Anchor {
        let instant = self.now();
        Anchor::new(instant, self.unix_time_at(instant))
    }
}

/// The process's clock, which [`Instant::now`] and [`UnixTime::now`] read.
///
/// # Examples
///
/// ```
/// use tach_core::{Clock, Instant, SystemClock};
///
/// let start = SystemClock.now();
/// assert!(start <= Instant::now());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[inline]
    fn monotonic_now(&self) -> Instant {
        MonotonicInstant::now().into()
    }

    #[inline]
    fn duration_between(&self, earlier: Instant, later: Instant) -> Duration {
        later - earlier
    }

    #[inline]
    fn unix_time_at(&self, instant: Instant) -> UnixTime {
        instant.unix_time()
    }

    #[inline]
    fn now(&self) -> Instant {
        Instant::now()
    }

    #[inline]
    fn early_now(&self) -> Instant {
        Instant::from_ticks(system::ticks::<Early>())
    }

    #[inline]
    fn unix_time(&self) -> UnixTime {
        UnixTime::from_nanos(unix_nanos())
    }

    #[inline]
    fn elapsed(&self, since: Instant) -> Duration {
        since.elapsed()
    }

    #[inline]
    fn anchor(&self) -> Anchor {
        Anchor::now()
    }
}

/// Implements [`Clock`] for a pointer to a clock. Forwards every method: a provided one would
/// otherwise bypass the clock's own implementation.
macro_rules! impl_clock_for_pointer {
    ($Pointer:ty) => {
        impl<C: Clock + ?Sized> Clock for $Pointer {
            #[inline]
            fn monotonic_now(&self) -> Instant {
                (**self).monotonic_now()
            }

            #[inline]
            fn duration_between(&self, earlier: Instant, later: Instant) -> Duration {
                (**self).duration_between(earlier, later)
            }

            #[inline]
            fn unix_time_at(&self, instant: Instant) -> UnixTime {
                (**self).unix_time_at(instant)
            }

            #[inline]
            fn now(&self) -> Instant {
                (**self).now()
            }

            #[inline]
            fn early_now(&self) -> Instant {
                (**self).early_now()
            }

            #[inline]
            fn unix_time(&self) -> UnixTime {
                (**self).unix_time()
            }

            #[inline]
            fn elapsed(&self, since: Instant) -> Duration {
                (**self).elapsed(since)
            }

            #[inline]
            fn anchor(&self) -> Anchor {
                (**self).anchor()
            }
        }
    };
}

impl_clock_for_pointer!(&C);
#[cfg(feature = "std")]
impl_clock_for_pointer!(std::sync::Arc<C>);
#[cfg(feature = "std")]
impl_clock_for_pointer!(std::boxed::Box<C>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_clock_measures_from_instants_of_the_system() {
        let second = Duration::from_secs(1);
        let (start, unix_time) = (Instant::now() - second, UnixTime::now());
        let pointer: &dyn Clock = &SystemClock;
        for clock in [&SystemClock, pointer] {
            assert!(clock.elapsed(start) >= second);
            assert_eq!(clock.unix_time_at(start), start.unix_time());
            assert!(clock.unix_time().as_secs().abs_diff(unix_time.as_secs()) < 60);
        }
    }

    #[test]
    fn what_a_clock_leaves_out_follows_from_what_it_says() {
        struct Least;

        impl Clock for Least {
            fn monotonic_now(&self) -> Instant {
                Instant::from_ticks(70)
            }

            fn duration_between(&self, earlier: Instant, later: Instant) -> Duration {
                Duration::from_secs(later.as_ticks() - earlier.as_ticks())
            }

            fn unix_time_at(&self, instant: Instant) -> UnixTime {
                UnixTime::from_secs(1_000 + instant.as_ticks()).expect("an early time")
            }
        }

        let (since, second) = (Instant::from_ticks(67), Duration::from_secs(1));
        assert_eq!((Least.now(), Least.early_now()), (Instant::from_ticks(70), Least.now()));
        assert_eq!((Least.elapsed(since), Least.unix_time().as_secs()), (3 * second, 1_070));
        let anchor = Least.anchor();
        assert_eq!((anchor.instant(), anchor.unix_time().as_secs()), (Least.now(), 1_070));
    }
}
