//! The OS clock is forced: tach asks neither the CPU nor the kernel about the counter.

use core::arch::x86_64::__cpuid;
use core::hint::black_box;

use tach_core::{
    Clock, Config, Instant, MonotonicInstant, OrderedInstant, Source, SystemClock, UnixTime,
    disruptions, status, sync,
};

use super::{Scenario, Setting};
use crate::linux::child::Calls;
use crate::linux::report::Report;
use crate::linux::trap;

pub(crate) fn scenarios() -> Vec<Scenario> {
    let scenario = |name: &str| {
        let scenario = Scenario::new(
            format!("quiet/{name}"),
            |report| {
                asks(use_each_clock, report);
                report.holds(status().source == Source::Os, "the source".to_owned());
            },
            |report| asks(|| _ = black_box(__cpuid(0)), report),
        );
        // The kernel's clocks, without the vDSO, which reads the counter.
        Scenario { setting: Setting::Real, ..scenario }
    };
    let config = Some(Config::new().force_source(Source::Os));
    vec![
        Scenario { source: Some("os"), ..scenario("environment") },
        Scenario { config, ..scenario("config") },
    ]
}

fn use_each_clock() {
    let (start, strict) = (Instant::now(), MonotonicInstant::now());
    let _ = black_box((OrderedInstant::now(), SystemClock.early_now(), SystemClock.anchor()));
    let _ = black_box((UnixTime::now(), UnixTime::now_with_uncertainty(), start.unix_time()));
    let _ = black_box((start.elapsed(), strict.elapsed(), disruptions()));
    sync();
    let _ = black_box(status());
}

fn asks(body: fn(), report: &mut Report) {
    let calls = Calls::now();
    let (steps, questions) = trap::step(body);
    report.at_least("instructions seen", steps, 10);
    report.at_most("questions to the CPU", questions, 0);
    calls.check_none_since(report);
}
