//! How long a collector that never takes some events holds up the others, in virtual time.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use tach_core::UnixTime;

use super::super::*;
use super::*;
use crate::owner::Owner;

/// The length of an event, which consists of its number.
const EVENT: usize = size_of::<u32>();
/// How many events a request may have.
const MOST: usize = 256;
/// How long a bad event may hold up others.
const BAR: Duration = Duration::from_secs(2);
const END: Duration = Duration::from_secs(240);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reply {
    Accept,
    Later,
    /// Like `Later`, and asks for a pause of that time.
    After(Duration),
    Whole,
    Never,
}

type Replies = Box<dyn FnMut(&[u32], Duration) -> Reply + Send>;

/// A collector in virtual time, and a client whose pauses are as long as those of tach-otlp can be.
struct Collector {
    now: Duration,
    /// How long each answer takes.
    round_trip: Duration,
    retry_for: Duration,
    /// Replies to a request with these events at that time.
    reply: Replies,
    last: Reply,
    /// The last pause without jitter, and its end.
    pause: Option<Duration>,
    next: Duration,
    asks: bool,
    /// When each request came, and with how many events.
    requests: Vec<(Duration, usize)>,
    /// When each event was accepted.
    accepted: BTreeMap<u32, Duration>,
}

#[derive(Clone)]
struct Shared(Arc<Mutex<Collector>>);

impl Shared {
    fn new(
        retry_for: Duration,
        reply: impl FnMut(&[u32], Duration) -> Reply + Send + 'static,
    ) -> Self {
        Self(Arc::new(Mutex::new(Collector {
            now: Duration::ZERO,
            round_trip: Duration::ZERO,
            retry_for,
            reply: Box::new(reply),
            last: Reply::Accept,
            pause: None,
            next: Duration::ZERO,
            asks: false,
            requests: Vec::new(),
            accepted: BTreeMap::new(),
        })))
    }

    fn lock(&self) -> MutexGuard<'_, Collector> {
        self.0.lock().unwrap()
    }
}

impl Receiver for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let events = bytes.chunks(EVENT).map(|event| u32::from_le_bytes(event.try_into().unwrap()));
        let events: Vec<_> = events.collect();
        let mut guard = self.lock();
        let it = &mut *guard;
        it.requests.push((it.now, events.len()));
        let reply = (it.reply)(&events, it.now);
        it.last = reply;
        it.now += it.round_trip;
        let asked = match reply {
            Reply::Later => None,
            Reply::After(asked) => Some(asked),
            Reply::Accept | Reply::Whole | Reply::Never => {
                (it.pause, it.next) = (None, it.now);
                if reply != Reply::Accept {
                    return Err(io::Error::other("refused"));
                }
                for event in events {
                    assert!(it.accepted.insert(event, it.now).is_none(), "{event} comes twice");
                }
                return Ok(bytes.len());
            }
        };
        let pause = it
            .pause
            .map_or(Duration::from_millis(500), |last| (last * 3 / 2).min(Duration::from_secs(5)));
        it.pause = Some(pause);
        it.next = it.now + asked.unwrap_or(pause * 3 / 2);
        it.asks = asked.is_some();
        Err(io::Error::other("later"))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn most_bytes(&self) -> usize {
        MOST * EVENT
    }

    fn pause(&self) -> Duration {
        let it = self.lock();
        it.next.saturating_sub(it.now)
    }

    fn asks_for_pause(&self) -> bool {
        self.lock().asks && !self.pause().is_zero()
    }

    fn has_refused(&self) -> bool {
        matches!(self.lock().last, Reply::Whole | Reply::Never)
    }

    fn has_refused_whole(&self) -> bool {
        self.lock().last == Reply::Whole
    }

    fn end_pause(&mut self) {
        let mut it = self.lock();
        (it.pause, it.next) = (None, it.now);
    }

    fn retries_for(&self) -> Duration {
        self.lock().retry_for
    }
}

/// Counts the events that were written or dropped.
#[derive(Default)]
struct Ledger {
    written: u64,
    dropped: u64,
}

impl Owner for Ledger {
    type Label = ();

    fn wrote(&mut self, _: usize, events: usize) {
        self.written += events as u64;
    }

    fn lost(&mut self, events: &[(UnixTime, ())]) {
        self.dropped += events.len() as u64;
    }

    fn failed(&mut self, _: Task, _: &io::Error, _: usize, _: Duration) {}

    fn recovered(&mut self, _: Task) {}

    fn reason(&self, error: Option<&io::Error>) -> String {
        format!("{error:?}")
    }
}

/// How many events come at first, and in each second after that.
struct Traffic {
    first: u32,
    more: u32,
}

struct Run {
    collector: Shared,
    /// When each event came.
    came: Vec<Duration>,
    output: Output<Ledger>,
    batch: Batch<()>,
}

impl Run {
    /// Sends until each event that `is_awaited` was accepted, or until the end.
    fn new(
        traffic: &Traffic,
        is_awaited: impl Fn(u32) -> bool,
        reply: impl FnMut(&[u32], Duration) -> Reply + Send + 'static,
    ) -> Self {
        Self::until(Duration::MAX, traffic, is_awaited, reply)
    }

    /// Like [`new`](Self::new). Events that fail for `retry_for` are given up.
    fn until(
        retry_for: Duration,
        traffic: &Traffic,
        is_awaited: impl Fn(u32) -> bool,
        reply: impl FnMut(&[u32], Duration) -> Reply + Send + 'static,
    ) -> Self {
        let mut run = Self::idle(retry_for, reply);
        run.add(traffic.first, Duration::ZERO);
        run.run(traffic.more, is_awaited);
        run
    }

    /// Returns a run without events.
    fn idle(
        retry_for: Duration,
        reply: impl FnMut(&[u32], Duration) -> Reply + Send + 'static,
    ) -> Self {
        let collector = Shared::new(retry_for, reply);
        let output = Output::new(Box::new(collector.clone()), Ledger::default());
        Self { collector, came: Vec::new(), output, batch: Batch::new() }
    }

    fn now(&self) -> Duration {
        self.collector.lock().now
    }

    /// Adds events that came at that time.
    fn add(&mut self, count: u32, came: Duration) {
        for _ in 0..count {
            let number = u32::try_from(self.came.len()).unwrap();
            let event = |to: &mut Vec<u8>| {
                to.extend(number.to_le_bytes());
                Ok(())
            };
            self.batch.add((UnixTime::EPOCH, ()), event).unwrap();
            self.came.push(came);
        }
    }

    /// Sends until each event that `is_awaited` was accepted, or until the end.
    fn run(&mut self, more: u32, is_awaited: impl Fn(u32) -> bool) {
        self.run_until(END, more, |run| {
            let it = run.collector.lock();
            let numbers = 0..u32::try_from(run.came.len()).unwrap();
            let mut awaited = numbers.filter(|&number| is_awaited(number));
            awaited.all(|number| it.accepted.contains_key(&number))
        });
    }

    /// Sends until the run `is_over`, or until `end`.
    fn run_until(&mut self, end: Duration, more: u32, is_over: impl Fn(&Self) -> bool) {
        let mut next = self.now() + Duration::from_secs(1);
        while self.now() < end {
            let due = self.output.due(&self.batch);
            let now = self.now();
            let until = if more > 0 { next.max(now) } else { end };
            let at = due.map_or(until, |due| now + due);
            self.collector.lock().now = at.min(until);
            if at >= until {
                self.add(more, next);
                next += Duration::from_secs(1);
            } else {
                let dropped = self.output.owner.dropped;
                let done = self.output.write_now(&mut self.batch);
                assert!(done.is_err() || self.output.owner.dropped == dropped, "lost silently");
            }
            self.output.aside.pass(self.now().saturating_sub(now));
            if is_over(self) {
                return;
            }
        }
    }

    /// Returns how long an accepted event waited.
    fn wait(&self, number: u32) -> Duration {
        self.collector.lock().accepted[&number].saturating_sub(self.came[number as usize])
    }

    /// Returns the longest time that an accepted event waited.
    fn longest(&self) -> Duration {
        let it = self.collector.lock();
        let waits =
            it.accepted.iter().map(|(&number, at)| at.saturating_sub(self.came[number as usize]));
        waits.max().unwrap_or_default()
    }

    /// Returns how many of the first `count` events were accepted.
    fn accepted(&self, count: u32) -> usize {
        self.collector.lock().accepted.range(..count).count()
    }

    fn requests(&self) -> usize {
        self.collector.lock().requests.len()
    }
}

/// Returns the reply of a collector that fails each request with a bad event.
fn unless_bad(
    bad: impl Fn(u32) -> bool + Send + 'static,
    reply: Reply,
) -> impl FnMut(&[u32], Duration) -> Reply + Send + 'static {
    move |events, _| if events.iter().any(|&event| bad(event)) { reply } else { Reply::Accept }
}

/// Tries each place of the bad event, with and without further events.
#[test]
fn one_bad_event_holds_no_other_up() {
    for first in [2, 3, 100, 256, 300] {
        for at in 0..first {
            for more in [0, 10] {
                let traffic = Traffic { first, more };
                let is_bad = move |number| number == at;
                let run = Run::new(
                    &traffic,
                    |number| number < first && !is_bad(number),
                    unless_bad(is_bad, Reply::Later),
                );
                let (accepted, longest) = (run.accepted(first), run.longest());
                assert_eq!(accepted, first as usize - 1, "{first} {at} {more}");
                assert!(longest <= BAR, "{first} {at} {more}: {longest:?}");
                // Halving the longest request down to the bad event takes eight steps of two
                // requests.
                assert!(run.requests() <= 30, "{first} {at} {more}: {}", run.requests());
                assert_eq!(run.output.owner.dropped, 0);
            }
        }
    }
}

/// No part begins with a bad event, so the first split finds an event that is accepted.
#[test]
fn many_bad_events_hold_no_other_up_for_long() {
    let each = [3, 5, 10, 50];
    for (each, at) in each.into_iter().flat_map(|each| (1..each).map(move |at| (each, at))) {
        for more in [0, 20] {
            let is_bad = move |number| number % each == at;
            let run = Run::new(
                &Traffic { first: 100, more },
                |number| number < if more > 0 { 500 } else { 100 } && !is_bad(number),
                unless_bad(is_bad, Reply::Later),
            );
            let longest = run.longest();
            assert!(run.now() < END && longest <= 2 * BAR, "{each} {at} {more}: {longest:?}");
            assert_eq!(run.output.owner.dropped, 0);
        }
    }
}

/// An answer that refuses a request for good shows too that the collector works.
#[test]
fn a_refused_event_holds_no_other_up() {
    for reply in [Reply::Whole, Reply::Never] {
        for at in [0, 1, 50, 98, 99] {
            // The collector refuses the bad event alone for good, but a request with other events
            // only for now.
            let run = Run::new(
                &Traffic { first: 100, more: 0 },
                |number| number != at,
                move |events, _| match events {
                    [event] if *event == at => reply,
                    events if events.contains(&at) => Reply::Later,
                    _ => Reply::Accept,
                },
            );
            assert!(run.longest() <= BAR, "{reply:?} {at}: {:?}", run.longest());
            assert!(run.requests() <= 30, "{reply:?} {at}: {}", run.requests());
            let run = Run::new(
                &Traffic { first: 100, more: 0 },
                |number| number != at,
                unless_bad(move |number| number == at, reply),
            );
            // `Whole` lets the sink halve the request, so only half of it is dropped.
            let most = if reply == Reply::Whole { 50 } else { 100 };
            let dropped = run.output.owner.dropped;
            assert!(dropped <= most && run.requests() <= 3, "{reply:?} {at}: {dropped}");
            assert_eq!(run.accepted(100) as u64 + dropped, 100);
        }
    }
}

#[test]
fn a_collector_that_is_down_gets_one_request_after_each_pause() {
    for end in [3, 30, 200].map(Duration::from_secs) {
        for more in [0, 10] {
            let run = Run::new(
                &Traffic { first: 1000, more },
                |number| number < 1000,
                move |_, now| if now < end { Reply::Later } else { Reply::Accept },
            );
            let it = run.collector.lock();
            assert_eq!(it.accepted.range(..1000).count(), 1000);
            let down = it.requests.partition_point(|&(at, _)| at < end);
            let (before, after) = it.requests.split_at(down);
            let pauses = before.windows(2).map(|two| two[1].0.saturating_sub(two[0].0));
            assert!(pauses.min() >= Some(Duration::from_millis(750)), "{before:?}");
            let single = after.iter().filter(|&&(_, events)| events == 1).count();
            assert!(single <= 10, "events that were split off: {after:?}");
            assert_eq!(run.output.owner.dropped, 0);
        }
    }
}

/// Nothing is halved, though requests are accepted before others fail.
#[test]
fn a_limit_of_requests_loses_no_event() {
    for (asks, more, most) in [(true, 0, 10), (true, 10, 10), (false, 0, 100)] {
        for pace in [200, 1000, 3000].map(Duration::from_millis) {
            let mut last = None::<Duration>;
            let run = Run::new(
                &Traffic { first: 1000, more },
                |number| number < 1000,
                move |_, now| match last {
                    Some(last) if now < last + pace && asks => {
                        Reply::After(pace.saturating_sub(now.saturating_sub(last)))
                    }
                    Some(last) if now < last + pace => Reply::Later,
                    _ => {
                        last = Some(now);
                        Reply::Accept
                    }
                },
            );
            let name = format!("{asks} {pace:?} {more}: {:?}", run.collector.lock().requests);
            assert_eq!((run.accepted(1000), run.output.owner.dropped), (1000, 0), "{name}");
            assert!(run.requests() <= most, "{name}");
        }
    }
}

#[test]
fn only_the_bad_event_is_given_up() {
    for at in [0, 50, 99] {
        let run = Run::until(
            Duration::from_secs(3),
            &Traffic { first: 100, more: 0 },
            |_| true,
            unless_bad(move |number| number == at, Reply::Later),
        );
        assert_eq!((run.accepted(100), run.output.owner.dropped), (99, 1), "{at}");
        let reply = unless_bad(move |number| number == at, Reply::Later);
        let mut run = Run::idle(Duration::from_secs(3), reply);
        run.add(100, Duration::ZERO);
        run.run_until(END, 10, |_| false);
        assert_eq!((run.accepted(100), run.output.owner.dropped), (99, 1), "{at}");
    }
    let run = Run::until(
        Duration::from_secs(3),
        &Traffic { first: 100, more: 0 },
        |_| true,
        |_, _| Reply::Later,
    );
    assert_eq!((run.accepted(100), run.output.owner.dropped), (0, 100));
}

/// Once a bad event is known, its pauses delay no other event.
#[test]
fn a_good_event_after_a_long_silence_waits_for_no_bad_one() {
    for (at, end) in (0..3).flat_map(|at| (5..120).map(move |end| (at, end))) {
        let mut run =
            Run::idle(Duration::MAX, unless_bad(move |number| number == at, Reply::Later));
        run.add(3, Duration::ZERO);
        let end = Duration::from_secs(end);
        run.run_until(end, 0, |_| false);
        run.add(1, end);
        run.run(0, |number| number == 3);
        let wait = run.wait(3);
        assert!(wait <= BAR, "{at} {end:?}: {wait:?} {:?}", run.collector.lock().requests);
        assert!(run.requests() <= 20, "{at} {end:?}: {:?}", run.collector.lock().requests);
    }
}

/// Each try of the bad event costs the pause that the collector asks for, so the tries get rare.
#[test]
fn a_bad_event_for_which_the_collector_asks_for_pauses_is_tried_less_and_less() {
    let asked = Duration::from_secs(10);
    let reply = unless_bad(|number| number == 0, Reply::After(asked));
    let mut run = Run::idle(Duration::MAX, reply);
    run.add(1, Duration::ZERO);
    run.run_until(END, 1, |_| false);
    let half = u32::try_from(run.came.len()).unwrap() / 2;
    let late: Vec<_> = (half..2 * half - 20).map(|number| run.wait(number)).collect();
    let held_up = late.iter().filter(|wait| **wait > Duration::from_secs(1)).count();
    assert!(held_up * 3 <= late.len(), "{held_up} of {}: {late:?}", late.len());
    assert!(late.into_iter().max() <= Some(asked + Duration::from_secs(1)));
    assert_eq!(run.output.owner.dropped, 0);
}

/// Events that a limit refuses stand alone soon, and have their turn nevertheless.
#[test]
fn a_limit_of_requests_loses_no_single_event() {
    for pace in [500, 1000, 1500, 3000, 5000].map(Duration::from_millis) {
        let mut last = None::<Duration>;
        let mut run = Run::idle(Duration::from_secs(60), move |_, now| match last {
            Some(last) if now < last + pace => {
                Reply::After(pace.saturating_sub(now.saturating_sub(last)))
            }
            _ => {
                last = Some(now);
                Reply::Accept
            }
        });
        run.run_until(END, 1, |_| false);
        let name = format!("{pace:?}: {:?}", run.collector.lock().requests);
        assert_eq!(run.output.owner.dropped, 0, "{name}");
        let came = u32::try_from(run.came.len()).unwrap();
        let early =
            (0..came - 30).all(|number| run.collector.lock().accepted.contains_key(&number));
        assert!(early, "{name}");
    }
}

/// Each answer takes a while, and a hundred events fail alone.
#[test]
fn new_events_wait_for_at_most_one_that_fails_alone() {
    let is_bad = |number| number < 400 && number % 4 == 1;
    let mut run = Run::idle(Duration::MAX, unless_bad(is_bad, Reply::Later));
    run.collector.lock().round_trip = Duration::from_millis(50);
    run.add(400, Duration::ZERO);
    run.run_until(END, 20, |_| false);
    let came = run.came.len();
    let settled = (0..came).filter(|&at| run.came[at] > END / 4 && run.came[at] + BAR < END);
    let waits = settled.map(|number| run.wait(u32::try_from(number).unwrap()));
    let longest = waits.max();
    assert!(longest <= Some(BAR), "{longest:?}");
    assert_eq!(run.output.owner.dropped, 0);
}
