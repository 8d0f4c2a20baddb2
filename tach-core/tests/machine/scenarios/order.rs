//! The OS clock steps back, or differs between two CPUs: no clock of a thread goes back.

use core::time::Duration;
use std::sync::OnceLock;

use tach_core::UnixTime;
use tach_core::{
    Anchor, BootInstant, Clock, Config, Instant, MonotonicInstant, OrderedInstant, SystemClock,
};

use super::Scenario;
use crate::linux::child::settle;
use crate::linux::machine::{self, BOOTTIME, HOUR, MONOTONIC, SECOND};
use crate::linux::report::Report;

const FALLS: [Duration; 7] = [
    Duration::from_micros(1),
    Duration::from_micros(50),
    Duration::from_micros(150),
    Duration::from_micros(900),
    Duration::from_millis(5),
    SECOND,
    HOUR,
];
const TIMES: u64 = 200;

/// A clock, as a number that must not fall.
type Read = fn() -> u64;

const TACH: [(&str, Read); 7] = [
    ("Instant", || Instant::now().as_ticks()),
    ("MonotonicInstant", || Instant::from(MonotonicInstant::now()).as_ticks()),
    ("OrderedInstant", || Instant::from(OrderedInstant::now()).as_ticks()),
    ("early_now", || SystemClock.early_now().as_ticks()),
    ("Anchor", || Anchor::now().instant().as_ticks()),
    ("BootInstant", boot_ns),
    ("UnixTime", || UnixTime::now().as_nanos()),
];
/// Returns the time from the process's first boot-time instant to now.
fn boot_ns() -> u64 {
    static FIRST: OnceLock<BootInstant> = OnceLock::new();
    let now = || BootInstant::now().expect("Linux has such a clock");
    let first = *FIRST.get_or_init(now);
    machine::ns(now() - first)
}

const OS: [(&str, Read); 1] = [("CLOCK_MONOTONIC", || machine::read_os(&MONOTONIC))];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// The clock steps back again and again.
    Back,
    /// A thread moves between two CPUs whose clocks differ.
    Apart,
}

pub(crate) fn scenarios() -> Vec<Scenario> {
    let ways = [("back", Way::Back), ("apart", Way::Apart)];
    let each = ways.into_iter().flat_map(|way| FALLS.map(|fall| (way, fall)));
    let scenario = |((name, way), fall): ((&str, Way), Duration)| {
        let scenario = Scenario::new(
            format!("order/{name}/{}us", fall.as_micros()),
            move |report| steps(way, fall, &TACH, report),
            move |report| steps(way, fall, &OS, report),
        );
        // Otherwise Unix time is allowed to go back.
        Scenario { config: Some(Config::new().hold_backward_steps()), ..scenario }
    };
    let drift = Scenario::new(
        "order/apart/true".to_owned(),
        |report| {
            let start = MonotonicInstant::now();
            stays_true(&|| machine::ns(start.elapsed()), report);
        },
        |report| {
            // A counter that is 1 % faster than assumed.
            machine::set_counter_speed(1.01);
            let start = machine::read_counter();
            stays_true(&|| (machine::read_counter() - start) * 2 / 5, report);
        },
    );
    each.map(scenario).chain([drift]).collect()
}

/// Checks that time runs at its rate while a thread moves between two CPUs.
fn stays_true(elapsed_ns: &dyn Fn() -> u64, report: &mut Report) {
    settle();
    let (start_ns, before_ns) = (machine::true_ns(), elapsed_ns());
    for _ in 0..3_000 {
        for change in [-900_000, 900_000] {
            MONOTONIC.shift(change);
            elapsed_ns();
            machine::pass(Duration::from_micros(300));
        }
    }
    let passed_ns = elapsed_ns() - before_ns;
    report.at_most_ns("2 s off", passed_ns.abs_diff(machine::true_ns() - start_ns), 2_000_000);
}

fn steps(way: Way, fall: Duration, clocks: &[(&str, Read)], report: &mut Report) {
    let ns = i64::try_from(machine::ns(fall)).expect("an hour");
    settle();
    for (name, read) in clocks {
        // The clock must not reach zero.
        machine::jump_monotonic(i64::try_from(fall.as_secs() * TIMES).expect("a week"));
        settle();
        let mut backwards = 0;
        for i in 0..TIMES {
            let before = read();
            let change = if way == Way::Apart && i % 2 == 1 { ns } else { -ns };
            for clock in [&MONOTONIC, &BOOTTIME] {
                clock.shift(change);
            }
            let after = read();
            backwards += u64::from(after < before);
            machine::pass(Duration::from_micros(300));
            backwards += u64::from(read() < after);
        }
        report.at_most(&format!("{name} back"), backwards, 0);
    }
}
