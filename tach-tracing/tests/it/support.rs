//! Captured output, and the times around it.

use tach_core::UnixTime;
use test_support::Captured;

/// Calls `log`, and returns the captured text with the Unix times around the call.
pub(crate) fn bracketed(log: impl FnOnce(&Captured)) -> (UnixTime, String, UnixTime) {
    let captured = Captured::default();
    let before = UnixTime::now();
    log(&captured);
    (before, captured.text(), UnixTime::now())
}

pub(crate) fn parse(text: &str) -> UnixTime {
    let parsed: jiff::Timestamp = text.parse().unwrap_or_else(|e| panic!("{text:?}: {e}"));
    UnixTime::from_nanos(u64::try_from(parsed.as_nanosecond()).unwrap())
}
