//! All that is known of this host's clock.

use core::time::Duration;

use serde::Serialize;
use tach_core::adapter::{self, CpuCounter};
use tach_core::{Order, Source, UnixTime, status};

use super::costs::{self, Cost};
use super::files::Files;
use super::host::Host;
use super::os_clock::OsClock;
use super::skew::{self, Offset};
use crate::drift::{self, Summary};
use crate::measure::{KNOWN_NS, nanos};
use crate::output::Ns;

/// The pause between comparisons of the timelines with the OS's clocks.
const PAUSE: Duration = Duration::from_millis(5);

#[derive(Debug, Serialize)]
pub(super) struct Evidence {
    pub(super) tach: &'static str,
    /// The time of the report, in UTC.
    pub(super) time: String,
    pub(super) platform: String,
    pub(super) source: &'static str,
    /// The stable code of the reason.
    pub(super) reason: &'static str,
    #[serde(skip)]
    pub(super) reason_text: String,
    pub(super) order: &'static str,
    /// Messages about `TACH_SOURCE` and `TACH_ORDER`, if they have unknown values.
    pub(super) ignored_variables: Vec<&'static str>,
    /// The distances of the C library's clocks from the kernel's; `null` if the kernel's can't be
    /// read apart.
    pub(super) os_clock: Option<OsClock>,
    pub(super) counter: Counter,
    pub(super) measured_hz: Option<u64>,
    pub(super) host: Host,
    pub(super) ntp: Option<Ntp>,
    /// `null` if threads can't be bound to cores here.
    pub(super) skew: Option<Vec<Offset>>,
    pub(super) costs: Vec<Cost>,
    /// The errors of tach's timelines against the OS's clocks.
    pub(super) errors: Vec<Summary>,
}

/// The CPU's statements about its counter.
#[derive(Debug, Serialize)]
pub(super) struct Counter {
    /// The kernel's name for the counter; `null` if tach reads none on this platform.
    pub(super) name: Option<&'static str>,
    pub(super) is_invariant: bool,
    pub(super) declared_hz: Option<u64>,
}

/// The kernel's estimate of its clock's error against UTC (adjtimex(2)).
#[derive(Debug, Serialize)]
pub(super) struct Ntp {
    pub(super) is_synchronized: bool,
    pub(super) estimated_error_ns: u64,
    pub(super) max_error_ns: u64,
}

impl Evidence {
    /// Measures this host for about `time`, and reads `files`.
    pub(super) fn collect(files: &Files, time: Duration) -> Self {
        let costs = costs::measure();
        let skew = skew::offsets();
        let errors = drift::measure(&drift::ours(), time, PAUSE);
        let (host, status) = (Host::read(files), status());
        let (source, order, reason) = if files.is_this_host {
            (status.source, status.order, status.reason)
        } else {
            // The files are another host's: repeat the choice from them instead of reporting this
            // process's.
            let [current, available] = [&host.clocksource, &host.available_clocksources];
            adapter::choice_under(current.as_deref(), available.as_deref())
        };
        let ignored = [
            (status.source_request_ignored, "TACH_SOURCE must be \"os\" or \"counter\""),
            (status.order_request_ignored, "TACH_ORDER must be \"enforced\""),
        ];
        let CpuCounter { clocksource, is_invariant, declared_hz } = adapter::cpu_counter();
        Self {
            tach: env!("CARGO_PKG_VERSION"),
            time: format!("{:.0}", UnixTime::now()),
            platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            source: source.as_str(),
            reason: reason.as_str(),
            reason_text: reason.to_string(),
            order: match order {
                Order::OrderedRead => "ordered-read",
                _ => "enforced",
            },
            ignored_variables: ignored
                .into_iter()
                .filter_map(|(is_ignored, message)| is_ignored.then_some(message))
                .collect(),
            // Compare last: a replaced clock that runs too fast is right at first.
            os_clock: OsClock::compare(),
            counter: Counter {
                name: Some(clocksource).filter(|name| !name.is_empty()),
                is_invariant,
                declared_hz,
            },
            measured_hz: status
                .frequency_hz
                .filter(|_| [status.source, source] == [Source::Counter; 2]),
            host,
            ntp: status.kernel_clock.map(|clock| Ntp {
                is_synchronized: clock.synchronized,
                estimated_error_ns: nanos(clock.estimated_error),
                max_error_ns: nanos(clock.max_error),
            }),
            skew,
            costs,
            errors: errors.iter().map(drift::Series::summary).collect(),
        }
    }

    /// Returns the cost of a read, if it was measured.
    pub(super) fn cost_ns(&self, name: &str) -> Option<f64> {
        self.costs.iter().find(|cost| cost.name == name).map(|cost| cost.ns)
    }

    /// Returns the names of all measurements whose bound exceeds a microsecond.
    pub(super) fn not_measured(&self) -> Vec<String> {
        let unknown: Vec<_> = self.skew.iter().flatten().filter(|core| !core.is_known()).collect();
        let skew = match unknown.as_slice() {
            [] => None,
            [core] => Some(format!("the skew of core {}", core.core)),
            cores => Some(format!("the skew of {} cores", cores.len())),
        };
        let errors = self.errors.iter().filter(|found| !found.is_known());
        skew.into_iter().chain(errors.map(|found| format!("the error of {}", found.name))).collect()
    }

    /// Returns the reason for which something was not measured.
    pub(super) fn why_not_measured(&self) -> String {
        // Each comparison reads the OS clock twice, so slow reads make the results inexact.
        match self.cost_ns("std Instant") {
            Some(ns) if ns > KNOWN_NS => format!("a read of the OS clock takes {}", Ns(ns)),
            _ => "the machine is busy".to_owned(),
        }
    }
}
