//! The machine is disturbed 1,000 times: the last time is mended like the first.

use core::time::Duration;

use tach_core::{Instant, MonotonicInstant, UnixTime};

use super::Scenario;
use crate::linux::interpose::refuse;
use crate::linux::machine::{self, COUNTER, MONOTONIC, REALTIME, SECOND};
use crate::linux::report::Report;

const TIMES: u64 = 1_000;
/// The time of use within which an event is mended.
const MENDED: Duration = Duration::from_millis(50);
/// The allowed error of elapsed time across one event.
const ACROSS_NS: u64 = 51_000_000;
const SOON: Duration = Duration::from_millis(5);
/// The allowed error of a deadline in 5 ms and of Unix time, once the event is mended.
const BAR_NS: u64 = 100_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    /// A restore elsewhere: the counter and `CLOCK_MONOTONIC` start lower.
    Restore,
    /// `CLOCK_MONOTONIC` starts lower.
    OsClock,
    /// `CLOCK_MONOTONIC` starts lower while `CLOCK_REALTIME` can't be read.
    OnlyClock,
    /// The counter starts again.
    Regression,
    Suspend,
}

impl Event {
    fn happen(self) {
        match self {
            Self::Restore => {
                COUNTER.set(1_000);
                machine::jump_monotonic(-2);
            }
            Self::OsClock => machine::jump_monotonic(-2),
            Self::OnlyClock => {
                refuse(&[libc::CLOCK_REALTIME]);
                machine::jump_monotonic(-2);
            }
            Self::Regression => COUNTER.set(1_000),
            Self::Suspend => machine::suspend(10 * SECOND),
        }
    }
}

/// Returns the time since its creation, in ns.
type Stopwatch = Box<dyn Fn() -> u64>;

/// A clock under test.
#[derive(Clone, Copy)]
struct Clock {
    /// Two times that must not fall.
    now: [fn() -> u64; 2],
    stopwatch: fn() -> Stopwatch,
    unix_ns: fn() -> u64,
}

const TACH: Clock = Clock {
    now: [|| Instant::now().as_ticks(), || Instant::from(MonotonicInstant::now()).as_ticks()],
    stopwatch: || {
        let start = MonotonicInstant::now();
        Box::new(move || machine::ns(start.elapsed()))
    },
    unix_ns: || UnixTime::now().as_nanos(),
};

/// For a program that never asks for Unix time, so that its Unix timeline shows no rate.
const WITHOUT_UNIX_TIME: Clock = Clock { unix_ns: || machine::read_os(&REALTIME), ..TACH };

/// The counter at its first rate, and the wall clock, for the controls.
const BARE: Clock = Clock {
    now: [machine::read_counter; 2],
    stopwatch: || {
        let start = machine::read_counter();
        Box::new(move || machine::read_counter().saturating_sub(start) * 2 / 5)
    },
    unix_ns: || machine::read_os(&REALTIME),
};

const OS: Clock = Clock {
    now: [|| machine::read_os(&MONOTONIC); 2],
    stopwatch: || {
        let start_ns = machine::read_os(&MONOTONIC);
        Box::new(move || machine::read_os(&MONOTONIC).saturating_sub(start_ns))
    },
    ..BARE
};

pub(crate) fn scenarios() -> Vec<Scenario> {
    let scenario = |(name, clock, event): (&str, Clock, Event)| {
        let is_os_clocks = matches!(event, Event::OsClock | Event::OnlyClock);
        let control = if is_os_clocks { OS } else { BARE };
        Scenario::new(
            format!("again/{name}"),
            move |report| again(clock, event, report),
            move |report| again(control, event, report),
        )
    };
    [
        ("restore", TACH, Event::Restore),
        ("restore/without-unix-time", WITHOUT_UNIX_TIME, Event::Restore),
        ("os-clock", TACH, Event::OsClock),
        ("os-clock/alone", WITHOUT_UNIX_TIME, Event::OnlyClock),
        ("regression", TACH, Event::Regression),
        ("suspend", TACH, Event::Suspend),
    ]
    .map(scenario)
    .into()
}

fn again(clock: Clock, event: Event, report: &mut Report) {
    for _ in 0..6_000 {
        machine::pass(Duration::from_millis(10));
        _ = ((clock.unix_ns)(), (clock.stopwatch)()());
    }
    let (mut across_ns, mut soon_ns, mut unix_ns, mut backwards) = (0, 0, 0, 0);
    let mut last = clock.now.map(|now| now());
    for _ in 0..TIMES {
        machine::pass(SECOND);
        let mut error_ns = |happen: &dyn Fn(), duration| {
            let (start_ns, elapsed_ns) = (machine::lived_ns(), (clock.stopwatch)());
            happen();
            while machine::lived_ns() < start_ns + machine::ns(duration) {
                let now = clock.now.map(|now| now());
                backwards += now.iter().zip(&last).filter(|(now, last)| now < last).count() as u64;
                last = now;
                _ = (elapsed_ns(), (clock.unix_ns)());
                machine::pass(Duration::from_micros(500));
            }
            elapsed_ns().abs_diff(machine::lived_ns() - start_ns)
        };
        across_ns = error_ns(&|| event.happen(), MENDED).max(across_ns);
        soon_ns = error_ns(&|| (), SOON).max(soon_ns);
        unix_ns = (clock.unix_ns)().abs_diff(REALTIME.value()).max(unix_ns);
    }
    report.at_most("steps back", backwards, 0);
    report.at_most_ns("elapsed across an event off", across_ns, ACROSS_NS);
    report.at_most_ns("5 ms after it off", soon_ns, BAR_NS);
    report.at_most_ns("unix time after it off", unix_ns, BAR_NS);
}
