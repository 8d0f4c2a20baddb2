//! Options that can't work, and variables of the environment that can't be used.

use core::ops::RangeInclusive;
use core::time::Duration;

use super::Builder;
use super::steps::Steps as _;
use crate::faults::Faults;
use crate::frame;

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
        if let Some((directives, records)) = &self.before_errors {
            let call = || format!("Builder::before_errors({directives:?}, {records})");
            faults.unless(*records > 0, call, "one record or more is kept");
        }
        let call = || "Builder::rate_limit(0)".to_owned();
        let wanted = "one record or more is logged; the filter \"off\" drops all";
        faults.unless(self.rate_limit != Some(0), call, wanted);
        if let Some(records) = self.then_each {
            let call = || format!("Builder::then_each({records})");
            let wanted = "of the records over a rate_limit, one in so many is logged";
            faults.unless(records > 0 && self.rate_limit.is_some(), call, wanted);
        }
        let call = || "Builder::redact([\"\"])".to_owned();
        faults.unless(self.redacted.iter().all(|key| !key.is_empty()), call, "a field has a key");
        let call = || "Builder::copy_texts()".to_owned();
        let wanted = "it is for the process; the first pipeline must have the option";
        faults.unless(!self.are_texts_copied || frame::copy_texts(), call, wanted);
        self.spans.check(&self.sinks, self.flush_timeout, faults);
    }

    /// Collects the faults of the environment. With `strict_environment` they fail the build.
    pub(super) fn check_environment(&mut self, faults: &mut Faults) {
        if self.environment.is_read {
            return;
        }
        self.environment.faults.extend(self.spans.read_environment(&self.sinks));
        self.check_collectors();
        if self.environment.is_strict {
            self.environment.faults.drain(..).for_each(|fault| faults.add(fault));
        }
    }
}
