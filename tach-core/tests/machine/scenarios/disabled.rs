//! The counter is disabled before the first read, and nothing simulates it. The C library's clocks
//! read the counter and crash, so tach must make system calls.

use core::time::Duration;
use std::thread;
use std::time::Instant as StdInstant;

use tach_core::{Instant, MonotonicInstant, Source, UnixTime, status};

use super::{End, Scenario, Setting};
use crate::linux::interpose::{World, enter, kernel_clock_ns};
use crate::linux::mode::Mode;
use crate::linux::report::Report;
use crate::linux::trap;

/// The allowed error against the kernel's clock. System calls read both.
const BAR_NS: u64 = 1_000_000;

pub(crate) fn scenarios() -> Vec<Scenario> {
    let scenario = Scenario::new("disabled".to_owned(), disabled, |_| {
        refuse();
        let _ = StdInstant::now();
    });
    let control_end = End::Killed(libc::SIGSEGV);
    vec![Scenario { setting: Setting::Real, control_end, ..scenario }.except(&[Mode::Os])]
}

fn refuse() {
    enter(World::Library);
    assert!(trap::refuse_counter(), "the kernel can't disable the counter");
}

fn disabled(report: &mut Report) {
    refuse();
    let before_ns = kernel_clock_ns(libc::CLOCK_MONOTONIC);
    let (start, strict) = (Instant::now(), MonotonicInstant::now());
    let start_ns = kernel_clock_ns(libc::CLOCK_MONOTONIC);
    thread::sleep(Duration::from_millis(20));
    let inner_ns = kernel_clock_ns(libc::CLOCK_MONOTONIC) - start_ns;
    let found = [start.elapsed(), strict.elapsed()].map(|elapsed| elapsed.as_nanos());
    let outer_ns = kernel_clock_ns(libc::CLOCK_MONOTONIC) - before_ns;
    let bar = u128::from(BAR_NS);
    let good = found
        .iter()
        .all(|&ns| ns + bar >= u128::from(inner_ns) && ns <= u128::from(outer_ns) + bar);
    report.holds(good, format!("elapsed {found:?} ns, the kernel's {inner_ns} to {outer_ns}"));
    let low = kernel_clock_ns(libc::CLOCK_REALTIME);
    let found = [UnixTime::now(), UnixTime::now_with_uncertainty().time()].map(UnixTime::as_nanos);
    let high = kernel_clock_ns(libc::CLOCK_REALTIME);
    let good = found.iter().all(|&ns| ns + BAR_NS >= low && ns <= high + BAR_NS);
    report.holds(good, format!("unix times {found:?}, the kernel's {low} to {high}"));
    let status = status();
    let found = (status.source, status.reason.as_str()) == (Source::Os, "counter-disabled");
    report.holds(found, format!("{:?}, {}", status.source, status.reason));
}
