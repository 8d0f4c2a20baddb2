//! The OS clocks are slewed, as by NTP.

use super::Scenario;
use crate::linux::child::settle;
use crate::linux::machine::{self, SECOND};
use crate::linux::report::Report;
use crate::linux::subject::{Anchored, Subject, Tach};
use crate::linux::watch::{Reads, Watch};

/// The allowed error one second after a slew.
const AFTERWARDS_NS: u64 = 1_000;
/// Rates in ppm, and the allowed errors until a second after their end.
const SLEWS: [(i32, u64); 4] = [(1, 1_000), (100, 15_000), (500, 60_000), (-500, 60_000)];

pub(crate) fn scenarios() -> Vec<Scenario> {
    let each = SLEWS.into_iter().flat_map(|slew| Reads::ALL.map(|reads| (slew, reads)));
    let scenario = |((ppm, bar_ns), reads): ((i32, u64), Reads)| {
        Scenario::new(
            format!("slew/{ppm}ppm/{}", reads.name()),
            move |report| slew::<Tach>(ppm, bar_ns, reads, report),
            move |report| slew::<Anchored>(ppm, bar_ns, reads, report),
        )
    };
    each.map(scenario).collect()
}

fn slew<S: Subject>(ppm: i32, bar_ns: u64, reads: Reads, report: &mut Report) {
    settle();
    let mut watch = Watch::<S>::begin(reads);
    watch.busy(SECOND).check_claims("before", report);
    machine::slew(ppm);
    let during = watch.busy(10 * SECOND);
    machine::slew(0);
    let fading = watch.busy(SECOND);
    let after = watch.busy(SECOND);
    for (phase, figures, bar_ns) in [
        ("in the slew", during, bar_ns),
        ("in the second after", fading, bar_ns),
        ("a second after", after, AFTERWARDS_NS),
    ] {
        report.at_most_ns(&format!("unix time off {phase}"), figures.unix_ns, bar_ns);
        report.at_most_ns(&format!("elapsed off {phase}"), figures.elapsed_ns, bar_ns);
        figures.check_claims(phase, report);
    }
}
