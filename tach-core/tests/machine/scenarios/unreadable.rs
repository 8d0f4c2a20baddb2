//! An OS clock can't be read: a filter refuses the call, or the time does not fit its type.

use core::time::Duration;

use libc::{CLOCK_MONOTONIC, CLOCK_REALTIME, clockid_t};
use tach_core::adapter::cpu_counter;
use tach_core::{Instant, Source, UnixTime, disruptions, status};

use super::Scenario;
use crate::linux::child::settle;
use crate::linux::interpose::refuse;
use crate::linux::machine::{self, HOUR, SECOND};
use crate::linux::mode::Mode;
use crate::linux::report::Report;
use crate::linux::subject::{Anchored, Subject, Tach};
use crate::linux::watch::{Reads, Watch};

/// The allowed error. After a minute of use, the rate is known to a ppb, which is 4 us in an hour.
const BAR_NS: u64 = 1_000;
const IDLE_BAR_NS: u64 = 4_000;
/// The time within which a clock that can be read again is used. The second look corrects the rate.
const FOUND: Duration = Duration::from_millis(201);
const OUTAGE: Duration = Duration::from_secs(30);

const REFUSED: [(&str, &[clockid_t]); 3] = [
    ("monotonic", &[CLOCK_MONOTONIC]),
    ("realtime", &[CLOCK_REALTIME]),
    ("both", &[CLOCK_MONOTONIC, CLOCK_REALTIME]),
];

pub(crate) fn scenarios() -> Vec<Scenario> {
    let kinds = [("calm", 0, false), ("slew", 500, false), ("idle", 0, true)];
    let each = REFUSED.into_iter().flat_map(|refused| kinds.map(|kind| (refused, kind)));
    let later = each.map(|((name, clocks), (kind, ppm, is_idle))| {
        Scenario::new(
            format!("unreadable/{name}/{kind}"),
            move |report| later::<Tach>(clocks, ppm, is_idle, report),
            move |report| later::<Anchored>(clocks, ppm, is_idle, report),
        )
    });
    let from_start = REFUSED.map(|(name, clocks)| {
        let scenario = Scenario::new(
            format!("unreadable/{name}/from-start"),
            move |report| from_start(clocks, clocks, report),
            move |report| from_start(&[], clocks, report),
        );
        // The counter goes back before the scenario starts.
        scenario.except(&[Mode::Moved, Mode::Replaced])
    });
    later.chain(from_start).collect()
}

/// The clocks can't be read for half a minute of use, or for an hour without use.
fn later<S: Subject>(clocks: &[clockid_t], ppm: i32, is_idle: bool, report: &mut Report) {
    let bar_ns = if is_idle { IDLE_BAR_NS } else { BAR_NS };
    settle();
    let by_counter = status().source == Source::Counter;
    let mut watch = Watch::<S>::begin(Reads::Plain);
    watch.busy(2 * SECOND).check_claims("before", report);
    let (events, before) = (disruptions(), watch.subject.bounded().uncertainty());
    refuse(clocks);
    machine::slew(ppm);
    if is_idle {
        machine::pass(HOUR);
    }
    let during = watch.busy(OUTAGE);
    check_bound(&watch.subject, report);
    if by_counter && ppm == 0 {
        report.at_most_ns("unix time off while refused", during.unix_ns, bar_ns);
        report.at_most_ns("elapsed off while refused", during.elapsed_ns, bar_ns);
    }
    if clocks.contains(&CLOCK_REALTIME) {
        let grown = watch.subject.bounded().uncertainty().saturating_sub(before);
        report.holds(grown > OUTAGE / 1_100, format!("the bound grew by {grown:?}"));
    }
    let counted = disruptions() - events;
    report.at_least("outages counted", counted, clocks.len() as u64);
    refuse(&[]);
    machine::slew(0);
    watch.busy(FOUND);
    let after = watch.busy(2 * SECOND);
    report.at_most_ns("unix time off after 200 ms", after.unix_ns, bar_ns);
    // A slew that nobody could see is not part of the elapsed time.
    let slewed_ns = machine::ns(OUTAGE + SECOND) / 1_000_000 * u64::from(ppm.unsigned_abs());
    report.at_most_ns("elapsed off after 200 ms", after.elapsed_ns, bar_ns + slewed_ns);
    after.check_claims("after 200 ms", report);
}

/// The clocks can't be read in the first second of the process.
fn from_start(refused: &[clockid_t], clocks: &[clockid_t], report: &mut Report) {
    refuse(refused);
    let (start, ticks) = (Instant::now(), machine::COUNTER.value());
    for _ in 0..100 {
        machine::pass(SECOND / 100);
        let _ = (UnixTime::now(), start.elapsed());
    }
    let (found, ticks) = (start.elapsed(), machine::COUNTER.value() - ticks);
    if clocks.contains(&CLOCK_REALTIME) {
        let claim = UnixTime::now_with_uncertainty().uncertainty();
        report.holds(claim > 500 * 8_766 * HOUR, format!("Unix time within {claim:?}"));
    }
    if clocks.contains(&CLOCK_MONOTONIC) {
        let bound = status().monotonic.uncertainty;
        report.holds(bound > Some(500 * 8_766 * HOUR), format!("monotonic within {bound:?}"));
        // The CPU under the simulated machine declares its own frequency, if any. Without one, the
        // counter counts as one of 10 GHz.
        let hz = u128::from(cpu_counter().declared_hz.unwrap_or(10_000_000_000));
        let ns = u128::from(ticks) * 1_000_000_000 / hz;
        let by_counter = status().source == Source::Counter;
        let expected_ns = if by_counter { u64::try_from(ns).expect("a second") } else { 0 };
        let off_ns = machine::ns(found).abs_diff(expected_ns);
        report.at_most_ns("elapsed off, by the ticks", off_ns, 2_000);
    }
    let said = status().to_string();
    report.holds(said.contains("can't be read"), "status names the clock".to_owned());
    refuse(&[]);
    machine::pass(FOUND);
    let mut watch = Watch::<Tach>::begin(Reads::Bounds);
    watch.busy(FOUND);
    let after = watch.busy(2 * SECOND);
    report.at_most_ns("unix time off after 200 ms", after.unix_ns, BAR_NS);
    report.at_most_ns("elapsed off after 200 ms", after.elapsed_ns, BAR_NS);
    after.check_claims("after 200 ms", report);
}

/// Checks that the bound holds the OS clock's time.
fn check_bound(subject: &impl Subject, report: &mut Report) {
    let before_ns = machine::REALTIME.value();
    let bounded = subject.bounded();
    let (earliest, latest) = (bounded.earliest().as_nanos(), bounded.latest().as_nanos());
    let holds = before_ns <= latest && earliest <= machine::REALTIME.value();
    report.holds(holds, format!("bound while refused: {:?}", bounded.uncertainty()));
}
