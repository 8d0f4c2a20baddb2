//! A manual clock in place of the system's, for one thread. A program of its own, since all threads
//! of the process take the slower path to the clock afterwards.

use core::time::Duration;
use std::panic::catch_unwind;
use std::sync::mpsc;
use std::thread;
use std::time::Instant as StdInstant;

use tach_core::{
    Anchor, Budget, Clock, Instant, ManualClock, MonotonicInstant, OrderedInstant, SystemClock,
    UnixTime, unix_nanos, uptime,
};

const SECOND: Duration = Duration::from_secs(1);
const START: UnixTime = UnixTime::from_nanos(1_700_000_000_000_000_000);

fn clock() -> &'static ManualClock {
    Box::leak(Box::new(ManualClock::new(START)))
}

/// Returns whether this thread reads the system's clock.
fn is_real() -> bool {
    let system = UnixTime::from_system_time(std::time::SystemTime::now());
    let is_near = |time: UnixTime| {
        let off = time.checked_duration_since(system).or(system.checked_duration_since(time));
        off.is_some_and(|off| off < 60 * SECOND)
    };
    is_near(UnixTime::now()) && is_near(Instant::now().unix_time())
}

#[test]
fn every_free_read_is_the_manual_clocks() {
    // While another test begins the timelines, uptime has no origin yet, and is zero.
    while uptime().is_zero() {
        thread::yield_now();
    }
    let clock = clock();
    clock.during(|| {
        let (bare, ordered, strict) =
            (Instant::now(), OrderedInstant::now(), MonotonicInstant::now());
        let (early, system) = (SystemClock.early_now(), SystemClock.monotonic_now());
        let (budget, anchor, up) = (Budget::new(3 * SECOND), Anchor::now(), uptime());
        assert_eq!([bare, ordered.into(), strict.into(), early, system], [clock.now(); 5]);
        assert_eq!((anchor.instant(), anchor.unix_time(), up), (bare, START, Duration::ZERO));
        clock.advance(SECOND);
        assert_eq!([bare.elapsed(), ordered.elapsed(), strict.elapsed()], [SECOND; 3]);
        assert_eq!([Instant::now() - bare, SystemClock.elapsed(bare)], [SECOND; 2]);
        assert_eq!((budget.elapsed(), budget.remaining()), (SECOND, 2 * SECOND));
        assert_eq!(uptime(), up + SECOND);
        assert_eq!(anchor.unix_time_at(Instant::now()), START + SECOND);
        let deadline = Instant::now() + SECOND;
        assert!(Instant::now() < deadline);
        clock.advance(SECOND);
        assert_eq!(Instant::now(), deadline);
    });
    assert!(is_real());
}

#[test]
fn unix_time_is_the_manual_clocks_in_all_forms() {
    let clock = clock();
    clock.during(|| {
        let first = Instant::now();
        clock.advance(SECOND);
        clock.step_back(5 * SECOND);
        let now = START - 4 * SECOND;
        assert_eq!((UnixTime::now(), SystemClock.unix_time(), clock.unix_time()), (now, now, now));
        assert_eq!(unix_nanos(), now.as_nanos());
        assert_eq!((Instant::now().unix_time(), Anchor::now().unix_time()), (now, now));
        assert_eq!(SystemClock.anchor().unix_time(), now);
        assert_eq!(UnixTime::now_with_uncertainty().time(), now);
        assert_eq!(first.unix_time(), START, "an instant keeps its time across a step");
    });
}

#[test]
#[cfg_attr(target_family = "wasm", ignore = "a panic ends the program")]
fn calls_nest_and_end_by_a_panic() {
    let (outer, inner) = (clock(), clock());
    inner.advance(SECOND);
    outer.during(|| {
        inner.during(|| assert_eq!(UnixTime::now(), START + SECOND));
        assert_eq!(UnixTime::now(), START);
        let panic = catch_unwind(|| inner.during(|| panic!("as this test expects")));
        assert!(panic.is_err());
        assert_eq!(UnixTime::now(), START);
    });
    assert!(is_real());
}

#[test]
#[cfg_attr(target_family = "wasm", ignore = "there are no threads")]
fn other_threads_read_the_systems_clock() {
    clock().during(|| {
        assert!(!is_real());
        assert!(thread::spawn(is_real).join().unwrap());
    });
}

#[test]
#[cfg_attr(target_family = "wasm", ignore = "a panic ends the program")]
fn instants_of_both_clocks_do_not_mix_unnoticed() {
    let (clock, real) = (clock(), Instant::now());
    let manual = clock.during(Instant::now);
    assert_eq!(manual, clock.now());
    let mixed: [fn(Instant, Instant); 3] = [
        |real, _| _ = real.elapsed(),
        |real, _| _ = Instant::now() - real,
        |_, manual| _ = std::time::Instant::from(manual),
    ];
    for (i, act) in mixed.into_iter().enumerate() {
        let act = || clock.during(|| act(real, manual));
        assert!(catch_unwind(act).is_err(), "case {i}");
    }
    let outside: [fn(Instant); 2] =
        [|manual| _ = manual.elapsed(), |manual| _ = manual.unix_time()];
    for (i, act) in outside.into_iter().enumerate() {
        assert!(catch_unwind(|| act(manual)).is_err(), "case {i}");
    }
}

/// One thread enters and leaves again and again. Two others pass instants to and fro.
#[test]
#[cfg_attr(target_family = "wasm", ignore = "there are no threads")]
fn no_read_of_another_thread_goes_back() {
    let start = StdInstant::now();
    let lasts = || start.elapsed() < SECOND;
    thread::scope(|scope| {
        let (to_first, from_second) = mpsc::sync_channel::<MonotonicInstant>(1);
        let (to_second, from_first) = mpsc::sync_channel::<MonotonicInstant>(1);
        let follow = move |to: mpsc::SyncSender<_>, from: mpsc::Receiver<MonotonicInstant>| {
            let mut last = Instant::now();
            let _ = to.send(MonotonicInstant::now());
            while let Ok(seen) = from.recv() {
                let (now, bare) = (MonotonicInstant::now(), Instant::now());
                assert!(now >= seen, "{now:?} was read after {seen:?}");
                assert!(bare >= last, "{bare:?} was read after {last:?}");
                last = bare;
                if !lasts() || to.send(now).is_err() {
                    return;
                }
            }
        };
        scope.spawn(move || follow(to_second, from_second));
        scope.spawn(move || follow(to_first, from_first));
        let clock = clock();
        while lasts() {
            clock.during(|| assert_eq!(UnixTime::now(), START));
        }
    });
    assert!(is_real());
}
