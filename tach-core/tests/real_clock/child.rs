//! The child: a busy process during slews of 100 ppm and steps of 50 ms.

use core::time::Duration;
use std::process;
use std::thread;

use libc::{CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_REALTIME};
use tach_core::{Instant, UnixTime, disruptions};

use crate::clock::{Guard, Saved, read, step};

const SECOND: Duration = Duration::from_secs(1);
/// The time within which a step is found: 100 ms of use, and the next read.
const FOUND: Duration = Duration::from_millis(101);
const SLEW_PPM: i32 = 100;
const STEP_NS: i64 = 50_000_000;
/// The allowed errors during a slew, and otherwise.
const SLEW_BAR_NS: i64 = 15_000;
const CALM_BAR_NS: i64 = 1_000;

#[derive(Debug, Default)]
struct Errors {
    unix: i64,
    elapsed: i64,
    /// The distance of the OS clock from a bound.
    bound: i64,
    /// The error of a clock that ignores slews and steps.
    naive: i64,
}

struct Watch {
    start: Instant,
    monotonic: [i64; 2],
    /// The wall clock minus the clock that is never slewed.
    raw_ahead: i64,
}

impl Watch {
    fn begin() -> Self {
        let before = read(CLOCK_MONOTONIC);
        let start = Instant::now();
        let monotonic = [before, read(CLOCK_MONOTONIC)];
        Self { start, monotonic, raw_ahead: read(CLOCK_REALTIME) - read(CLOCK_MONOTONIC_RAW) }
    }

    /// Compares all reads with the OS clocks for `duration`, about every 100 us.
    fn busy(&self, duration: Duration) -> Errors {
        let mut errors = Errors::default();
        let end = read(CLOCK_MONOTONIC) + ns(duration.as_nanos());
        while read(CLOCK_MONOTONIC) < end {
            let low = read(CLOCK_REALTIME);
            let unix = ns(UnixTime::now().as_nanos().into());
            let naive = read(CLOCK_MONOTONIC_RAW) + self.raw_ahead;
            let high = read(CLOCK_REALTIME);
            errors.unix = errors.unix.max(outside([unix, unix], [low, high]));
            errors.naive = errors.naive.max(outside([naive, naive], [low, high]));
            let low = read(CLOCK_REALTIME);
            let bounded = UnixTime::now_with_uncertainty();
            let high = read(CLOCK_REALTIME);
            let bound = [bounded.earliest(), bounded.latest()];
            let bound = bound.map(|time| ns(time.as_nanos().into()));
            errors.bound = errors.bound.max(outside(bound, [low, high]));
            let low = read(CLOCK_MONOTONIC) - self.monotonic[1];
            let elapsed = ns(self.start.elapsed().as_nanos());
            let high = read(CLOCK_MONOTONIC) - self.monotonic[0];
            errors.elapsed = errors.elapsed.max(outside([elapsed, elapsed], [low, high]));
            thread::sleep(Duration::from_micros(100));
        }
        errors
    }
}

fn outside([earliest, latest]: [i64; 2], [low, high]: [i64; 2]) -> i64 {
    (earliest - high).max(low - latest).max(0)
}

fn ns(ns: u128) -> i64 {
    i64::try_from(ns).expect("a time before 2262")
}

struct Findings {
    good: bool,
}

impl Findings {
    fn at_most(&mut self, what: &str, found_ns: i64, bar_ns: i64) {
        self.holds(found_ns <= bar_ns, &format!("{what} {found_ns} ns (bar {bar_ns})"));
    }

    fn holds(&mut self, good: bool, finding: &str) {
        self.good &= good;
        eprintln!("{} {finding}", if good { "ok  " } else { "FAIL" });
    }

    fn check(&mut self, phase: &str, errors: &Errors, unix_bar_ns: Option<i64>, elapsed_bar: i64) {
        if let Some(bar_ns) = unix_bar_ns {
            self.at_most(&format!("{phase}: unix time off"), errors.unix, bar_ns);
        }
        self.at_most(&format!("{phase}: elapsed off"), errors.elapsed, elapsed_bar);
        self.at_most(&format!("{phase}: OS clock outside of the bound"), errors.bound, 0);
    }
}

pub(crate) fn main() {
    let saved = Saved::now().expect("the clock's state can be read");
    let _guard = Guard(saved);
    let mut findings = Findings { good: true };
    slews(saved, &mut findings);
    steps(&mut findings);
    if !findings.good {
        // `exit` runs no destructors, so the clock is restored here. The parent restores it again.
        saved.restore().expect("the clock can be restored");
        process::exit(1);
    }
}

/// Slews the clock forward and back, so it ends where it would have been.
fn slews(saved: Saved, findings: &mut Findings) {
    let watch = Watch::begin();
    watch.busy(3 * SECOND);
    for ppm in [SLEW_PPM, -SLEW_PPM] {
        let watch = Watch::begin();
        saved.slew(ppm).expect("this process may slew the clock");
        let during = watch.busy(3 * SECOND);
        saved.slew(0).expect("this process may slew the clock");
        let fading = watch.busy(SECOND);
        let after = watch.busy(SECOND);
        let name = |phase| format!("slew of {ppm} ppm, {phase}");
        findings.check(&name("during it"), &during, Some(SLEW_BAR_NS), SLEW_BAR_NS);
        findings.check(&name("in the second after"), &fading, Some(SLEW_BAR_NS), SLEW_BAR_NS);
        findings.check(&name("a second after"), &after, Some(CALM_BAR_NS), CALM_BAR_NS);
        control(findings, &name("during it"), during.naive, SLEW_BAR_NS);
    }
}

fn steps(findings: &mut Findings) {
    for change_ns in [STEP_NS, -STEP_NS] {
        let watch = Watch::begin();
        watch.busy(SECOND);
        let events = disruptions();
        step(change_ns).expect("this process may set the clock");
        let first = watch.busy(FOUND);
        let name = |phase| format!("step of {} ms, {phase}", change_ns / 1_000_000);
        findings.holds(disruptions() > events, &name("counted in 100 ms"));
        let after = watch.busy(SECOND);
        findings.check(&name("at first"), &first, None, CALM_BAR_NS);
        findings.check(&name("after 100 ms"), &after, Some(CALM_BAR_NS), CALM_BAR_NS);
        control(findings, &name("after 100 ms"), after.naive, CALM_BAR_NS);
    }
}

/// Checks that a clock that ignores the change exceeds the same bar.
fn control(findings: &mut Findings, phase: &str, naive_ns: i64, bar_ns: i64) {
    let finding = format!("{phase}: the control is off by {naive_ns} ns, more than {bar_ns}");
    findings.holds(naive_ns > bar_ns, &finding);
}
