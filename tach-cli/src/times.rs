//! Times on the command line.

use core::time::Duration;

/// Parses a time.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    let parsed = humantime::parse_duration(text);
    parsed.map_err(|_| "a time looks like 500ms, 20m or \"1h 30m\"".to_owned())
}

/// Parses a time that is not zero.
pub(crate) fn some_time(text: &str) -> Result<Duration, String> {
    at_least(text, Duration::from_nanos(1), "it must be longer than no time")
}

/// Parses a time that a regression can use.
pub(crate) fn time_for_regression(text: &str) -> Result<Duration, String> {
    at_least(text, Duration::from_millis(100), "it must be at least 100ms")
}

fn at_least(text: &str, least: Duration, problem: &str) -> Result<Duration, String> {
    let time = time(text)?;
    if time < least { Err(problem.to_owned()) } else { Ok(time) }
}
