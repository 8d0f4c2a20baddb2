//! `Clocked` as a logger provider and as a logger.

use std::borrow::Cow;

use opentelemetry::InstrumentationScope;
use opentelemetry::logs::{LogRecord, Logger, LoggerProvider, Severity};
use tach_core::Clock;

use crate::clocked::Clocked;
use crate::event_time::event_time;

impl<T: LoggerProvider, C: Clock + Clone> LoggerProvider for Clocked<T, C> {
    type Logger = Clocked<T::Logger, C>;

    fn logger(&self, name: impl Into<Cow<'static, str>>) -> Self::Logger {
        self.around(self.inner.logger(name))
    }

    fn logger_with_scope(&self, scope: InstrumentationScope) -> Self::Logger {
        self.around(self.inner.logger_with_scope(scope))
    }
}

/// Sets both times of a record when it is created: appenders create it while they handle the event.
/// A time that is set later replaces it.
impl<T: Logger, C: Clock> Logger for Clocked<T, C> {
    type LogRecord = T::LogRecord;

    fn create_log_record(&self) -> Self::LogRecord {
        let mut record = self.inner.create_log_record();
        let now = event_time(&self.clock);
        record.set_timestamp(now);
        record.set_observed_timestamp(now);
        record
    }

    fn emit(&self, record: Self::LogRecord) {
        self.inner.emit(record);
    }

    #[inline]
    fn event_enabled(&self, level: Severity, target: &str, name: Option<&str>) -> bool {
        self.inner.event_enabled(level, target, name)
    }
}
