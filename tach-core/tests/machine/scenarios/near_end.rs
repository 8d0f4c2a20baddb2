//! A counter that passes its greatest value, as a hypervisor can make it do.

use core::time::Duration;

use tach_core::{Instant, status};

use super::{BY_OS_CLOCK, Scenario};
use crate::linux::child::settle;
use crate::linux::machine::{COUNTER, SECOND};
use crate::linux::mode::Mode;
use crate::linux::report::Report;
use crate::linux::subject::{Anchored, Subject, Tach};
use crate::linux::watch::{Reads, Watch};

/// The allowed error of elapsed time, and of Unix time 100 ms after the passage.
const BAR_NS: u64 = 1_000_000;
const FOUND: Duration = Duration::from_millis(101);
/// The counter's value ten seconds before it passes the end of its range, or of the signed range.
const STARTS: [(&str, u64); 2] =
    [("2^64", u64::MAX - 25_000_000_000), ("2^63", (1 << 63) - 25_000_000_000)];

pub(crate) fn scenarios() -> Vec<Scenario> {
    let from_start = STARTS.map(|(name, start)| {
        Scenario::new(
            format!("near-end/{name}"),
            move |report| passes::<Tach>(start, report),
            // A clock with unsigned numbers passes 2^63 unharmed, so its control passes 2^64.
            |report| passes::<Anchored>(STARTS[0].1, report),
        )
        // The counter was lower before.
        .except(&[Mode::Moved, Mode::Replaced])
    });
    let jumped = Scenario::new(
        "near-end/jump".to_owned(),
        |report| jumps(|| COUNTER.set(1 << 63), report),
        |report| jumps(|| (), report),
    )
    .except(BY_OS_CLOCK);
    from_start.into_iter().chain([jumped]).collect()
}

fn passes<S: Subject>(start: u64, report: &mut Report) {
    COUNTER.set(start);
    let mut watch = Watch::<S>::begin(Reads::Plain);
    let before = watch.busy(9 * SECOND);
    let after = watch.busy(9 * SECOND);
    for (phase, figures) in [("before", before), ("after", after)] {
        report.at_most_ns(&format!("unix time off {phase}"), figures.unix_ns, BAR_NS);
        report.at_most_ns(&format!("elapsed off {phase}"), figures.elapsed_ns, BAR_NS);
    }
}

/// The counter is far ahead after a restore.
fn jumps(jump: fn(), report: &mut Report) {
    settle();
    let mut watch = Watch::<Tach>::begin(Reads::Plain);
    watch.busy(2 * SECOND);
    let failures = status().counter_failures;
    jump();
    let _ = Instant::now();
    report.at_least("failures counted", status().counter_failures - failures, 1);
    watch.busy(FOUND);
    let after = watch.busy(9 * SECOND);
    report.at_most_ns("unix time off", after.unix_ns, BAR_NS);
    report.at_most_ns("elapsed off", after.elapsed_ns, BAR_NS);
}
