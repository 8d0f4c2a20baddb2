//! The counter goes back: deadlines still end, and durations are right.

use core::sync::atomic::Ordering;
use core::time::Duration;

use tach_core::{AtomicInstant, Budget, Instant, MonotonicInstant, OrderedInstant, UnixTime};

use super::Scenario;
use crate::linux::child::settle;
use crate::linux::machine::{self, COUNTER, HOUR, SECOND};
use crate::linux::mode::Mode;
use crate::linux::report::Report;
use crate::linux::subject::{Anchored, Subject, Tach};
use crate::linux::watch::{Reads, Watch};

/// The allowed error of a deadline.
const LATE_NS: u64 = 100_000_000;
/// The allowed error of elapsed time, from the first call after the event.
const ELAPSED_NS: u64 = 1_000_000;
/// The time after a deadline at which its loop counts as endless.
const ENDLESS: Duration = Duration::from_secs(1);
/// The time within which a change is found: 100 ms of use, and the next read.
const FOUND: Duration = Duration::from_millis(101);
const SOON: Duration = Duration::from_millis(5);

/// Returns whether a deadline lies ahead.
type Waits = Box<dyn Fn() -> bool>;
/// Returns the time since its creation, in ns.
type Stopwatch = Box<dyn Fn() -> u64>;

#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    wait: fn(Duration) -> Waits,
    stopwatch: fn() -> Stopwatch,
}

/// Returns the kind of one of tach's instants.
macro_rules! instant {
    ($name:literal, $Instant:ident) => {
        Kind {
            name: $name,
            wait: |total| {
                let deadline = $Instant::now() + total;
                Box::new(move || $Instant::now() < deadline)
            },
            stopwatch: || {
                let start = $Instant::now();
                Box::new(move || machine::ns(start.elapsed()))
            },
        }
    };
}

const KINDS: [Kind; 5] = [
    instant!("instant", Instant),
    instant!("monotonic", MonotonicInstant),
    instant!("ordered", OrderedInstant),
    Kind {
        name: "atomic",
        wait: |total| {
            let deadline = AtomicInstant::new(Instant::now() + total);
            Box::new(move || Instant::now() < deadline.load(Ordering::Relaxed))
        },
        stopwatch: || {
            let start = AtomicInstant::new(Instant::now());
            Box::new(move || machine::ns(start.load(Ordering::Relaxed).elapsed()))
        },
    },
    Kind {
        name: "budget",
        wait: |total| {
            let budget = Budget::new(total);
            Box::new(move || budget.check().is_ok())
        },
        stopwatch: || {
            let budget = Budget::new(Duration::MAX);
            Box::new(move || machine::ns(budget.elapsed()))
        },
    },
];

/// A bare counter at a fixed rate, for the controls.
const NAIVE: Kind = Kind {
    name: "naive",
    wait: |total| {
        let deadline = machine::read_counter() + machine::ns(total) / 2 * 5;
        Box::new(move || machine::read_counter() < deadline)
    },
    stopwatch: || {
        let start = machine::read_counter();
        Box::new(move || machine::read_counter().saturating_sub(start) / 5 * 2)
    },
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fall {
    /// A suspend of ten seconds, after which the counter starts again.
    ToZero,
    /// A restore with a counter that is lower by this time.
    By(Duration),
    /// A restore on another machine, where `CLOCK_MONOTONIC` is lower too.
    WithClock(Duration),
}

const FALLS: [(&str, Fall); 5] = [
    ("to-0", Fall::ToZero),
    ("by-30ms", Fall::By(Duration::from_millis(30))),
    ("by-10s", Fall::By(Duration::from_secs(10))),
    ("by-1h", Fall::By(HOUR)),
    ("with-clock", Fall::WithClock(HOUR)),
];

impl Fall {
    fn happen(self) {
        match self {
            Self::ToZero => {
                machine::suspend(10 * SECOND);
                COUNTER.set(1_000);
            }
            Self::By(time) => COUNTER.set(COUNTER.value() - machine::ns(time) / 2 * 5),
            Self::WithClock(time) => {
                COUNTER.set(COUNTER.value() - machine::ns(time) / 2 * 5);
                machine::jump_monotonic(-i64::try_from(time.as_secs()).expect("an hour"));
            }
        }
    }

    /// Returns the allowed errors of elapsed time in the first 100 ms, and afterwards.
    ///
    /// If the counter is not below its value at the last look, only the next look notices the fall.
    /// If the OS clock goes back as well, Unix time replaces it, at its last known rate.
    fn elapsed_bars_ns(self) -> (u64, u64) {
        match self {
            Self::By(time) if time < Duration::from_millis(50) => (LATE_NS, ELAPSED_NS),
            Self::WithClock(_) => (LATE_NS, LATE_NS),
            Self::By(_) | Self::ToZero => (ELAPSED_NS, ELAPSED_NS),
        }
    }

    /// Returns a fall that is too large for the naive clock to pass the checks.
    fn at_least_ten_seconds(self) -> Self {
        match self {
            Self::By(time) => Self::By(time.max(10 * SECOND)),
            Self::ToZero | Self::WithClock(_) => self,
        }
    }
}

/// The process's work before the counter goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    /// It reads and converts for a second.
    Busy,
    /// It reads for an hour, and converts nothing.
    ReadOnly,
    /// It has just started. It reads and converts once, and idles for a second.
    Fresh,
}

impl Before {
    fn name(self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::ReadOnly => "read-only",
            Self::Fresh => "fresh",
        }
    }

    fn length(self) -> Duration {
        match self {
            Self::Busy | Self::Fresh => SECOND,
            Self::ReadOnly => HOUR,
        }
    }

    fn begin(self) {
        if self != Self::Fresh {
            settle();
        }
    }

    /// Lets the time pass; `read` reads the kind under test.
    fn pass(self, read: impl Fn()) {
        if self == Self::Fresh {
            read();
            let _ = (UnixTime::now(), Instant::now().elapsed());
            machine::pass(self.length());
            return;
        }
        let step = self.length() / 250;
        for _ in 0..250 {
            machine::pass(step);
            read();
            if self == Self::Busy {
                let _ = (UnixTime::now(), Instant::now().elapsed());
            }
        }
    }
}

pub(crate) fn scenarios() -> Vec<Scenario> {
    let mut all = Vec::new();
    for (fall_name, fall) in FALLS {
        for before in [Before::Busy, Before::ReadOnly, Before::Fresh] {
            for kind in KINDS {
                let name =
                    |what| format!("back/{fall_name}/{what}/{}/{}", before.name(), kind.name);
                let naive_fall = fall.at_least_ten_seconds();
                all.push(
                    Scenario::new(
                        name("deadline"),
                        move |report| deadlines(kind, fall, before, report),
                        move |report| deadlines(NAIVE, naive_fall, before, report),
                    )
                    .except(if before == Before::Fresh {
                        &[Mode::Moved]
                    } else {
                        &[]
                    }),
                );
                all.push(Scenario::new(
                    name("elapsed"),
                    move |report| elapsed(kind, fall, before, report),
                    move |report| elapsed(NAIVE, naive_fall, before, report),
                ));
            }
        }
    }
    for (fall_name, fall) in FALLS {
        for reads in [Reads::Plain, Reads::Unix, Reads::Bounds] {
            all.push(Scenario::new(
                format!("back/{fall_name}/{}", reads.name()),
                move |report| watched::<Tach>(fall, reads, report),
                move |report| watched::<Anchored>(fall, reads, report),
            ));
        }
    }
    all
}

fn watched<S: Subject>(fall: Fall, reads: Reads, report: &mut Report) {
    settle();
    let mut watch = Watch::<S>::begin(reads);
    watch.busy(2 * SECOND).check_claims("before", report);
    fall.happen();
    let first = watch.busy(FOUND);
    let after = watch.busy(10 * SECOND);
    report.at_most_ns("unix time off after 100 ms", after.unix_ns, ELAPSED_NS);
    let (first_bar_ns, bar_ns) = fall.elapsed_bars_ns();
    report.at_most_ns("elapsed off at first", first.elapsed_ns, first_bar_ns);
    report.at_most_ns("elapsed off after 100 ms", after.elapsed_ns, bar_ns);
    first.check_claims("at first", report);
    after.check_claims("after 100 ms", report);
}

/// Checks that loops end at their deadlines.
fn deadlines(kind: Kind, fall: Fall, before: Before, report: &mut Report) {
    before.begin();
    // The event comes 2 ms before the deadline.
    let start_ns = machine::lived_ns();
    let waits = (kind.wait)(before.length() + SOON);
    before.pass(|| _ = waits());
    machine::pass(Duration::from_millis(3));
    fall.happen();
    let deadline_ns = start_ns + machine::ns(before.length() + SOON);
    check_end("the deadline during which the counter went back", wait(&waits, deadline_ns), report);
    // The counter is lower now, but later deadlines work too.
    for (what, total) in [("a deadline in 5 ms", SOON), ("a deadline in 1 h", HOUR)] {
        let deadline_ns = machine::lived_ns() + machine::ns(total);
        check_end(what, wait(&(kind.wait)(total), deadline_ns), report);
    }
}

/// Waits while `waits` returns true. Returns the error of the end, or `None` if the loop is
/// endless.
fn wait(waits: &Waits, deadline_ns: u64) -> Option<u64> {
    while waits() {
        let now_ns = machine::lived_ns();
        if now_ns > deadline_ns + machine::ns(ENDLESS) {
            return None;
        }
        // The steps are small near the deadline, and at most a second.
        let step_ns = (now_ns.abs_diff(deadline_ns) / 50).clamp(10_000, 1_000_000_000);
        machine::pass(Duration::from_nanos(step_ns));
    }
    Some(machine::lived_ns().abs_diff(deadline_ns))
}

fn check_end(what: &str, off_ns: Option<u64>, report: &mut Report) {
    match off_ns {
        Some(off_ns) => report.at_most_ns(&format!("{what} off"), off_ns, LATE_NS),
        None => report.holds(false, format!("{what} had not ended after {ENDLESS:?}")),
    }
}

/// Checks elapsed time from the first call after the event, for an hour.
fn elapsed(kind: Kind, fall: Fall, before: Before, report: &mut Report) {
    before.begin();
    let start_ns = machine::lived_ns();
    let stopwatch = (kind.stopwatch)();
    let waits = (kind.wait)(100 * HOUR);
    before.pass(|| _ = waits());
    fall.happen();
    let off_ns = || stopwatch().abs_diff(machine::lived_ns() - start_ns);
    let (first_bar_ns, bar_ns) = fall.elapsed_bars_ns();
    report.at_most_ns("the first call off", off_ns(), first_bar_ns);
    let mut worst_ns = 0;
    for _ in 0..100 {
        machine::pass(Duration::from_millis(1));
        worst_ns = off_ns().max(worst_ns);
    }
    report.at_most_ns("100 ms off", worst_ns, first_bar_ns);
    worst_ns = 0;
    for _ in 0..400 {
        machine::pass(Duration::from_millis(5));
        worst_ns = off_ns().max(worst_ns);
    }
    report.at_most_ns("two seconds off", worst_ns, bar_ns);
    for _ in 0..720 {
        machine::pass(5 * SECOND);
        worst_ns = off_ns().max(worst_ns);
    }
    report.at_most_ns("720 calls in an hour off", worst_ns, bar_ns);
}
