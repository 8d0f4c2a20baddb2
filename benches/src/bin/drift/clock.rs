//! A clock of the OS beside tach's timeline for it.

use core::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use tach_core::{MonotonicInstant, TimelineStatus, UnixTime, status};

use crate::bracket::{Bracket, OsMonotonic, nanos};
use crate::histogram::Histogram;

/// Brackets of which the one is taken from which both clocks' monotonic time is counted: its error
/// is part of all that follow.
const STARTS: u32 = 10_000;

/// Both clocks, in the order in which they are shown.
pub(crate) type Clocks = [Clock; 2];

pub(crate) struct Clock {
    pub(crate) name: &'static str,
    os_ns: Box<dyn Fn() -> u64 + Sync>,
    /// Converts what tach read within the bracket, after the bracket.
    tach_ns: Box<dyn Fn(MonotonicInstant) -> u64 + Sync>,
    /// The timeline's part of the status.
    status: fn() -> TimelineStatus,
    syncs_before: u32,
    /// The highest time that any thread has had from tach.
    last_ns: AtomicU64,
}

pub(crate) fn clocks(os: OsMonotonic) -> Clocks {
    [monotonic(os), realtime()]
}

fn monotonic(os: OsMonotonic) -> Clock {
    let start = Bracket::narrowest(STARTS, || os.ns());
    Clock::new(
        "monotonic",
        Box::new(move || os.ns()),
        Box::new(move |now| start.os_ns + nanos(now - start.tach)),
        || status().monotonic,
    )
}

fn realtime() -> Clock {
    Clock::new(
        "real time",
        Box::new(|| UnixTime::from_system_time(SystemTime::now()).as_nanos()),
        Box::new(|now| now.unix_time().as_nanos()),
        || status().realtime,
    )
}

impl Clock {
    fn new(
        name: &'static str,
        os_ns: Box<dyn Fn() -> u64 + Sync>,
        tach_ns: Box<dyn Fn(MonotonicInstant) -> u64 + Sync>,
        status: fn() -> TimelineStatus,
    ) -> Self {
        let syncs_before = status().syncs;
        Self { name, os_ns, tach_ns, status, syncs_before, last_ns: AtomicU64::new(0) }
    }

    /// How often the timeline has sampled the OS clock since this was made.
    pub(crate) fn syncs(&self) -> u32 {
        (self.status)().syncs.wrapping_sub(self.syncs_before)
    }

    /// Compares the two once.
    pub(crate) fn compare(&self, tally: &mut Tally) {
        // ORDERING: Acquire, with the Release below: whoever told that time had read the counter
        // before this thread does.
        let earlier_ns = self.last_ns.load(Ordering::Acquire);
        let bracket = Bracket::take(&self.os_ns);
        let tach_ns = (self.tach_ns)(bracket.tach);
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

/// What was seen of one clock.
#[derive(Debug)]
pub(crate) struct Tally {
    /// All brackets, wide ones too.
    pub(crate) comparisons: u64,
    /// Brackets that say little, whose errors are not counted.
    pub(crate) wide: u64,
    /// Times that were earlier than one that some thread had had before.
    pub(crate) backward: u64,
    pub(crate) errors_ns: Histogram,
}

impl Tally {
    pub(crate) fn new() -> Self {
        Self { comparisons: 0, wide: 0, backward: 0, errors_ns: Histogram::new() }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.comparisons += other.comparisons;
        self.wide += other.wide;
        self.backward += other.backward;
        self.errors_ns.add(&other.errors_ns);
    }
}
