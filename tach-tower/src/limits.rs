//! The budget of a request, by the settings of its layer.

use core::time::Duration;

use http::{HeaderMap, request};
use tach_core::Budget;

use crate::counts::Counts;
use crate::current::{Limits, arrive, whole_of};
use crate::settings::{Settings, ns};

/// The budget of a request, and what is left of it on arrival.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Started {
    pub(crate) limits: Limits,
    pub(crate) head_left_ns: u64,
    pub(crate) whole_left_ns: u64,
}

impl Started {
    /// A budget that begins on arrival.
    #[inline]
    fn now(head: Budget, whole_ns: u64) -> Self {
        let limits = Limits { head, whole_ns };
        Self { limits, head_left_ns: head.total_ns, whole_left_ns: whole_ns }
    }
}

impl Settings {
    /// Starts the budget of a request. `asked` is the time that its headers allow, `outer` the
    /// budget that it came with.
    #[inline]
    pub(crate) fn start(
        &self,
        asked_ns: u64,
        cap_ns: u64,
        outer: Option<Budget>,
        is_client: bool,
    ) -> Started {
        if let Some(outer) = outer.filter(|outer| outer.total_ns < u64::MAX) {
            return self.start_within(asked_ns.min(cap_ns), outer, is_client);
        }
        let limit_ns = if asked_ns == u64::MAX { self.default_ns } else { asked_ns };
        let whole_ns = limit_ns.min(cap_ns);
        let total_ns = whole_ns.min(self.head_ns);
        let head = Budget { total_ns, ..Budget::new(Duration::MAX) };
        arrive(head, is_client);
        Started::now(head, whole_ns)
    }

    /// Like [`start`](Self::start), within another budget. If the outer budget ends the request, it
    /// is used as the request's own, so that both have one end and errors name the whole time.
    #[inline(never)]
    fn start_within(&self, limit_ns: u64, outer: Budget, is_client: bool) -> Started {
        let limits = Limits { head: outer, whole_ns: whole_of(&outer, is_client) };
        // The remaining time is measured from the start of the new budget.
        let part = outer.child(Duration::MAX, Duration::ZERO);
        let elapsed_ns = outer.total_ns - part.total_ns;
        let left = |total_ns: u64| match total_ns {
            u64::MAX => u64::MAX,
            total_ns => total_ns.saturating_sub(elapsed_ns).saturating_sub(self.reserve_ns),
        };
        let (head_left_ns, whole_left_ns) = (left(outer.total_ns), left(limits.whole_ns));
        let own_head_ns = limit_ns.min(self.head_ns);
        if self.reserve_ns == 0 && head_left_ns <= own_head_ns && whole_left_ns <= limit_ns {
            arrive(Budget { total_ns: head_left_ns, ..part }, is_client);
            return Started { limits, head_left_ns, whole_left_ns };
        }
        let head = Budget { total_ns: head_left_ns.min(own_head_ns), ..part };
        arrive(head, is_client);
        Started::now(head, whole_left_ns.min(limit_ns))
    }

    /// Returns the least time that the headers of a request allow.
    ///
    /// Looks at each header, which is cheaper than a search in the map up to about 20 headers.
    #[inline]
    pub(crate) fn asked(&self, headers: &HeaderMap, is_grpc: bool, counts: &Counts) -> u64 {
        let mut least_ns = u64::MAX;
        for header in &self.headers[usize::from(is_grpc)] {
            for (name, value) in headers {
                if *name == header.name {
                    match header.parse(value) {
                        Some(asked) => least_ns = least_ns.min(ns(asked)),
                        None => counts.unparsable_headers.add_one(),
                    }
                }
            }
        }
        if least_ns < u64::MAX {
            counts.deadlines.add_one();
        }
        if least_ns == 0 {
            counts.expired.add_one();
        }
        least_ns
    }

    /// Returns the cap of a request.
    pub(crate) fn cap_of(&self, parts: &request::Parts) -> u64 {
        self.cap_by.as_ref().and_then(|cap| (cap.0)(parts)).map_or(self.cap_ns, ns)
    }

    #[inline]
    pub(crate) fn refuses(&self, left_ns: u64) -> bool {
        left_ns == 0 || left_ns < self.floor_ns
    }

    /// Writes the time that is left into every header of the settings. Returns `false` if one of
    /// them would contain zero.
    pub(crate) fn write(&self, left_ns: u64, headers: &mut HeaderMap, is_grpc: bool) -> bool {
        let mut known = self.headers[usize::from(is_grpc)].iter();
        let left = Duration::from_nanos(left_ns);
        left_ns == u64::MAX || known.all(|header| header.write(left, headers))
    }

    /// Returns the total for a response with its body, whose head is ready after `elapsed`; `None`
    /// if nothing limits the body.
    #[inline]
    pub(crate) fn of_body(&self, whole_ns: u64, elapsed: impl FnOnce() -> Duration) -> Option<u64> {
        let mut total_ns = whole_ns;
        if self.body_ns < u64::MAX {
            total_ns = total_ns.min(ns(elapsed()).saturating_add(self.body_ns));
        }
        (total_ns < u64::MAX || self.idle_ns < u64::MAX).then_some(total_ns)
    }
}
