//! tach's two timelines, each with the OS clock that it follows.

use core::sync::atomic::{AtomicU64, Ordering};

use tach_core::{MonotonicInstant, TimelineStatus, status};

use super::histogram::Histogram;
use crate::measure::{Bracket, OsMonotonic, nanos, os_realtime_ns};

/// The number of brackets at the start. The error of the narrowest is part of all later errors.
const STARTS: u32 = 10_000;

pub(super) type Timelines = [Timeline; 2];

pub(super) struct Timeline {
    pub(super) name: &'static str,
    os_ns: Box<dyn Fn() -> u64 + Sync>,
    /// Converts tach's read, after the bracket.
    tach_ns: Box<dyn Fn(MonotonicInstant) -> u64 + Sync>,
    status: fn() -> TimelineStatus,
    syncs_before: u32,
    /// The latest time that any thread has read from tach.
    last_ns: AtomicU64,
}

pub(super) fn timelines(os: OsMonotonic) -> Timelines {
    [monotonic(os), realtime()]
}

fn monotonic(os: OsMonotonic) -> Timeline {
    let start = Bracket::narrowest(STARTS, || os.ns(), MonotonicInstant::now);
    Timeline::new(
        "monotonic",
        Box::new(move || os.ns()),
        Box::new(move |now| start.os_ns + nanos(now - start.reading)),
        || status().monotonic,
    )
}

fn realtime() -> Timeline {
    Timeline::new(
        "real time",
        Box::new(os_realtime_ns),
        Box::new(|now| now.unix_time().as_nanos()),
        || status().realtime,
    )
}

impl Timeline {
    fn new(
        name: &'static str,
        os_ns: Box<dyn Fn() -> u64 + Sync>,
        tach_ns: Box<dyn Fn(MonotonicInstant) -> u64 + Sync>,
        status: fn() -> TimelineStatus,
    ) -> Self {
        let syncs_before = status().syncs;
        Self { name, os_ns, tach_ns, status, syncs_before, last_ns: AtomicU64::new(0) }
    }

    /// Returns how often the timeline has sampled the OS clock since the creation of `self`.
    pub(super) fn syncs(&self) -> u32 {
        (self.status)().syncs.wrapping_sub(self.syncs_before)
    }

    pub(super) fn compare(&self, tally: &mut Tally) {
        // ORDERING: Acquire, with the Release below: the counter read of that time happens before
        // this thread's.
        let earlier_ns = self.last_ns.load(Ordering::Acquire);
        let bracket = Bracket::take(&self.os_ns, MonotonicInstant::now);
        let tach_ns = (self.tach_ns)(bracket.reading);
        // ORDERING: Release, with the Acquire above.
        self.last_ns.fetch_max(tach_ns, Ordering::Release);
        tally.comparisons += 1;
        tally.backward += u64::from(tach_ns < earlier_ns);
        if bracket.is_wide() {
            tally.wide += 1;
        } else {
            tally.errors_ns.record(tach_ns.abs_diff(bracket.os_ns));
        }
    }
}

/// The findings for one timeline.
#[derive(Debug)]
pub(super) struct Tally {
    pub(super) comparisons: u64,
    /// Brackets too wide for their errors to count.
    pub(super) wide: u64,
    /// Times earlier than one that a thread had read before.
    pub(super) backward: u64,
    pub(super) errors_ns: Histogram,
}

impl Tally {
    pub(super) fn new() -> Self {
        Self { comparisons: 0, wide: 0, backward: 0, errors_ns: Histogram::new() }
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.comparisons += other.comparisons;
        self.wide += other.wide;
        self.backward += other.backward;
        self.errors_ns.add(&other.errors_ns);
    }
}
