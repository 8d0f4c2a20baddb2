//! Suspends, and jumps of `CLOCK_MONOTONIC` as in a time namespace: durations stay true.

use core::time::Duration;

use tach_core::{Instant, disruptions, status};

use super::{BY_OS_CLOCK, Scenario};
use crate::linux::child::settle;
use crate::linux::machine::{self, HOUR, SECOND};
use crate::linux::report::Report;
use crate::linux::subject::{Anchored, Os, Subject, Tach};
use crate::linux::watch::{Reads, Watch};

/// The allowed error of a duration: the time within which an event is found.
const LOOK_NS: u64 = 100_000_000;
const FOUND: Duration = Duration::from_millis(101);
/// The allowed error of a second that begins after the event.
const SECOND_BAR_NS: u64 = 1_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    /// A suspend of an hour, during which the counter runs.
    Suspend,
    /// A suspend of an hour, during which the counter stands.
    SuspendWithCounter,
    /// A jump of `CLOCK_MONOTONIC`, in seconds.
    Jump(i64),
}

impl Event {
    fn name(self) -> String {
        match self {
            Self::Suspend => "suspend".to_owned(),
            Self::SuspendWithCounter => "suspend/counter-stands".to_owned(),
            Self::Jump(seconds) => format!("jump/{seconds}s"),
        }
    }

    fn happen(self) {
        match self {
            Self::Suspend => machine::suspend(HOUR),
            Self::SuspendWithCounter => machine::suspend_with_counter(HOUR),
            Self::Jump(seconds) => machine::jump_monotonic(seconds),
        }
    }

    /// Returns the allowed error of Unix time in the first 100 ms, and afterwards. Only a suspend
    /// with the counter disturbs the wall clock.
    fn unix_bars_ns(self) -> (Option<u64>, u64) {
        match self {
            // The error of a settled rate, after an hour without a sample.
            Self::Suspend => (Some(1_000_000), 1_000),
            Self::SuspendWithCounter => (None, 1_000),
            Self::Jump(_) => (Some(1_000), 1_000),
        }
    }
}

pub(crate) fn scenarios() -> Vec<Scenario> {
    let events =
        [Event::Suspend, Event::SuspendWithCounter, Event::Jump(-1_000), Event::Jump(1_000)];
    // In other cases the time that is read is undisturbed, so no control could fail.
    let shows = |&(event, reads): &(Event, Reads)| match reads {
        Reads::Plain | Reads::Bounds => true,
        Reads::Unix => event == Event::SuspendWithCounter,
        Reads::Elapsed => event != Event::SuspendWithCounter,
    };
    let each = events.into_iter().flat_map(|event| Reads::ALL.map(|reads| (event, reads)));
    let each = each.filter(shows);
    let scenario = |(event, reads): (Event, Reads)| {
        Scenario::new(
            format!("{}/{}", event.name(), reads.name()),
            move |report| pause::<Tach>(event, reads, report),
            // An anchored clock ignores a jump and passes. The OS clock does not.
            move |report| match event {
                Event::Jump(_) => pause::<Os>(event, reads, report),
                _ => pause::<Anchored>(event, reads, report),
            },
        )
        .except(match event {
            Event::Jump(1..) => BY_OS_CLOCK,
            Event::Suspend if reads == Reads::Elapsed => BY_OS_CLOCK,
            _ => &[],
        })
    };
    let instants = Scenario::new(
        "suspend/unix-time-of-instants".to_owned(),
        |report| instants(|| Instant::now().unix_time().as_nanos(), report),
        |report| {
            let (realtime_ns, monotonic) = (machine::REALTIME.value(), Os::begin());
            instants(|| realtime_ns + monotonic.elapsed_ns(), report);
        },
    );
    each.map(scenario).chain([instants]).collect()
}

/// Checks the Unix time of instants from the second millisecond of use on.
fn instants(unix_ns: impl Fn() -> u64, report: &mut Report) {
    settle();
    unix_ns();
    machine::suspend(HOUR);
    let mut worst_ns = 0;
    for step in 0..1_000 {
        machine::pass(Duration::from_micros(100));
        let off_ns = unix_ns().abs_diff(machine::REALTIME.value());
        worst_ns = if step < 20 { 0 } else { off_ns.max(worst_ns) };
    }
    report.at_most_ns("unix time off", worst_ns, SECOND_BAR_NS);
}

fn pause<S: Subject>(event: Event, reads: Reads, report: &mut Report) {
    settle();
    let mut watch = Watch::<S>::begin(reads);
    watch.busy(2 * SECOND).check_claims("before", report);
    event.happen();
    // This second begins before any look at the OS clock.
    let fresh = Watch::<S>::begin(Reads::Plain);
    let first = watch.busy(FOUND);
    let mut later = watch.busy(SECOND.saturating_sub(FOUND));
    report.at_most_ns("the first second off", fresh.elapsed_error_ns(), SECOND_BAR_NS);
    let mut worst_ns = 0;
    for _ in 0..20 {
        let fresh = Watch::<S>::begin(Reads::Plain);
        later.merge(&watch.busy(SECOND));
        worst_ns = worst_ns.max(fresh.elapsed_error_ns());
    }
    report.at_most_ns("a later second off", worst_ns, SECOND_BAR_NS);
    if matches!(event, Event::Suspend | Event::SuspendWithCounter) {
        let events = disruptions();
        report.at_least("suspends counted", status().suspends.into(), 1);
        report.holds(
            disruptions() == events,
            "the status shows what `disruptions` counted".to_owned(),
        );
    }
    let (first_bar_ns, bar_ns) = event.unix_bars_ns();
    if let Some(bar_ns) = first_bar_ns {
        report.at_most_ns("unix time off at first", first.unix_ns, bar_ns);
    }
    report.at_most_ns("unix time off after 100 ms", later.unix_ns, bar_ns);
    let elapsed_ns = first.elapsed_ns.max(later.elapsed_ns);
    report.at_most_ns("elapsed across it off", elapsed_ns, LOOK_NS);
    first.check_claims("at first", report);
    later.check_claims("after 100 ms", report);
}
