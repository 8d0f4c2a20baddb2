//! The public API in a JavaScript host: Node, or the host that wasm-bindgen's test runner selects.
#![cfg(all(target_family = "wasm", target_os = "unknown"))]

use core::fmt::Debug;
use core::time::Duration;

use js_sys::{Date, Function, Reflect};
use tach_core::{
    Anchor, Instant, MonotonicInstant, OrderedInstant, Recalibrator, Source, UnixTime, status,
    unix_nanos,
};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_test::wasm_bindgen_test as test;

/// `Date` has a resolution of 1 ms, and hosts coarsen their fine clock by up to another 1 ms.
const DATE_STEP: Duration = Duration::from_millis(2);

/// The allowed drift of a young page's clock from the system's clock.
const DRIFT: Duration = Duration::from_millis(100);

fn date() -> Duration {
    Duration::from_secs_f64(Date::now() / 1000.0)
}

/// Waits in a loop, since a JavaScript host can't sleep.
fn wait(duration: Duration) {
    let start = date();
    while date() < start + duration {}
}

#[test]
fn no_clock_goes_back() {
    fn never<T: Copy + Debug + PartialOrd>(name: &str, reads: u32, now: impl Fn() -> T) {
        let mut last = now();
        for _ in 0..reads {
            let next = now();
            assert!(next >= last, "{name}: {next:?} after {last:?}");
            last = next;
        }
    }
    let all = |reads| {
        never("Instant", reads, Instant::now);
        never("MonotonicInstant", reads, MonotonicInstant::now);
        never("OrderedInstant", reads, OrderedInstant::now);
        never("unix_nanos", reads, unix_nanos);
    };
    all(100_000);
    with_slow_date(|| all(100));
}

/// Runs `work` on a host that pauses the page for 3 ms after every third read of `Date`.
fn with_slow_date(work: impl Fn()) {
    let slow = "const real = Date.now; \
                let reads = 0; \
                Date.now = () => { \
                    const now = real(), end = now + (++reads % 3 ? 0 : 3); \
                    while (real() < end); \
                    return now; \
                }; \
                () => { Date.now = real }";
    let Ok(restore) = js_sys::eval(slow) else { panic!("the script has an error") };
    work();
    restore.unchecked_into::<Function>().call0(&JsValue::NULL).expect("restores Date.now");
}

#[test]
fn the_clock_moves() {
    let (start, unix) = (Instant::now(), UnixTime::now());
    wait(5 * DATE_STEP);
    assert!(Instant::now() > start && UnixTime::now() > unix);
    assert!(start.elapsed() > Duration::ZERO);
}

#[test]
fn an_instant_keeps_its_unix_time() {
    let instants: Vec<Instant> = (0..1000).map(|_| Instant::now()).collect();
    let times = || instants.iter().map(Instant::unix_time).collect::<Vec<_>>();
    let first = times();
    assert!(first.is_sorted());
    for _ in 0..4 {
        wait(Duration::from_millis(20));
        assert_eq!(times(), first);
    }
}

#[test]
fn sums_and_differences_agree() {
    let start = Instant::now();
    for duration in [Duration::from_nanos(1), Duration::from_millis(3), Duration::from_secs(86_400)]
    {
        assert_eq!((start + duration) - start, duration);
    }
}

#[test]
fn elapsed_time_is_that_of_the_host() {
    let (outer, start, inner) = (date(), Instant::now(), date());
    wait(Duration::from_millis(50));
    let (shortest, elapsed) = (date() - inner, start.elapsed());
    let longest = date() - outer;
    assert!(elapsed + DATE_STEP >= shortest, "{elapsed:?} is less than {shortest:?}");
    assert!(elapsed <= longest + DATE_STEP, "{elapsed:?} is more than {longest:?}");
}

#[test]
fn unix_time_is_that_of_the_host() {
    let ours = || Duration::from_nanos(UnixTime::now().as_nanos());
    let anchored = || {
        let now = Instant::now();
        Duration::from_nanos(Anchor::now().unix_time_at(now).as_nanos())
    };
    for read in [&ours as &dyn Fn() -> Duration, &anchored] {
        let (before, ours, after) = (date(), read(), date());
        assert!(ours + DRIFT >= before, "{ours:?} is before {before:?}");
        assert!(ours <= after + DRIFT, "{ours:?} is after {after:?}");
    }
}

#[test]
fn there_is_no_counter() {
    let _ = Instant::now();
    assert_eq!(status().source, Source::Os);
    let has_performance =
        Reflect::has(&js_sys::global(), &"performance".into()).expect("an object");
    assert_eq!(status().reason.as_str() == "no-monotonic-clock", !has_performance);
}

#[test]
fn a_thread_that_can_not_be_had_is_an_error() {
    let error = Recalibrator::spawn(Duration::from_secs(1)).expect_err("a thread");
    assert_eq!(error.to_string(), "the OS can't start a thread");
}
