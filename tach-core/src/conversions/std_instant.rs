//! Conversions from and to the standard library's instants, which count the same clock.

use core::time::Duration;
use std::sync::OnceLock;
use std::time::Instant as StdInstant;

use crate::instants::{Instant, MonotonicInstant, OrderedInstant};
use crate::{os, system};

/// A point of the OS's monotonic clock, as the standard library's instant and in ns.
#[derive(Debug, Clone, Copy)]
struct Pair {
    std: StdInstant,
    ns: u64,
}

/// Enough brackets to include the narrowest possible one.
const BRACKETS: u32 = 64;

impl Pair {
    /// Returns the same pair in every call, so that conversions keep order and distances.
    fn get() -> Self {
        static PAIR: OnceLock<Pair> = OnceLock::new();
        // Without this clock, the standard library's `now` panics as well.
        let ns_now = || os::monotonic_ns().expect("the OS's monotonic clock can be read");
        *PAIR.get_or_init(|| Self::take(StdInstant::now, ns_now))
    }

    /// Measures a pair. The standard library's instants hide their nanoseconds, so each reading is
    /// bracketed by two in ns. All brackets are shifted to the first reading, and the pair is the
    /// middle of their intersection.
    fn take(std_now: impl Fn() -> StdInstant, ns_now: impl Fn() -> u64) -> Self {
        let (mut before, std, mut after) = (ns_now(), std_now(), ns_now());
        let (mut least, mut most) = (before, after);
        for _ in 1..BRACKETS {
            before = after;
            let since = nanos(std_now().saturating_duration_since(std));
            after = ns_now();
            least = least.max(before.saturating_sub(since));
            most = most.min(after.saturating_sub(since));
        }
        Self { std, ns: least.midpoint(most) }
    }

    /// Returns the instant at `ns`. If the standard library can't represent it, returns an instant
    /// between this pair and `ns`.
    fn std_at(self, ns: i128) -> StdInstant {
        let distance_ns = ns - i128::from(self.ns);
        let mut away =
            Duration::from_nanos(u64::try_from(distance_ns.unsigned_abs()).unwrap_or(u64::MAX));
        loop {
            let sum = if distance_ns >= 0 {
                self.std.checked_add(away)
            } else {
                self.std.checked_sub(away)
            };
            match sum {
                Some(instant) => return instant,
                None => away /= 2,
            }
        }
    }

    fn ns_at(self, std: StdInstant) -> i128 {
        // Subtract the earlier instant from the later: Windows treats an instant less than 100 ns
        // later as equal.
        if std >= self.std {
            i128::from(self.ns) + i128::from(nanos(std.saturating_duration_since(self.std)))
        } else {
            i128::from(self.ns) - i128::from(nanos(self.std.saturating_duration_since(std)))
        }
    }
}

/// Converts to ns. `u64` holds 584 years of them.
fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Converts to the same point of the standard library's clock.
///
/// Both read the same OS clock, but the standard library hides its nanoseconds. So the relation of
/// its instants to ticks is measured once, to some tens of ns. All conversions share that error, so
/// order is kept exactly, and distances are kept to within a tick and a nanosecond.
///
/// # Cost
///
/// A conversion. The first one in a process reads both clocks some dozen times and takes a lock, so
/// it is not for a signal handler.
///
/// # Panics
///
/// If the first conversion in a process can't read the OS's clock: then the standard library's
/// `now` panics as well.
///
/// # Examples
///
/// ```
/// use tach_core::Instant;
///
/// let start = std::time::Instant::from(Instant::now());
/// println!("{:?}", start.elapsed());
/// ```
impl From<Instant> for StdInstant {
    fn from(instant: Instant) -> Self {
        Pair::get().std_at(system::os_monotonic_ns_at(instant.as_ticks()))
    }
}

/// Converts like the conversion from an [`Instant`].
impl From<OrderedInstant> for StdInstant {
    fn from(instant: OrderedInstant) -> Self {
        Instant::from(instant).into()
    }
}

/// Converts like the conversion from an [`Instant`].
impl From<MonotonicInstant> for StdInstant {
    fn from(instant: MonotonicInstant) -> Self {
        Instant::from(instant).into()
    }
}

/// Converts to the same point of tach's clock, to some tens of ns; see the conversion in the other
/// direction. The error may put it before an instant that was taken earlier, so there is no
/// conversion to the ordered types.
///
/// An instant before the start of the OS's clock becomes that start, or tick 0 if that is later.
///
/// # Examples
///
/// ```
/// use tach_core::Instant;
///
/// let accepted = std::time::Instant::now();
/// println!("{}", Instant::from(accepted).unix_time());
/// ```
impl From<StdInstant> for Instant {
    fn from(instant: StdInstant) -> Self {
        Self::from_ticks(system::tick_at_os_monotonic_ns(Pair::get().ns_at(instant)))
    }
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;

    use super::*;

    #[test]
    fn the_pair_is_within_the_narrowest_bracket() {
        // A clock that advances by a prime number of ns at each reading.
        let start = StdInstant::now();
        let now = Cell::new(1_000_000_u64);
        let read = |step: u64| {
            now.set(now.get() + step);
            now.get()
        };
        let std_now = || start + Duration::from_nanos(read(13) - 1_000_000);
        let pair = Pair::take(std_now, || read(17));
        let truth = nanos(pair.std - start) + 1_000_000;
        assert!(pair.ns.abs_diff(truth) <= 17, "{} is {truth}", pair.ns);
        // On Windows, std treats instants closer than its clock's step as equal, so the distances
        // are longer.
        let ns = i128::from(pair.ns);
        let later = pair.std + Duration::from_micros(500);
        assert_eq!((pair.std_at(ns + 500_000), pair.ns_at(later)), (later, ns + 500_000));
        let earlier = pair.std.checked_sub(Duration::from_micros(700)).unwrap();
        assert_eq!((pair.std_at(ns - 700_000), pair.ns_at(earlier)), (earlier, ns - 700_000));
    }

    #[test]
    fn times_before_the_clock_started_are_kept_and_the_far_future_saturates() {
        let pair = Pair { std: StdInstant::now(), ns: 5 };
        if let Some(early) = pair.std.checked_sub(Duration::from_secs(1)) {
            assert_eq!(pair.ns_at(early), 5 - 1_000_000_000);
            assert_eq!(pair.std_at(5 - 1_000_000_000), early);
        }
        let longest = Duration::from_nanos(u64::MAX);
        let far = pair.std.checked_add(longest * 3);
        assert!(far.is_none_or(|far| pair.ns_at(far) == 5 + i128::from(u64::MAX)));
    }
}
