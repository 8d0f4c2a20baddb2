//! A real seccomp filter kills the process for system calls that reads and conversions must not
//! make.

use core::hint::black_box;
use core::time::Duration;
use std::fs::File;
use std::process;

use tach_core::{
    BootInstant, Budget, Instant, MonotonicInstant, OrderedInstant, Source, UnixTime, disruptions,
    status, unix_nanos, uptime,
};

use super::{End, Scenario};
use crate::linux::child::Calls;
use crate::linux::interpose::{World, enter, opens};
use crate::linux::machine::{self, HOUR, REALTIME};
use crate::linux::report::Report;
use crate::linux::seccomp;

/// The events in the middle of the minute.
const EVENTS: [(&str, fn()); 5] = [
    ("calm", || ()),
    ("step", || REALTIME.shift(10_000_000_000)),
    ("step-back", || REALTIME.shift(-10_000_000_000)),
    ("slew", || machine::slew(500)),
    ("suspend", || machine::suspend(HOUR)),
];

pub(crate) fn scenarios() -> Vec<Scenario> {
    let killed = End::Killed(libc::SIGSYS);
    let sources = [None, Some("os")];
    let each = EVENTS.into_iter().flat_map(|event| sources.map(|source| (event, source)));
    let opening = each.map(|((name, event), source)| {
        let scenario = Scenario::new(
            format!("seccomp/opens/{name}/{}", source.unwrap_or("counter")),
            move |report| opens_nothing(source, event, || (), report),
            move |report| opens_nothing(source, event, || drop(File::open("/")), report),
        );
        Scenario { source, control_end: killed, ..scenario }
    });
    let calling = sources.map(|source| {
        let scenario = Scenario::new(
            format!("seccomp/any-call/{}", source.unwrap_or("counter")),
            |_| calls_nothing(|| ()),
            |_| calls_nothing(|| _ = black_box(process::id())),
        );
        Scenario { source, control_end: killed, ..scenario }
    });
    opening.chain(calling).collect()
}

fn read_all(start: Instant, budget: Budget) {
    black_box((UnixTime::now(), unix_nanos(), uptime(), disruptions()));
    black_box((Instant::now(), MonotonicInstant::now(), OrderedInstant::now()));
    black_box(BootInstant::now());
    black_box((start.elapsed(), start.unix_time(), start + Duration::from_secs(1)));
    black_box((budget.check().is_ok(), UnixTime::now_with_uncertainty()));
}

/// Reads and converts for a minute, with `at_half` in the middle.
fn minute(mut at_half: impl FnMut()) {
    const ROUNDS: u32 = 60_000;
    let (start, budget) = (Instant::now(), Budget::new(HOUR));
    for round in 0..ROUNDS {
        if round == ROUNDS / 2 {
            at_half();
        }
        machine::pass(Duration::from_micros(50 + machine::random(1_900)));
        read_all(start, budget);
    }
}

fn opens_nothing(source: Option<&str>, event: fn(), disturb: fn(), report: &mut Report) {
    let start = Instant::now();
    read_all(start, Budget::new(HOUR));
    black_box(status());
    if source.is_some() {
        report.at_most("files opened with the OS clock as source", opens(), 0);
        report.holds(status().source == Source::Os, "the OS clock is the source".to_owned());
    }
    let calls = Calls::now();
    seccomp::kill_on_open();
    enter(World::SimulatedClocks);
    minute(|| {
        event();
        disturb();
        black_box(status());
    });
    calls.check_none_since(report);
}

/// Checks that no system call is made. Like the kernel's vDSO, the simulated clocks need none.
fn calls_nothing(disturb: fn()) {
    read_all(Instant::now(), Budget::new(HOUR));
    seccomp::kill_on_any_call();
    enter(World::SimulatedClocks);
    minute(disturb);
}
