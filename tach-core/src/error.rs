//! The crate's error.

mod fault;

use core::fmt;
use core::time::Duration;

pub(crate) use self::fault::{Fault, Field};
use crate::os;

/// An error of this crate.
///
/// The message states the value that is wrong, where it is, and the values that are right. Reading
/// the clock never fails; the functions that return an error list its causes.
///
/// # Examples
///
/// ```
/// use tach_core::UnixTime;
///
/// let error = "2026-04-31T09:30:00Z".parse::<UnixTime>().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "the day at byte 8 is 31, but must be from 01 to 30 in 2026-04",
/// );
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Error(Kind);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    BeforeEpoch,
    AfterMax,
    /// A number that is out of its range. The message puts it between the two texts.
    Number {
        given: i32,
        texts: &'static [&'static str; 2],
    },
    Parse {
        fault: Fault,
        position: usize,
    },
    // A `Duration` here would make every error larger.
    Exhausted {
        total_ns: u64,
    },
    ClockRead,
    Configured,
    Interval(Duration),
    Thread {
        os_code: Option<i32>,
    },
}

impl Error {
    pub(crate) const BEFORE_EPOCH: Self = Self(Kind::BeforeEpoch);
    pub(crate) const AFTER_MAX: Self = Self(Kind::AfterMax);
    pub(crate) const CLOCK_READ: Self = Self(Kind::ClockRead);
    pub(crate) const CONFIGURED: Self = Self(Kind::Configured);

    pub(crate) const fn offset(minutes: i32) -> Self {
        const TEXTS: [&str; 2] = ["the offset is ", " minutes, but must be from -1439 to 1439"];
        Self::number(minutes, &TEXTS)
    }

    /// Creates the error for a number that is out of its range. The message puts it between the
    /// texts.
    pub(crate) const fn number(given: i32, texts: &'static [&'static str; 2]) -> Self {
        Self(Kind::Number { given, texts })
    }

    pub(crate) const fn parse(fault: Fault, position: usize) -> Self {
        Self(Kind::Parse { fault, position })
    }

    #[cold]
    pub(crate) const fn exhausted(total_ns: u64) -> Self {
        Self(Kind::Exhausted { total_ns })
    }

    #[allow(dead_code, reason = "for features with a thread")]
    pub(crate) const fn interval(given: Duration) -> Self {
        Self(Kind::Interval(given))
    }

    #[allow(dead_code, reason = "for features with a thread")]
    pub(crate) const fn thread(os_code: Option<i32>) -> Self {
        Self(Kind::Thread { os_code })
    }

    /// Returns whether a [`Budget`](crate::Budget) is exhausted.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let error = tach_core::Budget::new(Duration::ZERO).check().unwrap_err();
    /// assert!(error.is_exhausted());
    /// assert_eq!(error.to_string(), "the time budget of 0ns is exhausted");
    /// ```
    #[must_use]
    pub const fn is_exhausted(&self) -> bool {
        matches!(self.0, Kind::Exhausted { .. })
    }

    /// Returns whether a value is out of range: a time before
    /// [`UnixTime::EPOCH`](crate::UnixTime::EPOCH) or after
    /// [`UnixTime::MAX`](crate::UnixTime::MAX), an offset of a day or more, the nanoseconds of a
    /// timestamp of protobuf, or the interval of a thread.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_core::UnixTime;
    ///
    /// let error = UnixTime::try_from(Duration::MAX).unwrap_err();
    /// assert!(error.is_out_of_range());
    /// let error = "1969-07-20T20:17:40Z".parse::<UnixTime>().unwrap_err();
    /// assert!(error.is_out_of_range());
    /// ```
    #[must_use]
    pub const fn is_out_of_range(&self) -> bool {
        matches!(
            self.0,
            Kind::BeforeEpoch | Kind::AfterMax | Kind::Number { .. } | Kind::Interval(_)
        )
    }

    /// Returns whether a [`Config`](crate::Config) was installed too late: after another one, or
    /// after the first read of the clock.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{Config, Instant};
    ///
    /// let _first = Instant::now();
    /// assert!(Config::new().enforce_order().install().unwrap_err().is_too_late());
    /// ```
    #[must_use]
    pub const fn is_too_late(&self) -> bool {
        matches!(self.0, Kind::ClockRead | Kind::Configured)
    }

    /// Returns the position of the fault in a text that was parsed, in bytes from the start. `None`
    /// if the text is well formed or the error is of another kind.
    ///
    /// The position of a number out of its range is its first digit. The position is always on a
    /// character boundary, so the text can be split there.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::UnixTime;
    ///
    /// let text = "1970-01-01T00:00:00";
    /// let error = text.parse::<UnixTime>().unwrap_err();
    /// assert_eq!(error.position(), Some(text.len()));
    /// ```
    #[must_use]
    pub const fn position(&self) -> Option<usize> {
        match self.0 {
            Kind::Parse { position, .. } => Some(position),
            _ => None,
        }
    }
}

/// The message: `main`, `unwrap` and `expect` print an error by this trait.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::BeforeEpoch => f.write_str(
                "the time is before 1970-01-01T00:00:00Z, the first that a UnixTime can hold",
            ),
            Kind::AfterMax => f.write_str(
                "the time is after 2554-07-21T23:34:33.709551615Z, the last that a UnixTime can \
                 hold",
            ),
            Kind::Number { given, texts: [before, after] } => write!(f, "{before}{given}{after}"),
            Kind::Parse { fault, position } => fault.fmt_at(*position, f),
            Kind::Exhausted { total_ns } => {
                let total = Duration::from_nanos(*total_ns);
                write!(f, "the time budget of {total:?} is exhausted")
            }
            Kind::ClockRead => f.write_str(
                "the clock was read before the configuration was installed; install it at the \
                 start of main",
            ),
            Kind::Configured => f.write_str(
                "another configuration was installed before this one; a process can install only \
                 one",
            ),
            Kind::Interval(given) => {
                write!(f, "the interval is {given:?}, but must be from 1ms to 1day")
            }
            Kind::Thread { os_code: Some(code) } => {
                f.write_str("the OS can't start a thread: ")?;
                os::write_error(*code, f)
            }
            Kind::Thread { os_code: None } => f.write_str("the OS can't start a thread"),
        }
    }
}

impl core::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    const OUT_OF_RANGE: [bool; 3] = [true, false, false];
    const EXHAUSTED: [bool; 3] = [false, true, false];
    const TOO_LATE: [bool; 3] = [false, false, true];
    const NONE: [bool; 3] = [false; 3];

    #[test]
    fn a_user_can_distinguish_the_kinds() {
        for (error, kind, position) in [
            (Error::BEFORE_EPOCH, OUT_OF_RANGE, None),
            (Error::AFTER_MAX, OUT_OF_RANGE, None),
            (Error::offset(1440), OUT_OF_RANGE, None),
            (Error::exhausted(0), EXHAUSTED, None),
            (Error::CLOCK_READ, TOO_LATE, None),
            (Error::CONFIGURED, TOO_LATE, None),
            (Error::parse(Fault::NoLeapSecond, 17), NONE, Some(17)),
            (Error::interval(Duration::ZERO), OUT_OF_RANGE, None),
            (Error::thread(None), NONE, None),
        ] {
            let found = [error.is_out_of_range(), error.is_exhausted(), error.is_too_late()];
            assert_eq!((found, error.position()), (kind, position), "{error}");
            assert_eq!(format!("{error:?}"), error.to_string());
        }
    }

    #[test]
    #[cfg(all(feature = "std", unix))]
    fn a_thread_that_is_not_started_has_the_reason_of_the_os() {
        let message = Error::thread(Some(libc::EAGAIN)).to_string();
        let reason = std::io::Error::from_raw_os_error(libc::EAGAIN);
        assert_eq!(message, format!("the OS can't start a thread: {reason}"));
    }
}
