//! The budget of a request, by the settings of its layer.

use core::time::Duration;

use http::{HeaderMap, Method};
use tach_core::Budget;

use crate::counts::Counts;
use crate::current::{Current, OuterEnd, whole_of};
use crate::settings::Settings;

/// The budget of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Ends with the head of the response.
    pub(crate) current: Current,
    /// The end of the outer budget, if the head has no earlier end of its own.
    pub(crate) parent: Option<OuterEnd>,
    /// The end of the outer budget, if the response with its body has no earlier end of its own.
    pub(crate) whole_parent: Option<OuterEnd>,
}

impl Settings {
    /// Starts the budget of a request. `asked` is the time that its headers allow, `outer` the
    /// budget that it came with.
    #[inline]
    pub(crate) fn start(
        &self,
        asked: Duration,
        cap: Duration,
        outer: Option<Budget>,
        is_client: bool,
    ) -> Limits {
        let outer = outer.filter(|outer| outer.total() < Duration::MAX);
        let limit = if asked == Duration::MAX && outer.is_none() { self.default } else { asked };
        let limit = limit.min(cap);
        let own_head = limit.min(self.head);
        let Some(outer) = outer else {
            let mut budget = Budget::new(limit);
            if let Some(clock) = self.clock {
                budget = budget.with_clock(clock);
            }
            let current =
                Current { budget: Budget { total: own_head, ..budget }, whole: limit, is_client };
            return Limits { current, parent: None, whole_parent: None };
        };
        // Errors name the whole of `outer`, also if that is its layer's limit of the head.
        let part = outer.child(Duration::MAX, self.reserve);
        let all = Budget { total: whole_of(&outer, is_client), ..outer };
        let left = match all.total() {
            Duration::MAX => Duration::MAX,
            total if total == outer.total() => part.total(),
            _ => all.remaining().saturating_sub(self.reserve),
        };
        let end = |left: Duration, own: Duration, outer: &Budget| {
            (self.reserve.is_zero() && left < own).then(|| OuterEnd::of(outer))
        };
        let budget = Budget { total: part.total.min(own_head), ..part };
        Limits {
            current: Current { budget, whole: left.min(limit), is_client },
            parent: end(part.total(), own_head, &outer),
            whole_parent: end(left, limit, &all),
        }
    }

    /// Returns the least time that the headers of a request allow.
    #[inline]
    pub(crate) fn asked(&self, headers: &HeaderMap, is_grpc: bool, counts: &Counts) -> Duration {
        let mut least = Duration::MAX;
        for header in self.headers.iter().filter(|header| header.is_for(is_grpc)) {
            for value in headers.get_all(&header.name) {
                match header.parse(value, self.clock) {
                    Some(asked) => least = least.min(asked),
                    None => counts.unparsable_headers.add_one(),
                }
            }
        }
        if least < Duration::MAX {
            counts.deadlines.add_one();
        }
        least
    }

    /// Returns the cap of a request. `path` is a function, because few layers need the path.
    #[inline]
    pub(crate) fn cap_of<'a>(
        &self,
        method: &Method,
        path: impl FnOnce() -> &'a str,
        headers: &HeaderMap,
    ) -> Duration {
        let own = self.cap_by.as_ref().and_then(|cap| (cap.0)(method, path(), headers));
        own.unwrap_or(self.cap)
    }

    #[inline]
    pub(crate) fn refuses(&self, left: Duration) -> bool {
        left.is_zero() || left < self.floor
    }

    /// Writes the time `left` into every header that the peer knows. Returns `false` if one would
    /// say zero.
    pub(crate) fn write(&self, left: Duration, headers: &mut HeaderMap, is_grpc: bool) -> bool {
        left == Duration::MAX
            || self
                .headers
                .iter()
                .filter(|header| header.is_for(is_grpc))
                .all(|header| header.write(left, headers, self.clock))
    }

    /// Returns the time for a response with its body, whose head is ready after `elapsed`; `None`
    /// if nothing limits the body.
    #[inline]
    pub(crate) fn of_body(
        &self,
        whole: Duration,
        elapsed: impl FnOnce() -> Duration,
    ) -> Option<Duration> {
        let mut total = whole;
        if self.body < Duration::MAX {
            total = total.min(elapsed().saturating_add(self.body));
        }
        (total < Duration::MAX || self.idle < Duration::MAX).then_some(total)
    }
}
