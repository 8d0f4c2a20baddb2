//! Nothing happens: the clock is right, its bounds are narrow, and it opens no file.

use tach_core::disruptions;

use super::Scenario;
use crate::linux::child::{Calls, settle};
use crate::linux::machine::{self, SECOND};
use crate::linux::report::Report;
use crate::linux::subject::{Anchored, Subject, Tach};
use crate::linux::watch::{Reads, Watch};

/// The bar for errors and for the bound, since a bound that is always wide is worthless.
const BAR_NS: u64 = 1_000;

pub(crate) fn scenarios() -> Vec<Scenario> {
    let scenario = |reads: Reads| {
        Scenario::new(
            format!("calm/{}", reads.name()),
            move |report| calm::<Tach>(reads, report),
            // A minute at 1 ppm is 60 us.
            move |report| {
                machine::set_counter_speed(1.000_001);
                calm::<Anchored>(reads, report);
            },
        )
    };
    Reads::BOTH.map(scenario).into()
}

fn calm<S: Subject>(reads: Reads, report: &mut Report) {
    settle();
    let mut watch = Watch::<S>::begin(reads);
    let (calls, events) = (Calls::now(), disruptions());
    let figures = watch.busy(60 * SECOND);
    report.at_most_ns("unix time off", figures.unix_ns, BAR_NS);
    report.at_most_ns("elapsed off", figures.elapsed_ns, BAR_NS);
    report.at_most_ns("widest bound", figures.widest_ns, BAR_NS);
    report.at_most("events counted", disruptions() - events, 0);
    figures.check_claims("calm", report);
    if reads == Reads::Plain {
        calls.check_none_since(report);
    }
}
