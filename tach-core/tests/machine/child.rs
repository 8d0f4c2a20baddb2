//! A child: the process in which one scenario runs.
#![expect(unsafe_code, reason = "ends the process from a signal handler")]

use core::ffi::c_int;
use core::time::Duration;
use std::process;

use tach_core::{Instant, UnixTime, status};

use super::interpose::{World, enter, opens, prctls};
use super::machine;
use super::report::Report;
use super::trap;

/// The exit codes of a child. A panic's is 101.
pub(crate) const PASSED: c_int = 0;
pub(crate) const VIOLATED: c_int = 1;
pub(crate) const HUNG: c_int = 2;
pub(crate) const CAN_NOT_RUN: c_int = 3;

/// Puts this process on the simulated machine.
pub(crate) fn simulate() {
    machine::begin();
    if !(trap::answer() && trap::refuse_counter()) {
        eprintln!("the kernel does not let this process refuse the counter");
        process::exit(CAN_NOT_RUN);
    }
    enter(World::Simulated);
}

/// Uses the clock for a minute, so that the timelines know their rates.
pub(crate) fn settle() {
    for _ in 0..6_000 {
        machine::pass(Duration::from_millis(10));
        let _ = (UnixTime::now(), Instant::now().elapsed());
    }
}

/// The calls of the system that a scenario may forbid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Calls {
    opens: u64,
    prctls: u64,
}

impl Calls {
    /// The calls so far.
    pub(crate) fn now() -> Self {
        Self { opens: opens(), prctls: prctls() }
    }

    /// Reports a violation if there have been calls since.
    pub(crate) fn check_none_since(self, report: &mut Report) {
        let Self { opens, prctls } = Self::now();
        report.at_most("files opened", opens - self.opens, 0);
        report.at_most("calls of prctl", prctls - self.prctls, 0);
    }
}

/// Ends the process with what `report` found.
pub(crate) fn end(report: &Report) -> ! {
    eprintln!("{report}");
    process::exit(if report.is_clean() { PASSED } else { VIOLATED });
}

/// Ends the process from wherever it is, since it reads clocks in a loop that does not end.
pub(crate) fn hung() -> ! {
    const MESSAGE: &[u8] = b"a call reads the clocks in a loop that does not end\n";
    // SAFETY: the pointer is valid for as many bytes as are named.
    unsafe {
        libc::write(2, MESSAGE.as_ptr().cast(), MESSAGE.len());
    }
    // SAFETY: `_exit` runs no code of this process.
    unsafe { libc::_exit(HUNG) }
}

/// Exits with [`CAN_NOT_RUN`] where tach does not use the simulated counter.
pub(crate) fn probe() {
    let status = status();
    if status.source != tach_core::Source::Counter {
        eprintln!("the counter is not used on this machine: {}", status.reason);
        process::exit(CAN_NOT_RUN);
    }
}
