//! All that is known of this host's clock.

use core::time::Duration;
use std::time::{Instant as StdInstant, SystemTime};

use serde::Serialize;
use tach_core::adapter::{self, CpuCounter};
use tach_core::{Instant, MonotonicInstant, Order, Source, UnixTime, status};

use super::errors::{self, Errors};
use super::host::{Files, Host};
use crate::measure::{Cost, Subject, costs, nanos, subject};
use crate::progress::Progress;
use crate::skew::{self, Offset};

const ROUNDS: u32 = 40;
/// The time that the costs and one core's offset take, for the progress.
const COSTS_TIME: Duration = Duration::from_millis(100);
const OFFSET_TIME: Duration = Duration::from_millis(70);

#[derive(Debug, Serialize)]
pub(crate) struct Evidence {
    pub(crate) tach: &'static str,
    pub(crate) platform: String,
    pub(crate) source: &'static str,
    /// The stable code of the reason.
    pub(crate) reason: &'static str,
    #[serde(skip)]
    pub(crate) reason_text: String,
    pub(crate) order: &'static str,
    /// Messages about `TACH_SOURCE` and `TACH_ORDER`, if they have unknown values.
    pub(crate) ignored_variables: Vec<&'static str>,
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

impl Evidence {
    /// Measures this host for about `time`, and reads `files`.
    pub(crate) fn collect(files: &Files, time: Duration) -> Self {
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
        Self::new(files, skew, costs, errors)
    }

    fn new(files: &Files, skew: Option<Vec<Offset>>, costs: Vec<Cost>, errors: Errors) -> Self {
        let (host, status) = (files.read(), status());
        // The files of another host lead to another choice.
        let (source, order, reason) = if files.is_this_host() {
            (status.source, status.order, status.reason)
        } else {
            let available = host.available_clocksources.as_deref();
            adapter::choice_under(host.clocksource.as_deref(), available)
        };
        let CpuCounter { clocksource, is_invariant, declared_hz } = adapter::cpu_counter();
        Self {
            tach: env!("CARGO_PKG_VERSION"),
            platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            source: source.as_str(),
            reason: reason.as_str(),
            reason_text: reason.to_string(),
            order: order_code(order),
            ignored_variables: [
                (status.source_request_ignored, "TACH_SOURCE must be \"os\" or \"counter\""),
                (status.order_request_ignored, "TACH_ORDER must be \"enforced\""),
            ]
            .into_iter()
            .filter_map(|(is_ignored, message)| is_ignored.then_some(message))
            .collect(),
            counter: Counter {
                name: Some(clocksource).filter(|name| !name.is_empty()),
                is_invariant,
                declared_hz,
            },
            measured_hz: status.frequency_hz.filter(|_| source == Source::Counter),
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
