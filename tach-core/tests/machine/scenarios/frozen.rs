//! An OS clock stands still: nothing hangs, and no call costs more than a few thousand reads.

use core::hint::black_box;
use core::time::Duration;

use tach_core::{Instant, UnixTime, status, sync, uptime};

use super::{End, Scenario};
use crate::linux::child::settle;
use crate::linux::machine::{self, Line, MONOTONIC, REALTIME, SECOND};
use crate::linux::report::Report;
use crate::linux::subject::{Anchored, Subject, Tach};
use crate::linux::watch::{Reads, Watch};

/// The most reads of clocks and counter in one call: a tenth of a millisecond's, at 25 ns each.
const BAR: u64 = 4_000;
/// A call that reads more often does not end.
const ENDLESS: u64 = 2_000_000;

/// Within 100 ms of use, which a process notices by its next read.
/// A clock that stood has shown a wrong rate, so the look that finds it again is followed by another.
const FOUND: Duration = Duration::from_millis(201);
/// The error 100 ms after the clocks go on.
const BAR_NS: u64 = 1_000_000;

/// Which clocks stand still.
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

/// The bounds hold while the clocks stand and when they go on, and Unix time is right afterwards.
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
    let after = watch.busy(5 * SECOND);
    report.at_most_ns("unix time off after 200 ms", after.unix_ns, BAR_NS);
    after.check_claims("after 200 ms", report);
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

/// How often `call` reads clocks and counter.
fn reads_of(call: impl FnOnce()) -> u64 {
    let before = machine::reads();
    machine::limit_reads(ENDLESS);
    call();
    machine::unlimit_reads();
    machine::reads() - before
}

/// A call that a frozen clock keeps for ever.
fn wait_for_the_next_value(clock: &Line) {
    clock.set_rate(0.0);
    let first = machine::read_os(clock);
    reads_of(|| while machine::read_os(clock) == first {});
}
