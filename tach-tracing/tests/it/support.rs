//! A bracket around what is logged.

use tach_core::UnixTime;
use test_support::Captured;

/// What `log` wrote to the subscriber that it was given, with the Unix times around it.
pub(crate) fn bracketed(log: impl FnOnce(&Captured)) -> (UnixTime, String, UnixTime) {
    let captured = Captured::default();
    let before = UnixTime::now();
    log(&captured);
    (before, captured.text(), UnixTime::now())
}

/// Parses RFC 3339 text by another library.
pub(crate) fn parse(text: &str) -> UnixTime {
    let parsed: jiff::Timestamp = text.parse().unwrap_or_else(|e| panic!("{text:?}: {e}"));
    UnixTime::from_nanos(u64::try_from(parsed.as_nanosecond()).unwrap())
}
