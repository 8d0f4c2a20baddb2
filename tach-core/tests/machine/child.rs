//! The process that runs one scenario.
#![expect(unsafe_code, reason = "ends the process from a signal handler")]

use core::ffi::c_int;
use core::time::Duration;
use std::process;

use tach_core::{Instant, UnixTime, status};

use super::interpose::{World, enter, opens, prctls};
use super::machine;
use super::report::Report;
use super::trap;

/// The exit codes of a child; a panic has 101.
pub(crate) const PASSED: c_int = 0;
pub(crate) const VIOLATED: c_int = 1;
pub(crate) const HUNG: c_int = 2;
pub(crate) const CAN_NOT_RUN: c_int = 3;

/// Puts this process on the simulated machine.
pub(crate) fn simulate() {
    machine::begin();
    if !(trap::answer() && trap::refuse_counter()) {
        eprintln!("the kernel does not let this process disable the counter");
        process::exit(CAN_NOT_RUN);
    }
    enter(World::Simulated);
}

/// Uses the clock for a minute, which lets the timelines learn their rates.
pub(crate) fn settle() {
    for _ in 0..6_000 {
        machine::pass(Duration::from_millis(10));
        let _ = (UnixTime::now(), Instant::now().elapsed());
    }
}

/// Makes the counter go back this many times.
pub(crate) fn let_counter_fall(times: u8) {
    if times > 0 {
        settle();
    }
    for _ in 0..times {
        machine::COUNTER.shift(-9_000_000_000_000);
        settle();
    }
}

/// The numbers of system calls that a scenario may forbid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Calls {
    opens: u64,
    prctls: u64,
}

impl Calls {
    pub(crate) fn now() -> Self {
        Self { opens: opens(), prctls: prctls() }
    }

    /// Reports a violation if there were calls since `self`.
    pub(crate) fn check_none_since(self, report: &mut Report) {
        let Self { opens, prctls } = Self::now();
        report.at_most("files opened", opens - self.opens, 0);
        report.at_most("calls of prctl", prctls - self.prctls, 0);
    }
}

/// Prints `report` and ends the process.
pub(crate) fn end(report: &Report) -> ! {
    eprintln!("{report}");
    process::exit(if report.is_clean() { PASSED } else { VIOLATED });
}

/// Ends the process from within an endless loop of reads.
pub(crate) fn hung() -> ! {
    const MESSAGE: &[u8] = b"a call reads the clocks in an endless loop\n";
    // SAFETY: the pointer and the length are a valid slice's.
    unsafe {
        libc::write(2, MESSAGE.as_ptr().cast(), MESSAGE.len());
    }
    // SAFETY: `_exit` runs no code of this process.
    unsafe { libc::_exit(HUNG) }
}

/// Exits with [`CAN_NOT_RUN`] if tach does not use the simulated counter.
pub(crate) fn probe() {
    let status = status();
    if status.source != tach_core::Source::Counter {
        eprintln!("the counter is not used on this machine: {}", status.reason);
        process::exit(CAN_NOT_RUN);
    }
}
