//! Events of the machine under a clock: suspends and restored virtual machines.

use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// The facts about the machine as they were last seen, and the numbers of their changes.
#[derive(Debug)]
pub(crate) struct Host {
    suspended_ns: AtomicU64,
    disruption_marker: AtomicU64,
    suspends: AtomicU32,
    disruptions: AtomicU32,
    last_event_tick: AtomicU64,
    reviewed_ns: AtomicU64,
}

/// A fact that is not known yet.
const UNKNOWN: u64 = u64::MAX;
/// Asking the machine takes some system calls, so `sync` asks no more often than this.
const REVIEW_INTERVAL_NS: u64 = 1_000_000_000;
/// A shorter suspend is within the error of reading two clocks.
const SHORTEST_SUSPEND_NS: u64 = 1_000_000;

// ORDERING: Relaxed throughout: each number publishes nothing else. It is reported to people and
// compared with its earlier value.
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

    /// Returns whether a review is due. Of several threads that ask at once, one gets `true`.
    pub(crate) fn review_is_due(&self, now_ns: u64) -> bool {
        let reviewed_ns = self.reviewed_ns.load(Ordering::Relaxed);
        now_ns.abs_diff(reviewed_ns) >= REVIEW_INTERVAL_NS
            && exchange(&self.reviewed_ns, reviewed_ns, now_ns)
    }

    /// Counts a suspend and returns `true` if the machine has been suspended for longer than at the
    /// last call. `total_ns` is `None` on systems that don't report it.
    pub(crate) fn see_suspends(&self, total_ns: Option<u64>, tick: u64) -> bool {
        let Some(total_ns) = total_ns else { return false };
        let before_ns = self.suspended_ns.load(Ordering::Relaxed);
        let known = before_ns != UNKNOWN;
        let is_new = !known || total_ns.saturating_sub(before_ns) > SHORTEST_SUSPEND_NS;
        let is_suspend = is_new && exchange(&self.suspended_ns, before_ns, total_ns) && known;
        if is_suspend {
            self.suspends.fetch_add(1, Ordering::Relaxed);
            self.event_at(tick);
        }
        is_suspend
    }

    /// Counts a disruption and returns `true` if `marker` has changed, as it does when a virtual
    /// machine is restored or migrated. `marker` is `None` on systems that have none.
    pub(crate) fn see_marker(&self, marker: Option<u64>, tick: u64) -> bool {
        let Some(marker) = marker else { return false };
        let before = self.disruption_marker.load(Ordering::Relaxed);
        let is_new = marker != before && exchange(&self.disruption_marker, before, marker);
        let is_disruption = is_new && before != UNKNOWN;
        if is_disruption {
            self.disruptions.fetch_add(1, Ordering::Relaxed);
            self.event_at(tick);
        }
        is_disruption
    }

    pub(crate) fn event_at(&self, tick: u64) {
        self.last_event_tick.fetch_max(tick, Ordering::Relaxed);
    }

    pub(crate) fn suspends(&self) -> u32 {
        self.suspends.load(Ordering::Relaxed)
    }

    /// Returns the number of restores and migrations that the virtual machine reported.
    pub(crate) fn disruptions(&self) -> u32 {
        self.disruptions.load(Ordering::Relaxed)
    }

    pub(crate) fn events(&self) -> u64 {
        u64::from(self.suspends()) + u64::from(self.disruptions())
    }

    /// Returns the tick at which the last event was found; 0 if there was none.
    pub(crate) fn last_event_tick(&self) -> u64 {
        self.last_event_tick.load(Ordering::Relaxed)
    }
}

/// Replaces `seen` by `new`. Returns whether the cell still held `seen`.
fn exchange(cell: &AtomicU64, seen: u64, new: u64) -> bool {
    // ORDERING: Relaxed: each number publishes nothing else.
    cell.compare_exchange(seen, new, Ordering::Relaxed, Ordering::Relaxed).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUSPENDED_NS: u64 = 5_000_000_000;

    #[test]
    fn suspends_and_disruptions_are_counted_once_each() {
        let host = Host::new();
        host.see_suspends(Some(SUSPENDED_NS), 5);
        host.see_marker(Some(3), 5);
        host.see_suspends(Some(SUSPENDED_NS), 10);
        host.see_marker(Some(3), 10);
        assert_eq!((host.events(), host.last_event_tick()), (0, 0));
        host.see_suspends(Some(9_000_000_000), 20);
        host.see_suspends(Some(9_000_000_000), 30);
        assert_eq!((host.suspends(), host.last_event_tick()), (1, 20));
        host.see_marker(Some(4), 40);
        host.see_marker(Some(4), 50);
        assert_eq!((host.disruptions(), host.events(), host.last_event_tick()), (1, 2, 40));
    }

    #[test]
    fn a_review_is_due_once_a_second_by_a_clock_that_may_go_back() {
        let host = Host::new();
        let due = [1_000, 1_000, 1_999, 2_000, 2_001, 500, 501]
            .map(|ms| host.review_is_due(ms * 1_000_000));
        assert_eq!(due, [true, false, false, true, false, true, false]);
    }

    #[test]
    fn the_error_of_two_reads_is_no_suspend() {
        let host = Host::new();
        for late in [0, 400, 900_000, 300] {
            host.see_suspends(Some(SUSPENDED_NS + late), 1);
        }
        assert_eq!(host.suspends(), 0);
    }

    #[test]
    fn a_number_that_becomes_known_late_is_no_event() {
        let host = Host::new();
        host.see_suspends(None, 1);
        host.see_marker(None, 1);
        host.see_suspends(Some(SUSPENDED_NS), 2);
        host.see_marker(Some(3), 2);
        host.see_suspends(None, 3);
        host.see_marker(None, 3);
        assert_eq!(host.events(), 0);
    }

    #[test]
    #[cfg_attr(target_family = "wasm", ignore = "there are no threads")]
    fn an_event_that_two_threads_see_is_counted_once() {
        let host = Host::new();
        host.see_suspends(Some(SUSPENDED_NS), 1);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| host.see_suspends(Some(9_000_000_000), 2));
            }
        });
        assert_eq!(host.suspends(), 1);
    }
}
