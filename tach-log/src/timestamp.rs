//! Only the time, for programs that write the rest of the line themselves.

use core::fmt;

use tach_core::{Clock, SystemClock, adapter};

use crate::event_time;

/// How many digits of a second a line shows.
pub(crate) const DIGITS: usize = 6;

/// A value that prints the time: RFC 3339 in UTC with six digits of a second, or up to nine by the
/// precision (`{:.3}`).
///
/// It prints the event time of the thread (see [`EventTime`](crate::EventTime)), or else the
/// current time. With the feature `slog` it is a `slog::Value` too.
///
/// # Guarantees
///
/// Texts of one precision are equally long, and sort as their times do.
///
/// # Cost
///
/// No allocation and no lock. A thread keeps the text of its last second, so that mostly only the
/// fraction is written.
///
/// # Examples
///
/// In a format of your own:
///
/// ```
/// use std::io::Write as _;
///
/// use tach_log::Timestamp;
///
/// env_logger::Builder::from_default_env()
///     .format(|line, record| writeln!(line, "{} {}", Timestamp::new(), record.args()))
///     .init();
/// ```
///
/// In lines of `slog-json`, whose `add_default_keys` would bring another clock:
///
/// ```
/// # #[cfg(feature = "slog")] {
/// use std::sync::Mutex;
///
/// use slog::{Drain, FnValue, Logger, PushFnValue, o};
/// use slog_json::Json;
/// use tach_log::Timestamp;
///
/// let drain = Json::new(std::io::stderr())
///     .add_key_value(o!(
///         "ts" => Timestamp::new(),
///         "level" => FnValue(|record| record.level().as_short_str()),
///         "msg" => PushFnValue(|record, out| out.emit(record.msg())),
///     ))
///     .build();
/// let log = Logger::root(Mutex::new(drain).fuse(), o!());
/// slog::info!(log, "starting");
/// # }
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Timestamp<C = SystemClock> {
    clock: C,
}

impl Timestamp {
    /// Creates a timestamp of the system's clock.
    ///
    /// # Examples
    ///
    /// ```
    /// println!("{} starting", tach_log::Timestamp::new());
    /// ```
    #[must_use]
    pub const fn new() -> Self {
        Self { clock: SystemClock }
    }
}

impl<C> Timestamp<C> {
    /// Uses `clock` instead.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{ManualClock, UnixTime};
    /// use tach_log::Timestamp;
    ///
    /// let clock = ManualClock::new(UnixTime::from_nanos(1_500_000_000));
    /// let timestamp = Timestamp::new().with_clock(&clock);
    /// assert_eq!(format!("{timestamp}"), "1970-01-01T00:00:01.500000Z");
    /// assert_eq!(format!("{timestamp:.3}"), "1970-01-01T00:00:01.500Z");
    /// ```
    #[must_use]
    pub fn with_clock<D: Clock>(self, clock: D) -> Timestamp<D> {
        Timestamp { clock }
    }
}

impl<C: Clock> fmt::Display for Timestamp<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(DIGITS);
        let time = event_time::unix_time(&self.clock);
        adapter::rfc3339::with_text_digits(time, digits, |text| f.write_str(text))
    }
}

#[cfg(feature = "slog")]
impl<C: Clock> slog::Value for Timestamp<C> {
    fn serialize(
        &self,
        _record: &slog::Record<'_>,
        key: slog::Key,
        serializer: &mut dyn slog::Serializer,
    ) -> slog::Result {
        adapter::rfc3339::with_text_digits(event_time::unix_time(&self.clock), DIGITS, |text| {
            serializer.emit_str(key, text)
        })
    }
}

#[cfg(test)]
mod tests {
    use tach_core::{ManualClock, UnixTime};

    use super::*;

    #[test]
    fn the_precision_chooses_the_digits() {
        let clock = ManualClock::new(UnixTime::from_nanos(1_700_000_000_123_456_789));
        let time = Timestamp::new().with_clock(&clock);
        assert_eq!(time.to_string(), "2023-11-14T22:13:20.123456Z");
        let cases = ["20Z", "20.1Z", "20.12Z", "20.123Z", "20.1234Z", "20.12345Z", "20.123456Z"];
        let cases = cases.into_iter().chain(["20.1234567Z", "20.12345678Z", "20.123456789Z"]);
        for (digits, end) in cases.enumerate() {
            assert_eq!(format!("{time:.digits$}"), format!("2023-11-14T22:13:{end}"));
        }
        assert_eq!(format!("{time:.12}"), format!("{time:.9}"), "nine digits are the most");
    }
}
