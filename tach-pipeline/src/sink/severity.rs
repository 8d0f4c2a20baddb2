//! The severities of syslog (RFC 5424, section 6.2.1).

use tach_log::Event;

/// Returns the severity of an event. There is none below debugging.
pub(super) fn of(event: &Event<'_>) -> u8 {
    match event.level() {
        log::Level::Error if event.level_name() == "CRITICAL" => 2,
        log::Level::Error => 3,
        log::Level::Warn => 4,
        log::Level::Info => 6,
        log::Level::Debug | log::Level::Trace => 7,
    }
}
