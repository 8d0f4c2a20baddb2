//! The severities of events.

use tach_log::Event;
use tach_sinks::Severity;

/// Returns the severity of an event. There is none below debugging.
pub(super) fn of(event: &Event<'_>) -> Severity {
    match event.level() {
        log::Level::Error if event.level_name() == "CRITICAL" => Severity::Critical,
        log::Level::Error => Severity::Error,
        log::Level::Warn => Severity::Warning,
        log::Level::Info => Severity::Info,
        log::Level::Debug | log::Level::Trace => Severity::Debug,
    }
}
