//! `MonotonicInstant` and `OrderedInstant` under every kind of happens-before.

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use core::time::Duration;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Barrier, Mutex, PoisonError};
use std::thread;
use std::time::Instant as StdInstant;

use tach_core::{Clock, Instant, MonotonicInstant, Order, OrderedInstant, SystemClock, status};

/// A clock whose readings must never decrease along happens-before.
type Read = fn() -> u64;

/// Returns the clocks that promise strict order on this machine. `OrderedInstant` promises it
/// unless order has to be enforced.
fn clocks() -> Vec<Read> {
    let mut clocks: Vec<Read> = vec![|| Instant::from(MonotonicInstant::now()).as_ticks()];
    if status().order != Order::Enforced {
        clocks.push(|| Instant::from(OrderedInstant::now()).as_ticks());
    }
    clocks
}

/// Reads a flawed clock, the positive control: every second reading is late by more than a slow
/// hand-off takes. (The bare read may show no inversion in such a short time.)
fn flawed() -> u64 {
    static READS: AtomicU64 = AtomicU64::new(0);
    let late = (READS.fetch_add(1, Ordering::Relaxed) % 2) << 34;
    Instant::from(MonotonicInstant::now()).as_ticks().saturating_sub(late)
}

/// A way to hand a reading on. Returns the number of later readings that were less than an earlier
/// one.
type HandOff = fn(Read) -> u64;

const HAND_OFFS: &[(&str, HandOff)] = &[
    ("an atomic that is loaded", by_atomic),
    ("an atomic, turn by turn", by_turns),
    ("a mutex", by_mutex),
    ("channels", by_channels),
    ("threads that start and end", by_threads),
    #[cfg(target_os = "linux")]
    ("a move to another CPU", affinity::by_migration),
];

#[test]
#[cfg_attr(target_family = "wasm", ignore = "there are no threads")]
fn strict_order_is_kept_under_every_hand_off() {
    for read in clocks() {
        for (name, hand_off) in HAND_OFFS {
            assert_eq!(hand_off(read), 0, "{name}");
        }
    }
}

#[test]
#[cfg_attr(target_family = "wasm", ignore = "there are no threads")]
fn no_strict_read_precedes_an_early_one_whose_result_it_has_seen() {
    let strict: Read = || Instant::from(MonotonicInstant::now()).as_ticks();
    assert_eq!(by_announcement(|| SystemClock.early_now().as_ticks(), strict), 0);
    let ahead: Read = || SystemClock.early_now().as_ticks() + (1 << 34);
    assert!(by_announcement(ahead, strict) > 0, "the control showed no inversion");
}

#[test]
#[cfg_attr(target_family = "wasm", ignore = "there are no threads")]
fn a_clock_that_goes_back_is_caught_under_every_hand_off() {
    for (name, hand_off) in HAND_OFFS {
        assert!(hand_off(flawed) > 0, "{name}");
    }
}

/// Runs `check` on two threads for 100 ms, and checks the time once in a thousand calls.
fn on_two_threads(check: impl Fn() -> u64 + Sync) -> u64 {
    let barrier = Barrier::new(2);
    let run = || {
        barrier.wait();
        let (start, mut found) = (StdInstant::now(), 0);
        while start.elapsed() < Duration::from_millis(100) {
            found += (0..1000).map(|_| check()).sum::<u64>();
        }
        found
    };
    thread::scope(|scope| {
        let other = scope.spawn(run);
        run() + other.join().unwrap()
    })
}

/// Loads the other thread's reading, reads, and publishes the result.
fn by_atomic(read: Read) -> u64 {
    let published = AtomicU64::new(0);
    on_two_threads(|| {
        let theirs = published.load(Ordering::Acquire);
        let mine = read();
        published.fetch_max(mine, Ordering::AcqRel);
        u64::from(mine < theirs)
    })
}

/// Reads with `tell` and announces the turn; the other thread sees the announcement and calls
/// `read`. The readings are compared at the end, so no store waits for them.
fn by_announcement(tell: Read, read: Read) -> usize {
    const TURNS: usize = 100_000;
    let announced = AtomicUsize::new(0);
    let announce = || {
        let mut told = Vec::with_capacity(TURNS);
        for turn in 1..=TURNS {
            let now = tell();
            announced.store(turn, Ordering::Release);
            told.push(now);
        }
        told
    };
    let (told, seen) = thread::scope(|scope| {
        let other = scope.spawn(announce);
        let mut seen = vec![(0, 0)];
        while seen.last().is_some_and(|&(turn, _)| turn < TURNS) {
            let turn = announced.load(Ordering::Acquire);
            let now = read();
            if seen.last().is_some_and(|&(last, _)| last < turn) {
                seen.push((turn, now));
            } else {
                // With one core, the other thread needs this core.
                thread::yield_now();
            }
        }
        (other.join().unwrap(), seen)
    });
    seen.iter().filter(|&&(turn, now)| turn > 0 && now < told[turn - 1]).count()
}

/// Each thread waits for the other's reading and answers with its own.
fn by_turns(read: Read) -> u64 {
    const TURNS: u64 = 2000;
    let (value, turn) = (AtomicU64::new(0), AtomicU64::new(0));
    let run = |parity| {
        let mut found = 0;
        for mine in (parity..TURNS).step_by(2) {
            while turn.load(Ordering::Acquire) != mine {
                thread::yield_now();
            }
            let now = read();
            found += u64::from(now < value.load(Ordering::Relaxed));
            value.store(now, Ordering::Relaxed);
            turn.store(mine + 1, Ordering::Release);
        }
        found
    };
    thread::scope(|scope| {
        let other = scope.spawn(move || run(1));
        run(0) + other.join().unwrap()
    })
}

fn by_mutex(read: Read) -> u64 {
    let last = Mutex::new(0);
    on_two_threads(|| {
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        let now = read();
        let found = u64::from(now < *last);
        *last = now;
        found
    })
}

/// Sends a reading to the other thread and back.
fn by_channels(read: Read) -> u64 {
    fn answer(read: Read, from: &Receiver<u64>, to: &Sender<u64>) -> u64 {
        let mut found = 0;
        for theirs in from {
            let mine = read();
            found += u64::from(mine < theirs);
            // The receiver of the last message has ended.
            if to.send(mine).is_err() {
                break;
            }
        }
        found
    }
    let ((to_other, from_me), (to_me, from_other)) = (mpsc::channel(), mpsc::channel());
    let other = thread::spawn(move || answer(read, &from_me, &to_me));
    let mut found = 0;
    for _ in 0..1000 {
        to_other.send(read()).unwrap();
        let theirs = from_other.recv().unwrap();
        found += u64::from(read() < theirs);
    }
    drop(to_other);
    found + other.join().unwrap()
}

/// Reads before a thread starts, on that thread, and after it has ended.
fn by_threads(read: Read) -> u64 {
    let mut found = 0;
    for _ in 0..200 {
        let before = read();
        let within = thread::spawn(read).join().unwrap();
        let after = read();
        found += u64::from(within < before) + u64::from(after < within);
    }
    found
}

/// Threads that are pinned to CPUs.
#[cfg(target_os = "linux")]
mod affinity {
    use core::sync::atomic::AtomicUsize;
    use std::io;

    use core_affinity::CoreId;

    use super::{AtomicU64, Barrier, Ordering, Read, clocks, flawed, thread};

    fn cpus() -> Vec<CoreId> {
        core_affinity::get_core_ids().unwrap()
    }

    fn pin(cpu: CoreId) {
        let is_pinned = core_affinity::set_for_current(cpu);
        assert!(is_pinned, "{cpu:?}: {}", io::Error::last_os_error());
    }

    /// Moves a thread from CPU to CPU and reads on each.
    pub(super) fn by_migration(read: Read) -> u64 {
        let run = move || {
            let (cpus, mut last, mut found) = (cpus(), 0, 0);
            for round in 0..2000 {
                pin(cpus[round % cpus.len()]);
                let now = read();
                found += u64::from(now < last);
                last = now;
            }
            found
        };
        thread::spawn(run).join().unwrap()
    }

    /// Runs a thread on each CPU that loads the next thread's reading, reads, and publishes. Ends
    /// when each thread has seen the next one's reading change often enough.
    fn on_pinned_threads(read: Read) -> u64 {
        const CHANGES: u32 = 2000;
        let cpus = cpus();
        let published: Vec<_> = cpus.iter().map(|_| AtomicU64::new(0)).collect();
        let (barrier, done) = (Barrier::new(cpus.len()), AtomicUsize::new(0));
        let run = |i: usize| {
            pin(cpus[i]);
            barrier.wait();
            let theirs = &published[(i + 1) % cpus.len()];
            let (mut found, mut changes, mut last) = (0, 0, 0);
            while done.load(Ordering::Relaxed) < cpus.len() {
                let before = theirs.load(Ordering::Acquire);
                let now = read();
                published[i].store(now, Ordering::Release);
                found += u64::from(now < before);
                if before != last {
                    last = before;
                    changes += 1;
                    if changes == CHANGES {
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
            found
        };
        thread::scope(|scope| {
            let run = &run;
            let threads: Vec<_> = (0..cpus.len()).map(|i| scope.spawn(move || run(i))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        })
    }

    #[test]
    fn strict_order_is_kept_between_threads_that_stay_on_their_cpus() {
        for read in clocks() {
            assert_eq!(on_pinned_threads(read), 0);
        }
        assert!(on_pinned_threads(flawed) > 0, "the flawed clock showed no inversion");
    }
}
