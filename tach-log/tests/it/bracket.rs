//! A check that a back end printed the time at which it was called.

use tach_core::UnixTime;

/// The length of a timestamp with six digits.
const LEN: usize = "2554-07-21T23:34:33.709551Z".len();

/// Calls `log` repeatedly, which returns the timestamp that was printed, and asserts that each
/// timestamp lies between the times before and after the call.
pub(crate) fn assert_bracketed(mut log: impl FnMut() -> String) {
    for _ in 0..100 {
        let before = UnixTime::now();
        let text = log();
        let after = UnixTime::now();
        assert_eq!(text.len(), LEN, "{text} is not of the fixed width");
        let printed: jiff::Timestamp = text.parse().unwrap();
        // The text is rounded down to µs, so the earlier time has to be as well.
        let printed_us = u64::try_from(printed.as_microsecond()).unwrap();
        let bracket = before.as_micros()..=after.as_micros();
        assert!(bracket.contains(&printed_us), "{text} is not within {before} and {after}");
    }
}
