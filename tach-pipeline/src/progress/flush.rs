//! Requests to write all records, and the answers of the back end.

use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use crate::error::Error;
use crate::stats::{Counts, SinkCounts};
use crate::sync::{Changed, Lock};
use tach_record::channel::Signals;

/// How often a caller that waits because the process ends checks whether sinks stall.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
/// A longer wait counts as this. The clock of some systems can't represent much more.
const ENDLESS: Duration = Duration::from_secs(24 * 60 * 60);
/// A sink that wrote nothing during a wait of this length stalls.
const STALLED: Duration = Duration::from_secs(1);

/// The number of the last request, and for each sink the number up to which it is done.
pub(crate) struct Flush {
    signals: Arc<Signals>,
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

struct State {
    sinks: Vec<Done>,
    /// The number up to which the back end has passed the requests to the sinks.
    passed_on: u64,
    /// The ends of the waits.
    deadlines: Vec<Instant>,
    /// Whether the back end has ended.
    ended: bool,
}

#[derive(Clone, Default)]
struct Done {
    number: u64,
    /// The reason why the last flush failed, or `None` if it succeeded.
    failure: Option<String>,
    /// The last request that the failure concerns: none after the sink was closed.
    concerned: u64,
    /// How much the sink had written when it was first seen to be late, and when that was.
    late: Option<(u64, Instant)>,
}

impl Done {
    fn new(number: u64, failure: Option<String>) -> Self {
        Self { number, failure, concerned: u64::MAX, late: None }
    }

    /// Notes whether the sink has written anything since it was first seen to be late. If a wait
    /// ends in vain, and the sink has written nothing for [`STALLED`], marks the sink as stalled.
    /// Shorter waits add up.
    fn look(&mut self, counts: &SinkCounts, is_in_vain: bool) {
        let written = counts.bytes.get();
        let is_late = !counts.is_remote && counts.waiting() > 0;
        if !is_late || self.late.is_none_or(|(before, _)| before != written) {
            self.late = is_late.then(|| (written, Instant::now()));
        }
        if is_in_vain && self.late.is_some_and(|(_, since)| since.elapsed() >= STALLED) {
            counts.is_stalled.set(true);
        }
    }
}

impl State {
    /// Returns why the request `number` failed.
    fn failure(&self, number: u64) -> Option<String> {
        let mut concerned = self.sinks.iter().filter(|sink| number <= sink.concerned);
        concerned.find_map(|sink| sink.failure.clone())
    }
}

impl Flush {
    /// Creates the state for a number of sinks.
    pub(crate) fn new(sinks: usize, signals: Arc<Signals>) -> Self {
        let sinks = vec![Done::default(); sinks];
        let state = State { sinks, passed_on: 0, deadlines: Vec::new(), ended: false };
        Self { signals, state: Lock::new(state), changed: Changed::new() }
    }

    /// Calls `f`, which waits because the process ends. Meanwhile the back end waits for no sink.
    pub(crate) fn at_end<R>(&self, f: impl FnOnce() -> R) -> R {
        self.signals.bell.begin_end();
        let result = f();
        self.signals.bell.finish_end();
        result
    }

    /// Returns whether a caller waits because the process ends.
    pub(crate) fn is_end_awaited(&self) -> bool {
        self.signals.bell.is_end_awaited()
    }

    /// Calls `f`, which requests a flush and waits for it up to `timeout`.
    pub(crate) fn within<R>(&self, timeout: Duration, f: impl FnOnce() -> R) -> R {
        let deadline = Instant::now() + timeout.min(ENDLESS);
        self.state.lock().deadlines.push(deadline);
        let result = f();
        let deadlines = &mut self.state.lock().deadlines;
        if let Some(at) = deadlines.iter().position(|it| *it == deadline) {
            deadlines.swap_remove(at);
        }
        result
    }

    /// Returns the time at which the first of the waiting callers gives up.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let now = Instant::now();
        self.state.lock().deadlines.iter().copied().filter(|end| *end > now).min()
    }

    /// Requests a flush of all records that were logged before, and returns the request's number.
    pub(crate) fn request(&self, why: Why) -> u64 {
        match why {
            Why::Asked | Why::Urgent => self.signals.bell.request(),
            Why::ProcessEnds => self.signals.bell.request_end(),
        }
    }

    /// Waits until all sinks are done with the request `number`. `counts` are the sinks'
    /// statistics. If the process may end, does not wait once the back end has passed the request
    /// on and only those sinks are left that were already waited for in vain. After an urgent
    /// record, does not wait for sinks of other machines and for sinks that fail.
    pub(crate) fn wait(
        &self,
        number: u64,
        why: Why,
        timeout: Duration,
        counts: &Counts,
    ) -> Result<(), Error> {
        let start = Instant::now();
        let mut state = self.state.lock();
        loop {
            let left = timeout.saturating_sub(start.elapsed());
            let is_passed_on = state.passed_on >= number;
            let is_late = |sink: &Done, counts: &SinkCounts| {
                let may_fail = counts.is_remote || counts.is_failing.get();
                let is_skipped = is_passed_on && why == Why::Urgent && may_fail;
                sink.number < number && !is_skipped
            };
            let (mut is_done, mut is_in_vain) = (true, is_passed_on);
            let sinks = counts.sinks();
            for (sink, counts) in state.sinks.iter_mut().zip(&*sinks) {
                if !is_late(sink, counts) {
                    continue;
                }
                // Only a sink that has received the request can stall.
                if is_passed_on {
                    sink.look(counts, left.is_zero());
                }
                is_in_vain &= counts.is_stalled.get();
                is_done = false;
            }
            if is_done {
                return state.failure(number).map_or(Ok(()), |failure| Err(Error::sink(failure)));
            }
            if state.ended {
                // The back end flushes at its end. If that flush failed, all waiting requests
                // fail.
                return Err(state.failure(number).map_or_else(Error::ended, Error::sink));
            }
            let is_end = why != Why::Asked;
            if left.is_zero() || is_end && is_in_vain {
                let late: Vec<_> = state
                    .sinks
                    .iter()
                    .zip(&*sinks)
                    .filter(|&(sink, counts)| is_late(sink, counts))
                    .map(|(_, counts)| counts.shown())
                    .collect();
                // State the time waited: the wait ends early if only stalled sinks are left.
                return Err(Error::timed_out(waited(start.elapsed(), timeout), &late));
            }
            let pause = if is_end { left.min(BETWEEN_LOOKS) } else { left };
            state = self.changed.wait(state, pause);
        }
    }

    pub(crate) fn requested(&self) -> u64 {
        self.signals.bell.requested()
    }

    /// Marks the requests up to `number`, with all records before, as passed on to the sinks.
    pub(crate) fn passed_on(&self, number: u64) {
        self.state.lock().passed_on = number;
        self.changed.notify();
    }

    /// Marks the requests up to `number` as done by a sink. `failure` is the reason if the flush
    /// failed.
    pub(crate) fn done(&self, sink: usize, number: u64, failure: Option<String>) {
        self.change(|state| state.sinks[sink] = Done::new(number, failure));
    }

    /// Begins to wait for a sink that is opened, from the next request that is passed on.
    pub(crate) fn opened(&self, sink: usize) {
        self.change(|state| {
            let done = Done::new(state.passed_on, None);
            match state.sinks.get_mut(sink) {
                Some(closed) => *closed = done,
                None => state.sinks.push(done),
            }
        });
    }

    /// Marks the requests up to `number` as failed for all sinks.
    pub(crate) fn failed(&self, number: u64, failure: &str) {
        self.change(|state| {
            let failed = Done::new(number, Some(failure.to_owned()));
            let open = state.sinks.iter_mut().filter(|sink| sink.number <= number);
            open.for_each(|sink| sink.clone_from(&failed));
        });
    }

    /// Marks the back end as ended. `failure` is the reason if its last flush failed.
    pub(crate) fn end(&self, failure: Option<&str>) {
        self.change(|state| {
            state.ended = true;
            for sink in &mut state.sinks {
                sink.failure = failure.map(str::to_owned);
            }
        });
        self.signals.has_ended.on();
    }

    /// Changes the state for the callers that wait, and for signal handlers.
    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.lock();
        change(&mut state);
        let done = state.sinks.iter().map(|sink| sink.number).min();
        self.signals.bell.done(done.filter(|_| !state.ended).unwrap_or(u64::MAX));
        drop(state);
        self.changed.notify();
    }
}

#[cfg(feature = "config")]
impl Flush {
    /// Returns whether a sink is done with the request `number`.
    pub(crate) fn is_done(&self, sink: usize, number: u64) -> bool {
        self.state.lock().sinks[sink].number >= number
    }

    /// Ends the waits for a sink that was closed. `failure` is the reason if the present requests
    /// failed.
    pub(crate) fn closed(&self, sink: usize, failure: Option<String>) {
        let concerned = self.requested();
        self.change(|state| {
            state.sinks[sink] = Done { concerned, ..Done::new(u64::MAX, failure) };
        });
    }
}

/// Returns the time of a wait, as an error names it: in whole milliseconds if it took one, at most
/// `timeout`.
fn waited(elapsed: Duration, timeout: Duration) -> Duration {
    let named = match u64::try_from(elapsed.as_millis()) {
        Ok(0) => elapsed,
        milliseconds => Duration::from_millis(milliseconds.unwrap_or(u64::MAX)),
    };
    named.min(timeout)
}

#[cfg(test)]
mod tests {
    use tach_record::channel::bell::is_end_between;

    use super::*;
    use crate::stats::Items;

    #[test]
    fn a_request_at_the_end_of_the_process_is_told_from_others() {
        let flush = Flush::new(0, Arc::default());
        let mut numbers = vec![flush.requested()];
        for why in [Why::Asked, Why::ProcessEnds, Why::Asked, Why::ProcessEnds] {
            numbers.push(flush.request(why));
        }
        assert!(numbers.is_sorted_by(|one, next| one < next));
        let ends: Vec<_> =
            numbers.windows(2).map(|pair| is_end_between(pair[0], pair[1])).collect();
        assert_eq!(ends, [false, true, false, true]);
    }

    #[test]
    fn the_sinks_hurry_for_the_caller_that_gives_up_first() {
        let flush = Flush::new(0, Arc::default());
        let left = || flush.deadline().map(|end| end.saturating_duration_since(Instant::now()));
        assert_eq!(left(), None);
        flush.within(Duration::MAX, || {
            let of_endless = left().unwrap();
            assert!(of_endless > ENDLESS / 2);
            flush.within(ENDLESS / 4, || assert!(left().unwrap() <= ENDLESS / 4));
            // The flush whose time is over no longer counts.
            flush.within(Duration::ZERO, || assert!(left().unwrap() > ENDLESS / 2));
            assert!(left().unwrap() > ENDLESS / 2);
        });
        assert_eq!(left(), None);
    }

    #[cfg(feature = "config")]
    #[test]
    fn a_closed_sink_fails_the_requests_before() {
        let (flush, counts) = (Flush::new(0, Arc::default()), Counts::new(vec![Arc::default()]));
        let wait = |number| flush.wait(number, Why::Asked, BETWEEN_LOOKS, &counts);
        flush.opened(0);
        let before = flush.request(Why::Asked);
        flush.passed_on(before);
        flush.closed(0, Some("full".to_owned()));
        let after = flush.request(Why::Asked);
        assert_eq!(wait(before).unwrap_err().to_string(), "full");
        wait(after).unwrap();
        flush.passed_on(after);
        // Another sink takes the place of the closed one.
        flush.opened(0);
        wait(after).unwrap();
        let last = flush.request(Why::Asked);
        assert!(wait(last).unwrap_err().is_timeout() && !flush.is_done(0, last));
        flush.failed(last, "panicked");
        assert_eq!(wait(last).unwrap_err().to_string(), "panicked");
    }

    /// The statistics of a sink for which a record waits, and of an idle one.
    fn busy_and_idle() -> Counts {
        let sinks: Vec<Arc<SinkCounts>> = vec![Arc::default(), Arc::default()];
        sinks[0].taken.add(1);
        Counts::new(sinks)
    }

    fn stalled(counts: &Counts) -> Vec<bool> {
        counts.sinks().iter().map(|sink| sink.is_stalled.get()).collect()
    }

    #[test]
    fn only_a_sink_that_has_records_to_write_stalls() {
        let (flush, counts) = (Flush::new(2, Arc::default()), busy_and_idle());
        let number = flush.request(Why::Asked);
        // The back end still waits for a full sink.
        assert!(flush.wait(number, Why::Asked, STALLED, &counts).unwrap_err().is_timeout());
        assert_eq!(stalled(&counts), [false, false]);
        flush.passed_on(number);
        let timeout = STALLED * 3 / 2;
        assert!(flush.wait(number, Why::Asked, timeout, &counts).unwrap_err().is_timeout());
        assert_eq!(stalled(&counts), [true, false]);
    }

    #[test]
    fn the_end_waits_until_the_sinks_have_their_records() {
        let (flush, counts) = (Flush::new(2, Arc::default()), busy_and_idle());
        counts.sinks().iter().for_each(|sink| sink.is_stalled.set(true));
        let number = flush.request(Why::ProcessEnds);
        let start = Instant::now();
        let short = 2 * BETWEEN_LOOKS;
        assert!(flush.wait(number, Why::ProcessEnds, short, &counts).is_err());
        assert!(start.elapsed() >= short);
        flush.passed_on(number);
        let error = flush.wait(number, Why::ProcessEnds, Duration::MAX, &counts).unwrap_err();
        assert!(!error.to_string().contains(&format!("{:?}", Duration::MAX)), "{error}");
    }

    #[test]
    fn short_waits_for_a_sink_that_writes_nothing_add_up() {
        let (flush, counts) = (Flush::new(2, Arc::default()), busy_and_idle());
        let start = Instant::now();
        while !counts.sinks()[0].is_stalled.get() {
            let number = flush.request(Why::Urgent);
            flush.passed_on(number);
            flush.done(1, number, None);
            let short = BETWEEN_LOOKS / 2;
            assert!(flush.wait(number, Why::Urgent, short, &counts).unwrap_err().is_timeout());
            assert!(start.elapsed() < 30 * STALLED, "the waits don't add up");
        }
        assert!(start.elapsed() >= STALLED);
    }

    #[test]
    fn an_urgent_record_waits_for_no_collector_and_no_sink_that_fails() {
        let far = Arc::new(SinkCounts::new("far".to_owned(), Items::RECORDS, true));
        let (flush, near) =
            (Flush::new(2, Arc::default()), Arc::clone(&busy_and_idle().sinks()[0]));
        let counts = Counts::new(vec![near, far]);
        let number = flush.request(Why::Urgent);
        let wait = || flush.wait(number, Why::Urgent, BETWEEN_LOOKS, &counts);
        counts.sinks()[0].is_failing.set(true);
        assert!(wait().is_err(), "the record is in the queue");
        flush.passed_on(number);
        wait().unwrap();
        counts.sinks()[0].is_failing.set(false);
        assert!(wait().is_err());
        flush.done(0, number, None);
        wait().unwrap();
    }
}
