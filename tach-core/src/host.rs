//! What happens to the machine under a clock: suspends, restored virtual machines.

use crate::os;
use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// What the machine tells of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Facts {
    /// How long it has been suspended since it booted, in ns, where that is known.
    pub(crate) suspended_ns: Option<u64>,
    /// A number that changes when a virtual machine is restored or migrated, where there is one.
    pub(crate) disruption_marker: Option<u64>,
}

impl Facts {
    pub(crate) fn now() -> Self {
        Self { suspended_ns: os::suspended_ns(), disruption_marker: os::disruption_marker() }
    }
}

/// What has been seen of the machine since each fact was first known.
#[derive(Debug)]
pub(crate) struct Host {
    suspended_ns: AtomicU64,
    disruption_marker: AtomicU64,
    suspends: AtomicU32,
    disruptions: AtomicU32,
    last_event_tick: AtomicU64,
    reviewed_ns: AtomicU64,
}

/// A fact that has not been told yet.
const UNKNOWN: u64 = u64::MAX;
/// Asking the machine takes some system calls, so `sync` does it no more often than this.
const REVIEW_INTERVAL_NS: u64 = 1_000_000_000;
/// A shorter suspend can't be told from the error of reading two clocks.
const SHORTEST_SUSPEND_NS: u64 = 1_000_000;

// ORDERING: Relaxed throughout: each number stands alone, and is told to people and compared with
// what it was before.
impl Host {
    pub(crate) const fn new() -> Self {
        Self {
            suspended_ns: AtomicU64::new(UNKNOWN),
            disruption_marker: AtomicU64::new(UNKNOWN),
            suspends: AtomicU32::new(0),
            disruptions: AtomicU32::new(0),
            last_event_tick: AtomicU64::new(0),
            reviewed_ns: AtomicU64::new(0),
        }
    }

    /// Whether it is time for a review; the first of several who ask at once is told so.
    pub(crate) fn review_is_due(&self, now_ns: u64) -> bool {
        let reviewed_ns = self.reviewed_ns.load(Ordering::Relaxed);
        now_ns.saturating_sub(reviewed_ns) >= REVIEW_INTERVAL_NS
            && exchange(&self.reviewed_ns, reviewed_ns, now_ns)
    }

    /// Counts what has happened since the review before, by the facts that `read` gives.
    ///
    /// What was known is loaded before they are read: of several that see the same at once, one
    /// takes it down and counts it.
    pub(crate) fn review(&self, read: impl FnOnce() -> Facts, tick: u64) {
        let suspended_before_ns = self.suspended_ns.load(Ordering::Relaxed);
        let marker_before = self.disruption_marker.load(Ordering::Relaxed);
        let facts = read();
        if let Some(suspended_ns) = facts.suspended_ns {
            let known = suspended_before_ns != UNKNOWN;
            let by_ns = suspended_ns.saturating_sub(suspended_before_ns);
            let is_new = !known || by_ns > SHORTEST_SUSPEND_NS;
            if is_new && exchange(&self.suspended_ns, suspended_before_ns, suspended_ns) && known {
                self.suspends.fetch_add(1, Ordering::Relaxed);
                self.event_at(tick);
            }
        }
        if let Some(marker) = facts.disruption_marker {
            if marker != marker_before
                && exchange(&self.disruption_marker, marker_before, marker)
                && marker_before != UNKNOWN
            {
                self.disruptions.fetch_add(1, Ordering::Relaxed);
                self.event_at(tick);
            }
        }
    }

    /// Something was found at `tick`.
    pub(crate) fn event_at(&self, tick: u64) {
        self.last_event_tick.fetch_max(tick, Ordering::Relaxed);
    }

    /// How often the machine was suspended.
    pub(crate) fn suspends(&self) -> u32 {
        self.suspends.load(Ordering::Relaxed)
    }

    /// How often the virtual machine was restored or migrated, as far as it tells.
    pub(crate) fn disruptions(&self) -> u32 {
        self.disruptions.load(Ordering::Relaxed)
    }

    pub(crate) fn events(&self) -> u64 {
        u64::from(self.suspends()) + u64::from(self.disruptions())
    }

    /// Where the last of all was found; 0 if there was none.
    pub(crate) fn last_event_tick(&self) -> u64 {
        self.last_event_tick.load(Ordering::Relaxed)
    }
}

/// Puts `new` in the place of `seen`; whether that was still there.
fn exchange(cell: &AtomicU64, seen: u64, new: u64) -> bool {
    // ORDERING: Relaxed, as all of them.
    cell.compare_exchange(seen, new, Ordering::Relaxed, Ordering::Relaxed).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT_START: Facts = Facts { suspended_ns: Some(5_000_000_000), disruption_marker: Some(3) };

    #[test]
    fn suspends_and_disruptions_are_counted_once_each() {
        let host = Host::new();
        host.review(|| AT_START, 5);
        host.review(|| AT_START, 10);
        assert_eq!((host.events(), host.last_event_tick()), (0, 0));
        let suspended = Facts { suspended_ns: Some(9_000_000_000), ..AT_START };
        host.review(|| suspended, 20);
        host.review(|| suspended, 30);
        assert_eq!((host.suspends(), host.last_event_tick()), (1, 20));
        let restored = Facts { disruption_marker: Some(4), ..suspended };
        host.review(|| restored, 40);
        assert_eq!((host.disruptions(), host.events(), host.last_event_tick()), (1, 2, 40));
    }

    #[test]
    fn the_error_of_two_reads_is_no_suspend() {
        let host = Host::new();
        host.review(|| AT_START, 1);
        for late in [400, 900_000, 300] {
            let facts = Facts { suspended_ns: Some(5_000_000_000 + late), ..AT_START };
            host.review(|| facts, 1);
        }
        assert_eq!(host.suspends(), 0);
    }

    #[test]
    fn what_becomes_known_late_is_no_event() {
        let host = Host::new();
        host.review(|| Facts { suspended_ns: None, disruption_marker: None }, 1);
        host.review(|| AT_START, 2);
        assert_eq!(host.events(), 0);
    }

    #[test]
    fn of_two_reviews_of_the_same_event_one_counts_it() {
        let host = Host::new();
        host.review(|| AT_START, 1);
        let restored = Facts { suspended_ns: Some(9_000_000_000), disruption_marker: Some(4) };
        // The outer one has loaded what was known before the inner one counts.
        let outer = || {
            host.review(|| restored, 2);
            restored
        };
        host.review(outer, 3);
        assert_eq!((host.suspends(), host.disruptions()), (1, 1));
    }

    #[test]
    fn what_is_not_told_is_not_counted() {
        let host = Host::new();
        let unknown = Facts { suspended_ns: None, disruption_marker: None };
        host.review(|| unknown, 1);
        host.review(|| unknown, 1);
        assert_eq!(host.events(), 0);
    }
}
