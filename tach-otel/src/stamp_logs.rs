//! Times for the log records of loggers that can't be wrapped.

use core::fmt;
use core::time::Duration;

use opentelemetry::InstrumentationScope;
use opentelemetry::logs::{LogRecord, Severity};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::logs::{LogProcessor, SdkLogRecord};
use tach_core::{Clock, SystemClock};

use crate::moment;

/// A log processor that gives records the times they lack, before the processors after it export them.
///
/// It is for code that makes its own loggers. Where the provider can be wrapped, [`Clocked`](crate::Clocked)
/// does the same and spares the SDK its reading of the clock.
///
/// # Guarantees
///
/// The observed timestamp is the time of the event by tach; so is the timestamp, unless the record has
/// one: then that is kept. Both come from one reading, that of the [event time](tach_core::event_time) that is
/// pinned to the thread if there is one. A record that has both, and the same, was clocked before and is
/// left as it is.
///
/// It answers `event_enabled` with `false`, so that it never makes a record wanted that no other
/// processor wants.
///
/// # Cost
///
/// One read of tach's clock a record; the SDK's own has happened by then.
///
/// # Examples
///
/// It comes first:
///
/// ```
/// use opentelemetry::logs::{Logger, LoggerProvider};
/// use opentelemetry_sdk::logs::{InMemoryLogExporter, SdkLoggerProvider};
/// use tach_otel::StampLogs;
///
/// let exporter = InMemoryLogExporter::default();
/// let provider = SdkLoggerProvider::builder()
///     .with_log_processor(StampLogs::new())
///     .with_simple_exporter(exporter.clone())
///     .build();
///
/// let logger = provider.logger("checkout");
/// logger.emit(logger.create_log_record());
/// let record = &exporter.get_emitted_logs().unwrap()[0].record;
/// assert!(record.timestamp().is_some());
/// assert_eq!(record.timestamp(), record.observed_timestamp());
/// ```
#[derive(Clone, Copy, Default)]
pub struct StampLogs<C = SystemClock> {
    clock: C,
}

impl StampLogs {
    /// Stamps by the system's clock.
    ///
    /// # Examples
    ///
    /// ```
    /// let processor = tach_otel::StampLogs::new();
    /// ```
    #[must_use]
    pub const fn new() -> Self {
        Self { clock: SystemClock }
    }

    /// Stamps by `clock`.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tach_core::{ManualClock, UnixTime};
    ///
    /// let clock = Arc::new(ManualClock::new(UnixTime::EPOCH));
    /// let processor = tach_otel::StampLogs::new().with_clock(clock);
    /// ```
    #[must_use]
    pub fn with_clock<D: Clock>(self, clock: D) -> StampLogs<D> {
        StampLogs { clock }
    }
}

/// By hand, since a `dyn Clock` has none.
impl<C> fmt::Debug for StampLogs<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StampLogs").finish_non_exhaustive()
    }
}

impl<C: Clock> LogProcessor for StampLogs<C> {
    fn emit(&self, record: &mut SdkLogRecord, _: &InstrumentationScope) {
        let was_clocked =
            record.timestamp().is_some() && record.timestamp() == record.observed_timestamp();
        if was_clocked {
            return;
        }
        let now = moment::system_time(&self.clock);
        if record.timestamp().is_none() {
            record.set_timestamp(now);
        }
        record.set_observed_timestamp(now);
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }

    fn event_enabled(&self, _: Severity, _: &str, _: Option<&str>) -> bool {
        false
    }
}
