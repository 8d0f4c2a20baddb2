//! Spans that several threads enter at once.

use core::time::Duration;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, ScopedJoinHandle};
use std::time::Instant;

use tach_core::ManualClock;
use tracing::{Dispatch, Span, dispatcher};

use super::{assert_durations, assert_within, ns, timed};

/// An order to a thread, which answers when it has carried it out.
#[derive(Debug, Clone, Copy)]
enum Act {
    Enter,
    Exit,
}

struct Workers<'scope> {
    orders: Vec<Sender<(Act, Sender<()>)>>,
    threads: Vec<ScopedJoinHandle<'scope, ()>>,
}

impl<'scope> Workers<'scope> {
    fn start<'env>(
        count: usize,
        scope: &'scope thread::Scope<'scope, 'env>,
        dispatch: &'env Dispatch,
        span: &'env Span,
    ) -> Self {
        let (orders, threads) = (0..count)
            .map(|_| {
                let (sender, orders) = channel::<(Act, Sender<()>)>();
                let work = move || {
                    let mut entered = Vec::new();
                    for (act, done) in orders {
                        match act {
                            Act::Enter => entered.push(span.enter()),
                            Act::Exit => drop(entered.pop()),
                        }
                        done.send(()).unwrap();
                    }
                };
                (sender, scope.spawn(move || dispatcher::with_default(dispatch, work)))
            })
            .unzip();
        Self { orders, threads }
    }

    fn order(&self, worker: usize, act: Act) {
        let (done, is_done) = channel();
        self.orders[worker].send((act, done)).unwrap();
        is_done.recv().unwrap();
    }

    fn finish(self) {
        drop(self.orders);
        self.threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}

#[test]
fn busy_is_when_at_least_one_thread_is_inside() {
    let clock = Arc::new(ManualClock::default());
    let (subscriber, reader) = timed(clock.clone());
    let dispatch = Dispatch::new(subscriber);
    let span = dispatcher::with_default(&dispatch, || tracing::info_span!("span"));
    thread::scope(|scope| {
        let workers = Workers::start(2, scope, &dispatch, &span);
        clock.advance(ns(1));
        workers.order(0, Act::Enter);
        clock.advance(ns(10));
        workers.order(1, Act::Enter);
        clock.advance(ns(100));
        workers.order(0, Act::Exit);
        clock.advance(ns(1000));
        workers.order(1, Act::Exit);
        clock.advance(ns(10_000));
        workers.finish();
    });
    drop(span);
    assert_durations(reader.only(), 11_111, 1110);
}

/// Returns the next number of a random sequence (xorshift), below `below`.
fn random(seed: &mut u64, below: u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed % below
}

#[test]
fn any_order_of_enters_and_exits_adds_up() {
    for mut seed in 1..=20_u64 {
        let first = seed;
        let clock = Arc::new(ManualClock::default());
        let (subscriber, reader) = timed(clock.clone());
        let dispatch = Dispatch::new(subscriber);
        let span = dispatcher::with_default(&dispatch, || tracing::info_span!("span"));
        let mut depths = [0_u32; 3];
        let (mut age, mut busy) = (0, 0);
        thread::scope(|scope| {
            let workers = Workers::start(depths.len(), scope, &dispatch, &span);
            for _ in 0..200 {
                let worker = usize::try_from(random(&mut seed, 3)).unwrap();
                if depths[worker] > 0 && random(&mut seed, 2) == 0 {
                    workers.order(worker, Act::Exit);
                    depths[worker] -= 1;
                } else {
                    workers.order(worker, Act::Enter);
                    depths[worker] += 1;
                }
                let passed = random(&mut seed, 1000);
                clock.advance(ns(passed));
                age += passed;
                busy += if depths == [0; 3] { 0 } else { passed };
            }
            for (worker, depth) in depths.into_iter().enumerate() {
                (0..depth).for_each(|_| workers.order(worker, Act::Exit));
            }
            workers.finish();
        });
        drop(span);
        let durations = reader.only();
        assert_eq!([durations.age, durations.busy], [age, busy].map(ns), "seed {first}");
    }
}

/// Each thread measures inside and around with the standard library's clock.
#[test]
fn racing_threads_agree_with_their_own_measurements() {
    let (subscriber, reader) = timed(tach_core::SystemClock);
    let dispatch = Dispatch::new(subscriber);
    let span = dispatcher::with_default(&dispatch, || tracing::info_span!("span"));
    let start = Instant::now();
    let visit = || {
        let (mut inside, mut around) = (Duration::ZERO, Duration::ZERO);
        for _ in 0..1000 {
            let before = Instant::now();
            span.in_scope(|| {
                let entered = Instant::now();
                span.in_scope(|| while entered.elapsed() < Duration::from_micros(5) {});
                inside += entered.elapsed();
            });
            around += before.elapsed();
        }
        (inside, around)
    };
    let visits: Vec<_> = thread::scope(|scope| {
        let visit = || dispatcher::with_default(&dispatch, visit);
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(visit)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let whole = start.elapsed();
    drop(span);
    let durations = reader.only();
    let inside: Vec<_> = visits.iter().map(|visit| visit.0).collect();
    // At least the longest time of a thread, and at most the time of all threads.
    let least = *inside.iter().max().unwrap();
    assert_within(
        durations.busy,
        least,
        visits.iter().map(|visit| visit.1).sum::<Duration>().min(whole),
    );
}
