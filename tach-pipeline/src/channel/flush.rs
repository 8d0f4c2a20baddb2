//! Requests to write all records, and the answers of the back end.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::time::Instant;

use crate::error::Error;
use crate::stats::Counts;
use crate::sync::{Changed, Lock};

/// A request's number consists of two counts. The bits from this one on count requests because the
/// process ends. The bits below count all other requests.
const ENDS_SHIFT: u32 = 36;

/// The number of the last request, and for each sink the number up to which it is done.
pub(crate) struct Flush {
    requested: AtomicU64,
    state: Lock<State>,
    changed: Changed,
}

/// Why a flush is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    Asked,
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
        Self { requested: AtomicU64::new(0), state: Lock::new(state), changed: Changed::new() }
    }

    /// Requests a flush of all records that were logged before, and returns the request's number.
    pub(crate) fn request(&self, why: Why) -> u64 {
        let more = match why {
            Why::Asked => 1,
            Why::ProcessEnds => 1 << ENDS_SHIFT,
        };
        // ORDERING: Release, with the Acquire of `requested`: the back end sees the caller's
        // records.
        self.requested.fetch_add(more, Ordering::Release) + more
    }

    /// Waits until all sinks are done with the request `number`. `counts` are the sinks'
    /// statistics, for the message of a timeout.
    pub(crate) fn wait(
        &self,
        number: u64,
        timeout: Duration,
        counts: &Counts,
    ) -> Result<(), Error> {
        let start = Instant::now();
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
            let Some(left) = timeout.checked_sub(start.elapsed()).filter(|left| !left.is_zero())
            else {
                let sinks = state.sinks.iter().zip(&counts.sinks);
                let late = sinks.filter(|(sink, _)| sink.number < number);
                let late: Vec<_> = late.map(|(_, counts)| counts.shown()).collect();
                return Err(Error::timed_out(timeout, &late));
            };
            state = self.changed.wait(state, left);
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
