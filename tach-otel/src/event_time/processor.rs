//! A processor for the records of loggers that can't be wrapped.

use core::fmt;
use core::time::Duration;

use opentelemetry::InstrumentationScope;
use opentelemetry::logs::{LogRecord, Severity};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::logs::{LogProcessor, SdkLogRecord};
use tach_core::{Clock, SystemClock};

use super::event_time;

/// A log processor that sets the missing times of records, for the processors after it. Its default
/// has the system's clock.
///
/// It serves code that creates its own loggers. [`Clocked`](crate::Clocked) around the provider
/// does the same, and saves the SDK's clock read.
///
/// # Guarantees
///
/// - The observed timestamp becomes the [event time](tach_core::event_time), or else
///   the current time.
/// - A missing timestamp becomes the same. A timestamp that is set is kept.
/// - A record whose timestamps are set and equal is unchanged: its logger is clocked.
/// - `event_enabled` returns `false`: a record is created only if another processor needs it.
///
/// # Cost
///
/// One read of tach's clock for each record.
///
/// # Examples
///
/// It is the first processor:
///
/// ```
/// use opentelemetry::logs::{Logger, LoggerProvider};
/// use opentelemetry_sdk::logs::{InMemoryLogExporter, SdkLoggerProvider};
/// use tach_otel::EventTime;
///
/// let exporter = InMemoryLogExporter::default();
/// let provider = SdkLoggerProvider::builder()
///     .with_log_processor(EventTime::default())
///     .with_simple_exporter(exporter.clone())
///     .build();
///
/// let logger = provider.logger("checkout");
/// logger.emit(logger.create_log_record());
/// let record = &exporter.get_emitted_logs().unwrap()[0].record;
/// assert!(record.timestamp().is_some());
/// assert_eq!(record.timestamp(), record.observed_timestamp());
/// ```
#[derive(Clone, Copy)]
pub struct EventTime<C = SystemClock> {
    clock: C,
}

impl Default for EventTime {
    fn default() -> Self {
        Self { clock: SystemClock }
    }
}

impl EventTime {
    /// Uses `clock` instead of the system clock.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tach_core::{ManualClock, UnixTime};
    ///
    /// let clock = Arc::new(ManualClock::new(UnixTime::EPOCH));
    /// let processor = tach_otel::EventTime::default().with_clock(clock);
    /// ```
    #[must_use]
    pub fn with_clock<D: Clock>(self, clock: D) -> EventTime<D> {
        EventTime { clock }
    }
}

/// Not derived: a `dyn Clock` has no `Debug`.
impl<C> fmt::Debug for EventTime<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventTime").finish_non_exhaustive()
    }
}

impl<C: Clock> LogProcessor for EventTime<C> {
    fn emit(&self, record: &mut SdkLogRecord, _: &InstrumentationScope) {
        let was_clocked =
            record.timestamp().is_some() && record.timestamp() == record.observed_timestamp();
        if was_clocked {
            return;
        }
        let now = event_time(&self.clock);
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
