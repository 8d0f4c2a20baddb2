//! Options that can't work, and variables of the environment that can't be used.

use core::ops::RangeInclusive;
use core::time::Duration;
#[cfg(feature = "otlp")]
use std::io;

#[cfg(feature = "otlp")]
use log::LevelFilter;
#[cfg(feature = "otlp")]
use tach_core::adapter;

use super::Builder;
#[cfg(feature = "otlp")]
use crate::environment;
use crate::faults::Faults;
use crate::sink::Sink;
#[cfg(feature = "otlp")]
use crate::trace::sampling::Sampling;

/// Room for records of the usual lengths, and the lengths that a record's head can state.
const QUEUE_BYTES: RangeInclusive<usize> = 4 * 1024..=256 * 1024 * 1024;
/// Records that wait longer are lost with a process that crashes.
const LONGEST_FLUSH_INTERVAL: Duration = Duration::from_secs(1);
/// Room for the parts that are never cut.
const LEAST_RECORD_BYTES: usize = 256;

impl Builder {
    /// Adds a fault for each option that can't work. The sinks are looked at when they are opened.
    pub(super) fn check(&self, faults: &mut Faults) {
        let call = || format!("Builder::queue_bytes({})", self.queue_bytes);
        let wanted = "a queue has 4096 (4 KiB) to 268435456 bytes (256 MiB)";
        faults.unless(QUEUE_BYTES.contains(&self.queue_bytes), call, wanted);
        let call = || format!("Builder::flush_interval({:?})", self.interval);
        let is_nap = !self.interval.is_zero() && self.interval <= LONGEST_FLUSH_INTERVAL;
        faults.unless(is_nap, call, "a nap is longer than zero and lasts a second at most");
        let call = || format!("Builder::max_record_bytes({})", self.record_bytes);
        faults.unless(
            self.record_bytes >= LEAST_RECORD_BYTES,
            call,
            "a record has 256 bytes or more",
        );
        if let Some((directives, records)) = &self.backtrace {
            let call = || format!("Builder::backtrace({directives:?}, {records})");
            faults.unless(*records > 0, call, "one record or more is kept");
        }
        let call = || "Builder::rate_limit(0)".to_owned();
        let wanted = "one record or more is logged; the filter \"off\" drops all";
        faults.unless(self.rate_limit != Some(0), call, wanted);
        let call = || "Builder::redact([\"\"])".to_owned();
        faults.unless(self.redacted.iter().all(|key| !key.is_empty()), call, "a field has a key");
        if let Some(durations) = &self.durations {
            durations.check(faults);
        }
        if let Some(recorder) = &self.flight {
            recorder.check(faults);
        }
        if let Some(sampling) = &self.sampling {
            sampling.check(faults);
        }
        if let Some(tail) = &self.tail {
            tail.check(faults);
        }
        self.check_spans(faults);
    }

    /// Adds a fault for each option of spans that nobody takes.
    fn check_spans(&self, faults: &mut Faults) {
        if self.sinks.iter().any(Sink::takes_spans) {
            return;
        }
        #[cfg(feature = "opentelemetry")]
        let activates_all = self.activates_all;
        #[cfg(not(feature = "opentelemetry"))]
        let activates_all = false;
        for (is_set, method) in [
            (self.sampling.is_some(), "sampling"),
            (self.tail.is_some(), "tail"),
            (self.sends_unfinished, "unfinished_spans"),
            (activates_all, "activate_all_spans"),
        ] {
            let wanted = "no sink takes spans; add one that does, Sink::otlp_spans";
            faults.unless(!is_set, || format!("Builder::{method}"), wanted);
        }
    }

    /// Collects the faults of the environment, which are the program's if it asks for that.
    pub(super) fn check_environment(&mut self, faults: &mut Faults) {
        #[cfg(feature = "otlp")]
        {
            let sampling = self.sampling.as_ref();
            self.environment.faults.extend(sampling.and_then(Sampling::environment_fault));
            self.disable_collectors();
        }
        if self.environment.is_strict {
            self.environment.faults.drain(..).for_each(|fault| faults.add(fault));
        }
    }

    /// Removes the sinks that send to collectors if `OTEL_SDK_DISABLED` is `true`.
    #[cfg(feature = "otlp")]
    fn disable_collectors(&mut self) {
        if !self.sinks.iter().any(Sink::is_collector) {
            return;
        }
        match environment::is_sdk_disabled(adapter::variable) {
            Ok(false) => return,
            Ok(true) => self.sinks.retain(|sink| !sink.is_collector()),
            Err(fault) => return self.environment.faults.push(fault),
        }
        if self.sinks.is_empty() {
            // Without a sink, records would be printed on stderr.
            let none = Sink::writer("no collector", io::sink()).level(LevelFilter::Off);
            self.sinks.push(none.into());
        }
    }
}
