//! Jumps of `CLOCK_MONOTONIC` in processes that never read Unix time, or use no counter.

use core::time::Duration;

use tach_core::{Instant, UnixTime, status};

use super::{BY_OS_CLOCK, Scenario};
use crate::linux::machine::{self, SECOND};
use crate::linux::report::Report;

/// The allowed error of a duration: the time within which a jump is found.
const LOOK_NS: u64 = 100_000_000;
const SOON: Duration = Duration::from_millis(5);

pub(crate) fn scenarios() -> Vec<Scenario> {
    let instants = [-1_000, 1_000].map(|seconds| {
        Scenario::new(
            format!("jump/{seconds}s/instants-alone"),
            move |report| durations(|| (), seconds, report),
            move |report| naive(seconds, report),
        )
        .except(if seconds > 0 { BY_OS_CLOCK } else { &[] })
    });
    // Without a counter, a jump ahead looks like time that has passed.
    let without_counter = Scenario::new(
        "jump/-1000s/os".to_owned(),
        |report| {
            for jumps in 1..=2 {
                durations(|| _ = UnixTime::now(), -1_000, report);
                let offset =
                    status().monotonic.offset_ns.unsigned_abs().abs_diff(jumps * 1_000_000_000_000);
                report.at_most_ns("the offset to the clock off", offset, jumps * LOOK_NS);
            }
        },
        |report| naive(-1_000, report),
    );
    let without_counter = Scenario { source: Some("os"), ..without_counter };
    instants.into_iter().chain([without_counter]).collect()
}

/// Checks durations and a deadline across a jump. The process also calls `also`.
fn durations(also: fn(), seconds: i64, report: &mut Report) {
    let start = Instant::now();
    let start_ns = machine::lived_ns();
    let busy = |length: Duration| {
        for _ in 0..length.as_millis() {
            machine::pass(Duration::from_millis(1));
            let _ = start.elapsed();
            also();
        }
    };
    busy(2 * SECOND);
    let deadline = Instant::now() + SOON;
    machine::jump_monotonic(seconds);
    let mut turns = 0;
    while Instant::now() < deadline && turns < 1_000 {
        machine::pass(Duration::from_millis(1));
        turns += 1;
    }
    report.at_most("turns of 1 ms until a deadline of 5 ms", turns, 105);
    let off_ns = || machine::ns(start.elapsed()).abs_diff(machine::lived_ns() - start_ns);
    report.at_most_ns("elapsed off at first", off_ns(), LOOK_NS);
    busy(2 * SECOND);
    report.at_most_ns("elapsed off after two seconds", off_ns(), LOOK_NS);
}

/// Runs the same check on the OS clock.
fn naive(seconds: i64, report: &mut Report) {
    let start = std::time::Instant::now();
    let start_ns = machine::lived_ns();
    machine::pass(2 * SECOND);
    machine::jump_monotonic(seconds);
    let off_ns = machine::ns(start.elapsed()).abs_diff(machine::lived_ns() - start_ns);
    report.at_most_ns("elapsed off at first", off_ns, LOOK_NS);
}
