//! An OS clock stands still: nothing hangs, and no call makes more than a few hundred reads.

use core::hint::black_box;
use core::time::Duration;

use tach_core::{Instant, UnixTime, status, sync, uptime};

use super::{End, Scenario};
use crate::linux::child::settle;
use crate::linux::machine::{self, Line, MONOTONIC, REALTIME, SECOND};
use crate::linux::report::Report;
use crate::linux::subject::{Anchored, Subject, Tach};
use crate::linux::watch::{Reads, Watch};

/// The most reads of clocks and counter in one call: less than 1 ms if each read of a clock takes
/// 2 us.
const BAR: u64 = 400;
const ENDLESS: u64 = 2_000_000;

/// The time within which the change is found. A clock that stood has shown a wrong rate, so it
/// takes two looks.
const FOUND: Duration = Duration::from_millis(201);
/// The allowed error after [`FOUND`]. A smaller error is slewed away, by 500 ppm.
const STRAY_NS: u64 = 10_000_000;
const SLEWED: Duration = Duration::from_secs(20);
/// The allowed error after [`SLEWED`].
const BAR_NS: u64 = 1_000;

const FROZEN: [(&str, &[&Line]); 3] =
    [("monotonic", &[&MONOTONIC]), ("realtime", &[&REALTIME]), ("both", &[&MONOTONIC, &REALTIME])];

pub(crate) fn scenarios() -> Vec<Scenario> {
    let each = FROZEN.into_iter().flat_map(|frozen| [(frozen, true), (frozen, false)]);
    let scenario = |((name, clocks), from_start): ((&str, &'static [&'static Line]), bool)| {
        let when = if from_start { "from-start" } else { "later" };
        let scenario = Scenario::new(
            format!("frozen/{name}/{when}"),
            move |report| frozen(clocks, from_start, report),
            move |_| wait_for_the_next_value(clocks[0]),
        );
        Scenario { control_end: End::Hung, ..scenario }
    };
    let watched = FROZEN.map(|(name, clocks)| {
        Scenario::new(
            format!("frozen/{name}/bounds"),
            move |report| watched::<Tach>(clocks, report),
            move |report| watched::<Anchored>(clocks, report),
        )
    });
    each.map(scenario).chain(watched).collect()
}

/// Checks the bounds throughout, and Unix time after the clocks run again.
fn watched<S: Subject>(clocks: &[&Line], report: &mut Report) {
    settle();
    let mut watch = Watch::<S>::begin(Reads::Bounds);
    watch.busy(2 * SECOND).check_claims("before", report);
    for clock in clocks {
        clock.set_rate(0.0);
    }
    watch.busy(5 * SECOND).check_claims("while it stands", report);
    for clock in clocks {
        clock.set_rate(1.0);
    }
    watch.busy(FOUND).check_claims("at first", report);
    let after = watch.busy(SLEWED);
    report.at_most_ns("unix time off after 200 ms", after.unix_ns, STRAY_NS);
    after.check_claims("after 200 ms", report);
    let later = watch.busy(5 * SECOND);
    report.at_most_ns("unix time off after 20 s", later.unix_ns, BAR_NS);
}

fn frozen(clocks: &[&Line], from_start: bool, report: &mut Report) {
    if !from_start {
        settle();
    }
    for clock in clocks {
        clock.set_rate(0.0);
    }
    let calls: [(&str, fn()); 6] = [
        ("Instant::now", || _ = black_box(Instant::now())),
        ("elapsed", || _ = black_box(Instant::now().elapsed())),
        ("UnixTime::now", || _ = black_box(UnixTime::now())),
        ("now_with_uncertainty", || _ = black_box(UnixTime::now_with_uncertainty())),
        ("uptime", || _ = black_box(uptime())),
        ("status", || _ = black_box(status())),
    ];
    let mut most = [0; 6];
    for round in 0..20_000 {
        for (most, (_, call)) in most.iter_mut().zip(calls) {
            machine::pass(Duration::from_micros(50 + machine::random(950)));
            *most = reads_of(call).max(*most);
        }
        // `sync` may cost more, but must end.
        if round % 1_000 == 0 {
            reads_of(sync);
        }
    }
    for (most, (name, _)) in most.into_iter().zip(calls) {
        report.at_most(&format!("reads in {name}"), most, BAR);
    }
}

/// Returns the number of reads in `call`.
fn reads_of(call: impl FnOnce()) -> u64 {
    let before = machine::reads();
    machine::limit_reads(ENDLESS);
    call();
    machine::unlimit_reads();
    machine::reads() - before
}

/// Waits for a frozen clock, endlessly.
fn wait_for_the_next_value(clock: &Line) {
    clock.set_rate(0.0);
    let first = machine::read_os(clock);
    reads_of(|| while machine::read_os(clock) == first {});
}
