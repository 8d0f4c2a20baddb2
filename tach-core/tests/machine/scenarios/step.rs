//! The wall clock is set.

use core::time::Duration;

use tach_core::{Config, UnixTime, disruptions};

use super::Scenario;
use crate::linux::child::{Calls, settle};
use crate::linux::machine::{self, SECOND};
use crate::linux::report::Report;
use crate::linux::subject::{Anchored, Subject, Tach};
use crate::linux::watch::{Reads, Watch};

/// The allowed error of durations, and of Unix time after the step is found.
const BAR_NS: u64 = 1_000;
/// The time within which a step is found: 100 ms of use, and the next read.
const FOUND: Duration = Duration::from_millis(101);

pub(crate) fn scenarios() -> Vec<Scenario> {
    let sizes_ms = [3_600_000, 10_000, 200].into_iter().flat_map(|ms: i64| [ms, -ms]);
    let all = [Reads::Plain, Reads::Unix, Reads::Bounds];
    let each = sizes_ms.flat_map(|ms| all.map(|reads| (ms, reads)));
    let scenario = |(ms, reads): (i64, Reads)| {
        Scenario::new(
            format!("step/{ms}ms/{}", reads.name()),
            move |report| step::<Tach>(ms, reads, report),
            move |report| step::<Anchored>(ms, reads, report),
        )
    };
    // The control installs nothing.
    let held = Scenario::new("step/held".to_owned(), never_back, never_back);
    let held = Scenario { config: Some(Config::new().hold_backward_steps()), ..held };
    each.map(scenario).chain([held]).collect()
}

fn step<S: Subject>(ms: i64, reads: Reads, report: &mut Report) {
    settle();
    let mut watch = Watch::<S>::begin(reads);
    watch.busy(2 * SECOND).check_claims("before", report);
    let (calls, events) = (Calls::now(), disruptions());
    machine::REALTIME.shift(ms * 1_000_000);
    let first = watch.busy(FOUND);
    report.at_least("events counted in 100 ms", disruptions() - events, 1);
    let after = watch.busy(2 * SECOND);
    report.at_most_ns("unix time off after 100 ms", after.unix_ns, BAR_NS);
    for (phase, figures) in [("at first", first), ("after 100 ms", after)] {
        report.at_most_ns(&format!("elapsed off {phase}"), figures.elapsed_ns, BAR_NS);
        figures.check_claims(phase, report);
    }
    calls.check_none_since(report);
}

/// Checks that Unix time never goes back when the wall clock is set back by ten seconds, and that
/// the clock has caught up half a minute later.
fn never_back(report: &mut Report) {
    settle();
    let (mut last_ns, mut worst_ns) = (0, 0);
    let mut busy = |seconds: u32| {
        for _ in 0..seconds * 100 {
            machine::pass(SECOND / 100);
            let now_ns = UnixTime::now().as_nanos();
            worst_ns = worst_ns.max(last_ns.max(now_ns) - now_ns);
            last_ns = now_ns;
        }
    };
    busy(2);
    machine::REALTIME.shift(-10_000_000_000);
    busy(30);
    report.at_most_ns("goes back by", worst_ns, 0);
    let off_ns = UnixTime::now().as_nanos().abs_diff(machine::REALTIME.value());
    report.at_most_ns("off after half a minute", off_ns, BAR_NS);
}
