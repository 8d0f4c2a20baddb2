//! All that is known of this host's clock.

use core::time::Duration;
use std::time::{Instant as StdInstant, SystemTime};

use serde::Serialize;
use tach_core::adapter::{self, Choice, CpuCounter};
use tach_core::{Instant, MonotonicInstant, Order, Source, UnixTime, status};

use super::errors::{self, Distances, Errors};
use super::files::Files;
use super::host::Host;
use super::os_clock::OsClock;
use crate::measure::{Cost, KNOWN_NS, Subject, costs, nanos, subject};
use crate::output::Ns;
use crate::progress::Progress;
use crate::skew::{self, Offset};

const ROUNDS: u32 = 40;
/// The time that the costs and one core's offset take, for the progress.
const COSTS_TIME: Duration = Duration::from_millis(100);
const OFFSET_TIME: Duration = Duration::from_millis(70);

#[derive(Debug, Serialize)]
pub(crate) struct Evidence {
    pub(crate) tach: &'static str,
    /// The time of the report, in UTC.
    pub(crate) time: String,
    pub(crate) platform: String,
    pub(crate) source: &'static str,
    /// The stable code of the reason.
    pub(crate) reason: &'static str,
    #[serde(skip)]
    pub(crate) reason_text: String,
    pub(crate) order: &'static str,
    /// Messages about `TACH_SOURCE` and `TACH_ORDER`, if they have unknown values.
    pub(crate) ignored_variables: Vec<&'static str>,
    /// The distances of the C library's clocks from the kernel's; `null` if the kernel's can't be
    /// read apart.
    pub(crate) os_clock: Option<OsClock>,
    pub(crate) counter: Counter,
    pub(crate) measured_hz: Option<u64>,
    pub(crate) counter_failures: u8,
    pub(crate) suspends: u32,
    pub(crate) restores: u32,
    pub(crate) host: Host,
    pub(crate) ntp: Option<Ntp>,
    /// `null` if threads can't be bound to cores here.
    pub(crate) skew: Option<Vec<Offset>>,
    pub(crate) costs: Vec<Cost>,
    pub(crate) errors: Errors,
}

/// The CPU's statements about its counter.
#[derive(Debug, Serialize)]
pub(crate) struct Counter {
    /// The kernel's name for the counter; `null` if tach reads none on this platform.
    pub(crate) name: Option<&'static str>,
    pub(crate) is_invariant: bool,
    pub(crate) declared_hz: Option<u64>,
}

/// The kernel's estimate of its clock's error against UTC (adjtimex(2)).
#[derive(Debug, Serialize)]
pub(crate) struct Ntp {
    pub(crate) is_synchronized: bool,
    pub(crate) estimated_error_ns: u64,
    pub(crate) max_error_ns: u64,
}

/// Something that was not measured, since its bound is too wide.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NotMeasured {
    /// Its code in JSON.
    pub(crate) code: &'static str,
    /// Its name in a sentence.
    pub(crate) name: String,
}

impl Evidence {
    /// Measures this host for about `time`, and reads `files`.
    pub(crate) fn collect(files: &Files, time: Duration) -> Self {
        let os_clock = OsClock::compare();
        let cores = u32::try_from(skew::cores()).unwrap_or(u32::MAX);
        let offsets_time = OFFSET_TIME.saturating_mul(cores.saturating_sub(1));
        let progress = Progress::new(COSTS_TIME + offsets_time + time);
        progress.set(Duration::ZERO, "costs of reads");
        let costs = costs(&subjects(), ROUNDS, |_| ());
        progress.set(COSTS_TIME, "skew between cores");
        let mut passed = COSTS_TIME;
        let skew = skew::offsets(|_| {
            passed += OFFSET_TIME;
            progress.set(passed, "skew between cores");
        });
        let errors = errors::measure(time, |elapsed| {
            progress.set(passed + elapsed, "timelines against the OS's clocks");
        });
        drop(progress);
        let os_clock = os_clock.zip(OsClock::compare()).map(|(start, end)| start.worst(end));
        Self { os_clock, ..Self::new(files, skew, costs, errors) }
    }

    fn new(files: &Files, skew: Option<Vec<Offset>>, costs: Vec<Cost>, errors: Errors) -> Self {
        let (host, status) = (files.read(), status());
        // The files of another host lead to another choice.
        let choice = if files.is_this_host() {
            Choice { source: status.source, order: status.order, reason: status.reason }
        } else {
            let (current, available) = (&host.clocksource, &host.available_clocksources);
            adapter::choice_under(current.as_deref(), available.as_deref())
        };
        let CpuCounter { clocksource, is_invariant, declared_hz } = adapter::cpu_counter();
        Self {
            tach: env!("CARGO_PKG_VERSION"),
            time: format!("{:.0}", UnixTime::now()),
            platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            source: choice.source.as_str(),
            reason: choice.reason.as_str(),
            reason_text: choice.reason.to_string(),
            order: order_code(choice.order),
            ignored_variables: [
                (status.source_request_ignored, "TACH_SOURCE must be \"os\" or \"counter\""),
                (status.order_request_ignored, "TACH_ORDER must be \"enforced\""),
            ]
            .into_iter()
            .filter_map(|(is_ignored, message)| is_ignored.then_some(message))
            .collect(),
            os_clock: None,
            counter: Counter {
                name: Some(clocksource).filter(|name| !name.is_empty()),
                is_invariant,
                declared_hz,
            },
            measured_hz: status
                .frequency_hz
                .filter(|_| [status.source, choice.source] == [Source::Counter; 2]),
            counter_failures: status.counter_failures,
            suspends: status.suspends,
            restores: status.restores,
            host,
            ntp: status.kernel_clock.map(|clock| Ntp {
                is_synchronized: clock.synchronized,
                estimated_error_ns: nanos(clock.estimated_error),
                max_error_ns: nanos(clock.max_error),
            }),
            skew,
            costs,
            errors,
        }
    }

    /// Returns the cost of a read, if it was measured.
    pub(crate) fn cost_ns(&self, name: &str) -> Option<f64> {
        self.costs.iter().find(|cost| cost.name == name).map(|cost| cost.ns)
    }

    /// Returns what is known to no microsecond.
    pub(crate) fn not_measured(&self) -> Vec<NotMeasured> {
        let unknown: Vec<_> = self.skew.iter().flatten().filter(|core| !core.is_known()).collect();
        let skew = match unknown.as_slice() {
            [] => None,
            [core] => Some(format!("the skew of core {}", core.core)),
            cores => Some(format!("the skew of {} cores", cores.len())),
        };
        let is_unknown =
            |distances: Option<Distances>| distances.is_some_and(|one| !one.is_known());
        let monotonic = "the timeline of elapsed time".to_owned();
        let realtime = "the timeline of Unix time".to_owned();
        [
            skew.map(|name| NotMeasured { code: "skew", name }),
            is_unknown(self.errors.monotonic)
                .then_some(NotMeasured { code: "monotonic", name: monotonic }),
            is_unknown(self.errors.realtime)
                .then_some(NotMeasured { code: "realtime", name: realtime }),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Returns the reason for which something was not measured.
    pub(crate) fn why_not_measured(&self) -> String {
        // A bracket has two reads of the OS clock.
        match self.cost_ns("std Instant") {
            Some(ns) if ns > KNOWN_NS => format!("a read of the OS clock takes {}", Ns(ns)),
            _ => "the machine is busy".to_owned(),
        }
    }
}

/// Returns the code of an order, for machines.
fn order_code(order: Order) -> &'static str {
    match order {
        Order::OrderedRead => "ordered-read",
        Order::Enforced => "enforced",
        _ => "os-clock",
    }
}

fn subjects() -> [Subject; 5] {
    [
        subject!("tach Instant", Instant::now()),
        subject!("tach MonotonicInstant", MonotonicInstant::now()),
        subject!("tach UnixTime", UnixTime::now()),
        subject!("std Instant", StdInstant::now()),
        subject!("std SystemTime", SystemTime::now()),
    ]
}
