//! A tick, its conversions by tach, and the checks on them.
//!
//! This code may run in a signal handler and in the child of a `fork`: it does not allocate, lock
//! or panic.

use core::sync::atomic::{AtomicU64, Ordering};

use tach_core::{Instant, MonotonicInstant, OrderedInstant, unix_nanos};

use crate::os::{Os, nanos};

/// The allowed error of tach against the OS clock: a thousand times the usual one. The tests look
/// for torn or half-written lines, whose errors have any size.
const ALLOWED_NS: u64 = 1_000_000;

pub(crate) const READS: [fn() -> u64; 3] = [
    || Instant::now().as_ticks(),
    || Instant::from(MonotonicInstant::now()).as_ticks(),
    || Instant::from(OrderedInstant::now()).as_ticks(),
];

/// The first tick that was converted, from which intervals are counted; 0 before that.
static FIRST: AtomicU64 = AtomicU64::new(0);

/// A tick and its conversions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Reading {
    pub(crate) tick: u64,
    pub(crate) unix_ns: u64,
    /// The time since the first tick that was converted.
    pub(crate) since_ns: i64,
}

impl Reading {
    pub(crate) fn at(tick: u64) -> Self {
        let instant = Instant::from_ticks(tick);
        Self {
            tick,
            unix_ns: instant.unix_time().as_nanos(),
            since_ns: since_ns(instant, first_or(tick)),
        }
    }

    /// Returns whether this reading is not earlier than `other` by any measure. The default value
    /// stands for no reading.
    pub(crate) fn is_not_before(&self, other: &Self) -> bool {
        if *other == Self::default() {
            return true;
        }
        self.tick >= other.tick && self.unix_ns >= other.unix_ns && self.since_ns >= other.since_ns
    }

    /// Returns whether the tick still converts to the same values.
    pub(crate) fn is_pure(&self) -> bool {
        Self::at(self.tick) == *self
    }

    /// Returns whether conversions that read the clock now return no earlier time.
    pub(crate) fn is_past(&self) -> bool {
        let (unix_ns, since_ns) = (unix_nanos(), since_ns(Instant::now(), first_or(self.tick)));
        let elapsed = Instant::from_ticks(self.tick).elapsed();
        unix_ns >= self.unix_ns && since_ns >= self.since_ns && nanos(elapsed) < u64::MAX / 2
    }
}

/// Returns the time since `first`, which is negative if another thread converted a later tick
/// first.
fn since_ns(instant: Instant, first: Instant) -> i64 {
    let since = |late: Instant, early| i64::try_from(nanos(late - early)).unwrap_or(i64::MAX);
    if instant >= first { since(instant, first) } else { -since(first, instant) }
}

fn first_or(tick: u64) -> Instant {
    // ORDERING: Relaxed, since the tick publishes nothing else, and the first one stays.
    let first = FIRST.compare_exchange(0, tick, Ordering::Relaxed, Ordering::Relaxed);
    Instant::from_ticks(first.err().unwrap_or(tick))
}

/// A reading between two readings of the OS clocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Witnessed {
    pub(crate) before: Os,
    pub(crate) reading: Reading,
    pub(crate) after: Os,
}

impl Witnessed {
    pub(crate) fn take(read: fn() -> u64) -> Self {
        let before = Os::now();
        let tick = read();
        let after = Os::now();
        Self { before, reading: Reading::at(tick), after }
    }

    /// Returns whether the Unix time and the time since `base` match the OS clocks.
    pub(crate) fn is_true(&self, base: &Self) -> bool {
        let shortest = self.before.monotonic_ns.saturating_sub(base.after.monotonic_ns);
        let longest = self.after.monotonic_ns.saturating_sub(base.before.monotonic_ns);
        let since_ns = self.reading.since_ns.saturating_sub(base.reading.since_ns);
        let since_ns = u64::try_from(since_ns).unwrap_or(0);
        let within = |ns: u64, low: u64, high: u64| {
            ns.saturating_add(ALLOWED_NS) >= low && ns <= high.saturating_add(ALLOWED_NS)
        };
        within(self.reading.unix_ns, self.before.unix_ns, self.after.unix_ns)
            && within(since_ns, shortest, longest)
    }
}
