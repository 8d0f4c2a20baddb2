//! An OS clock rises in steps of some ms, though `clock_getres` says 1 ns.

use core::time::Duration;

use tach_core::{Source, status};

use super::Scenario;
use crate::linux::child::settle;
use crate::linux::machine::{self, Line, MONOTONIC, REALTIME, SECOND};
use crate::linux::report::Report;
use crate::linux::subject::{Anchored, Subject, Tach};
use crate::linux::watch::{Reads, Watch};

const STEPPING: [(&str, &[&Line]); 3] =
    [("monotonic", &[&MONOTONIC]), ("realtime", &[&REALTIME]), ("both", &[&MONOTONIC, &REALTIME])];
const STEPS_US: [u64; 3] = [4_000, 15_625, 100_000];

pub(crate) fn scenarios() -> Vec<Scenario> {
    let each =
        STEPPING.into_iter().flat_map(|stepping| STEPS_US.map(|step_us| (stepping, step_us)));
    let scenario = |((name, clocks), step_us): ((&str, &'static [&'static Line]), u64)| {
        Scenario::new(
            format!("stepping/{name}/{step_us}us"),
            move |report| stepping::<Tach>(clocks, step_us, report),
            move |report| stepping::<Anchored>(clocks, step_us, report),
        )
    };
    each.map(scenario).collect()
}

fn stepping<S: Subject>(clocks: &[&Line], us: u64, report: &mut Report) {
    let step_ns = us * 1_000;
    for clock in clocks {
        clock.set_step(step_ns);
    }
    settle();
    for reads in Reads::BOTH {
        let mut watch = Watch::<S>::begin(reads);
        let figures = watch.busy(20 * SECOND);
        // A step, and a tenth for the error of the rate.
        report.at_most_ns("unix time off", figures.unix_ns, step_ns * 11 / 10);
        report.at_most_ns("elapsed off", figures.elapsed_ns, step_ns * 11 / 10);
        figures.check_claims("throughout", report);
    }
    // Allow for the error of the rate over ten minutes, and for a step at the first look.
    let mut watch = Watch::<S>::begin(Reads::Plain);
    machine::pass(Duration::from_secs(600));
    let figures = watch.busy(5 * SECOND);
    report.at_most_ns("unix time off after a pause", figures.unix_ns, 2 * step_ns);
    if status().source == Source::Counter {
        check_bounds(&watch.subject, report);
    }
}

/// Checks that the bounds hold the time that the clock would show without its steps.
fn check_bounds(subject: &impl Subject, report: &mut Report) {
    let broken = (0..1_000).filter(|_| {
        machine::pass(Duration::from_micros(machine::random(20_000)));
        let before_ns = machine::REALTIME.value();
        let bounded = subject.bounded();
        let after_ns = machine::REALTIME.value();
        bounded.latest().as_nanos() < before_ns || after_ns < bounded.earliest().as_nanos()
    });
    report.at_most("bounds broken, of 1000", broken.count() as u64, 0);
}
