//! What a clock is, so that a test can bring its own.

mod increasing;
#[cfg(feature = "std")]
mod manual;

use core::panic::RefUnwindSafe;
use core::time::Duration;

pub use self::increasing::IncreasingClock;
#[cfg(feature = "std")]
pub use self::manual::ManualClock;
use crate::instants::{Instant, MonotonicInstant};
use crate::system::{self, Early};
use crate::unix_time::{Anchor, UnixTime, unix_nanos};

/// A clock: the system's, one that a test moves by hand, or your own.
///
/// Code that takes a `Clock` can be tested without sleeping. All adapters of tach do; their default
/// is [`SystemClock`], which costs no more than calling [`Instant::now`] and [`UnixTime::now`]. A clock
/// is shared by threads and read wherever time is told, also while a thread panics: hence the bounds.
/// (What a clock holds that is not [`RefUnwindSafe`], it can hold in an `AssertUnwindSafe`.)
///
/// # An instant belongs to its clock
///
/// An [`Instant`] is a tick, and only the clock that gave it knows what a tick lasts. `a - b`,
/// `a.elapsed()`, `a + duration` and `a.unix_time()` all ask the *system's* clock. For the instants of
/// any other, ask that one: [`duration_between`](Self::duration_between), [`elapsed`](Self::elapsed),
/// [`unix_time_at`](Self::unix_time_at). Mixing clocks is safe, and gives numbers that mean nothing.
///
/// # Guarantees
///
/// If one call of [`monotonic_now`](Self::monotonic_now) happens before another, on any threads, it
/// gives no later an instant. Whoever implements this promises it.
///
/// # Examples
///
/// A function, and how it is tested:
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
/// A clock of one's own:
///
/// ```
/// use std::time::Duration;
/// use tach_core::{Clock, Instant, MonotonicInstant, SystemClock, UnixTime};
///
/// /// The system's clock, in a zone where it is an hour later.
/// struct Shifted;
///
/// impl Clock for Shifted {
///     fn monotonic_now(&self) -> MonotonicInstant {
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
    /// The time now, not before that of any call which happened before this one.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{Clock, SystemClock};
    ///
    /// assert!(SystemClock.monotonic_now() <= SystemClock.monotonic_now());
    /// ```
    fn monotonic_now(&self) -> MonotonicInstant;

    /// The time from `earlier` to `later`, both of this clock; zero if they come the other way round.
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

    /// The Unix time at `instant`, which is of this clock.
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

    /// The time now, in order on each thread; it need not be in order across threads, and may be
    /// cheaper for that.
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
        self.monotonic_now().as_unordered()
    }

    /// The time now or a moment ago: not after that of any [`monotonic_now`](Self::monotonic_now) which
    /// happens after this call, and in order on each thread.
    ///
    /// That is half of what `monotonic_now` promises, and enough for what began before all that is told of
    /// it. It may be cheaper for that.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::thread;
    /// use tach_core::{Clock, SystemClock};
    ///
    /// let begun = SystemClock.early_now();
    /// let received = thread::spawn(|| SystemClock.monotonic_now()).join().unwrap();
    /// assert!(begun <= received.as_unordered());
    /// ```
    #[doc(hidden)]
    #[inline]
    fn early_now(&self) -> Instant {
        self.monotonic_now().as_unordered()
    }

    /// The Unix time now.
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

    /// The time from `since`, an instant of this clock, to now; zero if that is still to come.
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

    /// Returns [`now`](Self::now) and [`unix_time`](Self::unix_time), for example as the
    /// [event time](crate::event_time) of an event.
    ///
    /// The default reads one after the other. A clock that can derive both from one read does so.
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
        Anchor::new(instant, self.unix_time())
    }

    /// Returns the Unix time at `instant`: the time of `anchor` plus or minus the time between the
    /// two instants, which are both of this clock.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_core::{Clock, ManualClock, UnixTime};
    ///
    /// let clock = ManualClock::new(UnixTime::EPOCH);
    /// let anchor = clock.anchor();
    /// clock.advance(Duration::from_nanos(7));
    /// clock.step_forward(Duration::from_secs(3600));
    /// assert_eq!(clock.unix_time_from(anchor, clock.now()).as_nanos(), 7);
    /// ```
    #[inline]
    fn unix_time_from(&self, anchor: Anchor, instant: Instant) -> UnixTime {
        let (anchored, time) = (anchor.instant(), anchor.unix_time());
        if instant >= anchored {
            time.saturating_add(self.duration_between(anchored, instant))
        } else {
            time.saturating_sub(self.duration_between(instant, anchored))
        }
    }
}

/// The process's clock, as [`Instant::now`] and [`UnixTime::now`] read it.
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
    fn monotonic_now(&self) -> MonotonicInstant {
        MonotonicInstant::now()
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

/// Makes what points to a clock one too. All methods are passed on, so that none is answered by a
/// default where the clock has a better answer.
macro_rules! impl_clock_for_pointer {
    ($Pointer:ty) => {
        impl<C: Clock + ?Sized> Clock for $Pointer {
            #[inline]
            fn monotonic_now(&self) -> MonotonicInstant {
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

            #[inline]
            fn unix_time_from(&self, anchor: Anchor, instant: Instant) -> UnixTime {
                (**self).unix_time_from(anchor, instant)
            }
        }
    };
}

impl_clock_for_pointer!(&C);
#[cfg(feature = "std")]
impl_clock_for_pointer!(std::sync::Arc<C>);
#[cfg(feature = "std")]
impl_clock_for_pointer!(std::boxed::Box<C>);
