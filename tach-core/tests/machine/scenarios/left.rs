//! The kernel leaves the counter, which makes its own clock slower to read.

use core::time::Duration;
use std::fs::File;

use tach_core::{Source, disruptions, status, sync};

use super::{BY_OS_CLOCK, Scenario};
use crate::linux::child::{Calls, settle};
use crate::linux::machine::{self, SECOND};
use crate::linux::mode::Mode;
use crate::linux::report::Report;
use crate::linux::subject::Tach;
use crate::linux::watch::{Reads, Watch};

const FOUND: Duration = Duration::from_millis(101);
const BAR_NS: u64 = 1_000_000;

pub(crate) fn scenarios() -> Vec<Scenario> {
    let found = |reads: Reads| {
        Scenario::new(
            format!("left/found/{}", reads.name()),
            move |report| leaves(reads, 40, report),
            // A CPU at its lowest frequency may be as slow, so there is nothing to find.
            move |report| leaves(reads, 20, report),
        )
        .except(BY_OS_CLOCK)
    };
    let quiet = Scenario::new(
        "left/quiet".to_owned(),
        |report| without_evidence(|| (), report),
        |report| without_evidence(|| drop(File::open("/")), report),
    );
    let by_sync = Scenario::new(
        "left/found-by-sync".to_owned(),
        |report| found_by_sync(machine::leave_counter, report),
        |report| found_by_sync(|| (), report),
    )
    .except(&[Mode::Replaced, Mode::Os, Mode::Unknown]);
    Reads::BOTH.map(found).into_iter().chain([quiet, by_sync]).collect()
}

/// Checks that ticks come from the OS clock within 100 ms of use, and that no file is opened, if
/// reads of the OS clocks become `slower` times as slow.
fn leaves(reads: Reads, slower: u64, report: &mut Report) {
    settle();
    let mut watch = Watch::<Tach>::begin(reads);
    watch.busy(2 * SECOND).check_claims("before", report);
    machine::leave_counter();
    let (before, calls) = (disruptions(), Calls::now());
    machine::slow_os_reads(slower);
    let first = watch.busy(FOUND);
    let status = status();
    let found = (status.source, status.reason.as_str()) == (Source::Os, "os-clock-slowed");
    calls.check_none_since(report);
    report.holds(found, format!("after 100 ms: {:?}, {}", status.source, status.reason));
    report.holds(disruptions() != before, "the count shows it".to_owned());
    let after = watch.busy(2 * SECOND);
    for (phase, figures) in [("at first", first), ("after 100 ms", after)] {
        report.at_most_ns(&format!("unix time off {phase}"), figures.unix_ns, BAR_NS);
        report.at_most_ns(&format!("elapsed off {phase}"), figures.elapsed_ns, BAR_NS);
        figures.check_claims(phase, report);
    }
}

/// Checks that a call of `sync` finds the change, though the OS clocks are as fast as before.
fn found_by_sync(leave: impl Fn(), report: &mut Report) {
    settle();
    Watch::<Tach>::begin(Reads::Plain).busy(2 * SECOND);
    leave();
    sync();
    let status = status();
    let found = (status.source, status.reason.as_str()) == (Source::Os, "kernel-left-counter");
    report.holds(found, format!("after sync: {:?}, {}", status.source, status.reason));
}

/// Checks that nothing asks the kernel while the OS clocks are as fast as before.
fn without_evidence(disturb: impl Fn(), report: &mut Report) {
    settle();
    let mut watch = Watch::<Tach>::begin(Reads::Plain);
    watch.busy(2 * SECOND);
    let calls = Calls::now();
    machine::leave_counter();
    watch.busy(10 * SECOND);
    disturb();
    calls.check_none_since(report);
}
