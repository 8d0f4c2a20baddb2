//! Requests to write all records, and the answers of the back end.

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use core::time::Duration;
use std::time::Instant;

use crate::error::Error;
use crate::stats::{Counts, SinkCounts};
use crate::sync::{Changed, Lock};

/// A request's number consists of two counts. The bits from this one on count requests because the
/// process ends. The bits below count all other requests.
const ENDS_SHIFT: u32 = 36;
/// How often a caller that waits because the process ends checks whether sinks stall.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
/// A sink that wrote nothing during a wait of this length stalls.
const STALLED: Duration = Duration::from_secs(1);

/// The number of the last request, and for each sink the number up to which it is done.
pub(crate) struct Flush {
    requested: AtomicU64,
    /// How many callers wait because the process ends.
    ends: AtomicUsize,
    state: Lock<State>,
    changed: Changed,
}

/// Why a flush is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    Asked,
    /// A record was logged after which the process may end.
    Urgent,
    /// The process is probably about to end.
    ProcessEnds,
}

/// Returns whether a request after `before` and up to `after` was made because the process ends.
pub(crate) fn is_end_between(before: u64, after: u64) -> bool {
    before >> ENDS_SHIFT != after >> ENDS_SHIFT
}

struct State {
    sinks: Vec<Done>,
    /// Whether the back end has ended.
    ended: bool,
}

#[derive(Clone, Default)]
struct Done {
    number: u64,
    /// The reason why the last flush failed, or `None` if it succeeded.
    failure: Option<String>,
}

impl State {
    fn failure(&self) -> Option<String> {
        self.sinks.iter().find_map(|sink| sink.failure.clone())
    }
}

impl Flush {
    /// Creates the state for a number of sinks.
    pub(crate) fn new(sinks: usize) -> Self {
        let state = State { sinks: vec![Done::default(); sinks], ended: false };
        Self {
            requested: AtomicU64::new(0),
            ends: AtomicUsize::new(0),
            state: Lock::new(state),
            changed: Changed::new(),
        }
    }

    /// Calls `f`, which waits because the process ends. Meanwhile the back end waits for no sink.
    pub(crate) fn at_end<R>(&self, f: impl FnOnce() -> R) -> R {
        // ORDERING: Relaxed: publishes nothing.
        self.ends.fetch_add(1, Ordering::Relaxed);
        let result = f();
        // ORDERING: Relaxed, as above.
        self.ends.fetch_sub(1, Ordering::Relaxed);
        result
    }

    /// Returns whether a caller waits because the process ends.
    pub(crate) fn is_end_awaited(&self) -> bool {
        // ORDERING: Relaxed, as in `at_end`.
        self.ends.load(Ordering::Relaxed) > 0
    }

    /// Requests a flush of all records that were logged before, and returns the request's number.
    pub(crate) fn request(&self, why: Why) -> u64 {
        let more = match why {
            Why::Asked | Why::Urgent => 1,
            Why::ProcessEnds => 1 << ENDS_SHIFT,
        };
        // ORDERING: Release, with the Acquire of `requested`: the back end sees the caller's
        // records.
        self.requested.fetch_add(more, Ordering::Release) + more
    }

    /// Waits until all sinks are done with the request `number`. `counts` are the sinks'
    /// statistics. If the process may end, does not wait once only those sinks are left that were
    /// already waited for in vain.
    pub(crate) fn wait(
        &self,
        number: u64,
        why: Why,
        timeout: Duration,
        counts: &Counts,
    ) -> Result<(), Error> {
        let start = Instant::now();
        let bytes: Vec<_> = counts.sinks.iter().map(|sink| sink.bytes.get()).collect();
        let mut state = self.state.lock();
        loop {
            if state.sinks.iter().all(|sink| sink.number >= number) {
                return state.failure().map_or(Ok(()), |failure| Err(Error::sink(failure)));
            }
            if state.ended {
                // The back end flushes at its end. If that flush failed, all waiting requests
                // fail.
                return Err(state.failure().map_or_else(Error::ended, Error::sink));
            }
            let sinks = state.sinks.iter().zip(counts.sinks.iter().zip(&bytes));
            let late = sinks.filter(|(sink, _)| sink.number < number);
            let late = late.map(|(_, (counts, bytes))| (counts, *bytes));
            let is_end = why != Why::Asked;
            let left = timeout.saturating_sub(start.elapsed());
            if left.is_zero() || is_end && late.clone().all(|(counts, _)| counts.is_stalled.get()) {
                if timeout >= STALLED {
                    let is_stalled = |counts: &SinkCounts, bytes| {
                        !counts.is_remote && counts.bytes.get() == bytes
                    };
                    let stalled = late.clone().filter(|(counts, bytes)| is_stalled(counts, *bytes));
                    stalled.for_each(|(counts, _)| counts.is_stalled.set(true));
                }
                let late = late.map(|(counts, _)| counts);
                let late: Vec<_> = late.map(|counts| counts.shown()).collect();
                return Err(Error::timed_out(timeout, &late));
            }
            let pause = if is_end { left.min(BETWEEN_LOOKS) } else { left };
            state = self.changed.wait(state, pause);
        }
    }

    pub(crate) fn requested(&self) -> u64 {
        // ORDERING: Acquire, with the Release of `request`.
        self.requested.load(Ordering::Acquire)
    }

    /// Marks the requests up to `number` as done by a sink. `failure` is the reason if the flush
    /// failed.
    pub(crate) fn done(&self, sink: usize, number: u64, failure: Option<String>) {
        self.state.lock().sinks[sink] = Done { number, failure };
        self.changed.notify();
    }

    /// Marks the requests up to `number` as failed for all sinks.
    pub(crate) fn failed(&self, number: u64, failure: &str) {
        for sink in &mut self.state.lock().sinks {
            *sink = Done { number, failure: Some(failure.to_owned()) };
        }
        self.changed.notify();
    }

    /// Marks the back end as ended. `failure` is the reason if its last flush failed.
    pub(crate) fn end(&self, failure: Option<&str>) {
        let mut state = self.state.lock();
        state.ended = true;
        for sink in &mut state.sinks {
            sink.failure = failure.map(str::to_owned);
        }
        drop(state);
        self.changed.notify();
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.state.lock().ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_at_the_end_of_the_process_is_told_from_others() {
        let flush = Flush::new(0);
        let mut numbers = vec![flush.requested()];
        for why in [Why::Asked, Why::ProcessEnds, Why::Asked, Why::ProcessEnds] {
            numbers.push(flush.request(why));
        }
        assert!(numbers.is_sorted_by(|one, next| one < next));
        let ends: Vec<_> =
            numbers.windows(2).map(|pair| is_end_between(pair[0], pair[1])).collect();
        assert_eq!(ends, [false, true, false, true]);
    }
}
