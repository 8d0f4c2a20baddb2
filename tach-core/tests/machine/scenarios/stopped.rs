//! The counter stands still.

use core::time::Duration;

use tach_core::{Instant, Source, status, sync};

use super::{BY_OS_CLOCK, Scenario};
use crate::linux::child::settle;
use crate::linux::machine::{self, SECOND};
use crate::linux::report::Report;
use crate::linux::subject::{Anchored, Subject, Tach};
use crate::linux::watch::{Reads, Watch};

const FOUND: Duration = Duration::from_millis(101);
/// The allowed error of a duration: the time within which an event is found.
const LOOK_NS: u64 = 100_000_000;
/// The allowed error 100 ms after the counter runs again.
const BAR_NS: u64 = 1_000_000;

pub(crate) fn scenarios() -> Vec<Scenario> {
    let goes_on = |reads: Reads| {
        Scenario::new(
            format!("stopped/goes-on/{}", reads.name()),
            move |report| goes_on::<Tach>(reads, report),
            move |report| goes_on::<Anchored>(reads, report),
        )
    };
    let found = Scenario::new(
        "stopped/found-by-use".to_owned(),
        found_by_use::<Tach>,
        found_by_use::<Anchored>,
    );
    let for_ever = Scenario::new(
        "stopped/found-by-sync".to_owned(),
        |report| found_by_sync(0.0, report),
        // The counter runs, so there is nothing to find.
        |report| found_by_sync(1.0, report),
    )
    .except(BY_OS_CLOCK);
    Reads::BOTH.map(goes_on).into_iter().chain([found, for_ever]).collect()
}

/// The counter stands for two seconds and runs again.
fn goes_on<S: Subject>(reads: Reads, report: &mut Report) {
    settle();
    let mut watch = Watch::<S>::begin(reads);
    watch.busy(2 * SECOND).check_claims("before", report);
    machine::set_counter_speed(0.0);
    watch.busy(2 * SECOND).check_claims("while it stands", report);
    machine::set_counter_speed(1.0);
    watch.busy(FOUND).check_claims("at first", report);
    let after = watch.busy(5 * SECOND);
    report.at_most_ns("unix time off after 100 ms", after.unix_ns, BAR_NS);
    report.at_most_ns("elapsed off after 100 ms", after.elapsed_ns, BAR_NS);
    after.check_claims("after 100 ms", report);
}

/// The counter stops for good. A process that measures an interval of zero ticks finds it.
fn found_by_use<S: Subject>(report: &mut Report) {
    settle();
    let mut watch = Watch::<S>::begin(Reads::Plain);
    watch.busy(2 * SECOND);
    machine::set_counter_speed(0.0);
    watch.busy(FOUND);
    let _ = Instant::now().elapsed();
    let after = watch.busy(5 * SECOND);
    report.at_most_ns("unix time off after 100 ms", after.unix_ns, LOOK_NS);
    report.at_most_ns("elapsed off after 100 ms", after.elapsed_ns, LOOK_NS);
}

/// The counter stops for good, and `sync` finds it.
fn found_by_sync(speed: f64, report: &mut Report) {
    settle();
    let mut watch = Watch::<Tach>::begin(Reads::Plain);
    watch.busy(2 * SECOND);
    machine::set_counter_speed(speed);
    machine::pass(Duration::from_millis(50));
    sync();
    let status = status();
    let found = (status.source, status.reason.as_str()) == (Source::Os, "counter-stopped");
    report.holds(found, format!("after sync: {:?}, {}", status.source, status.reason));
    let after = watch.busy(5 * SECOND);
    report.at_most_ns("unix time off", after.unix_ns, BAR_NS);
    report.at_most_ns("elapsed off", after.elapsed_ns, BAR_NS);
}
