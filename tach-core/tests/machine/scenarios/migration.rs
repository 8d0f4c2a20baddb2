//! The machine moves to a host whose counter has another rate.

use core::time::Duration;

use tach_core::disruptions;

use super::{BY_OS_CLOCK, Scenario};
use crate::linux::child::settle;
use crate::linux::machine::{self, SECOND};
use crate::linux::mode::Mode;
use crate::linux::report::Report;
use crate::linux::subject::{Anchored, Subject, Tach};
use crate::linux::watch::{Reads, Watch};

/// The allowed error 200 ms after the move.
const BAR_NS: u64 = 1_000_000;
/// The allowed error of a duration across the move: a tenth of the 100 ms until the move is found.
const ACROSS_NS: u64 = 10_000_000;
const FOUND: Duration = Duration::from_millis(101);

/// The modes in which no counter is read, and one in which the first look comes so soon after the
/// move that the move looks like a shift. A second look mends the rate, and counts nothing.
const NOT_COUNTED: &[Mode] = &[Mode::Moved, Mode::Replaced, Mode::Os];

pub(crate) fn scenarios() -> Vec<Scenario> {
    let each = [1.1, 0.9].into_iter().flat_map(|speed| Reads::ALL.map(|reads| (speed, reads)));
    let scenario = |(speed, reads): (f64, Reads)| {
        Scenario::new(
            format!("migration/x{speed}/{}", reads.name()),
            move |report| migration::<Tach>(speed, reads, report),
            move |report| migration::<Anchored>(speed, reads, report),
        )
        .except(if speed > 1.0 { NOT_COUNTED } else { BY_OS_CLOCK })
    };
    each.map(scenario).collect()
}

fn migration<S: Subject>(speed: f64, reads: Reads, report: &mut Report) {
    settle();
    let mut watch = Watch::<S>::begin(reads);
    watch.busy(2 * SECOND).check_claims("before", report);
    let events = disruptions();
    machine::set_counter_speed(speed);
    let first = watch.busy(FOUND);
    report.at_least("events counted in 100 ms", disruptions() - events, 1);
    let second = watch.busy(Duration::from_millis(100));
    // Measures durations that begin after the move was found.
    let mut fresh = Watch::<S>::begin(Reads::Plain);
    let after = watch.busy(5 * SECOND);
    if reads != Reads::Unix {
        let later = fresh.busy(SECOND);
        report.at_most_ns("elapsed since then off", later.elapsed_ns, BAR_NS);
    }
    report.at_most_ns("unix time off after 200 ms", after.unix_ns, BAR_NS);
    report.at_most_ns("elapsed off after 200 ms", after.elapsed_ns, ACROSS_NS);
    for (phase, figures) in [("at first", first), ("after 100 ms", second), ("later", after)] {
        figures.check_claims(phase, report);
    }
}
