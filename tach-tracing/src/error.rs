//! The crate's one error.

use core::error::Error as StdError;
use core::fmt;
use core::str::FromStr;

use tach_core::UnixTime;

/// The error of parsing a pattern of `Strftime` or a [`TickScale`](crate::TickScale).
///
/// The message has the fault, its position, and the expected text.
///
/// # Examples
///
/// ```
/// use tach_tracing::TickScale;
///
/// let error = "scale".parse::<TickScale>().unwrap_err();
/// assert_eq!(error.to_string(), "expected \"tick=\" at byte 0");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Error {
    fault: Fault,
    position: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A directive that can't be printed, and jiff's reason.
    #[cfg(feature = "jiff")]
    Directive {
        directive: Box<str>,
        reason: Box<str>,
    },
    /// A field of a scale that is missing.
    Missing(&'static str),
    Tick,
    Time(<UnixTime as FromStr>::Err),
    Rate,
    /// Text after the last field of a scale.
    NoEnd,
}

impl Error {
    pub(crate) const fn new(fault: Fault, position: usize) -> Self {
        Self { fault, position }
    }

    /// Returns whether a pattern of `Strftime` is wrong.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "jiff")]
    /// assert!(tach_tracing::Strftime::utc("%H:%M:%!").unwrap_err().is_pattern());
    /// ```
    #[must_use]
    pub const fn is_pattern(&self) -> bool {
        !self.is_tick_scale()
    }

    /// Returns whether the text of a [`TickScale`](crate::TickScale) is wrong.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_tracing::TickScale;
    ///
    /// assert!("scale".parse::<TickScale>().unwrap_err().is_tick_scale());
    /// ```
    #[must_use]
    pub const fn is_tick_scale(&self) -> bool {
        match self.fault {
            #[cfg(feature = "jiff")]
            Fault::Directive { .. } => false,
            Fault::Missing(_) | Fault::Tick | Fault::Time(_) | Fault::Rate | Fault::NoEnd => true,
        }
    }

    /// Returns the position of the fault, in bytes from the start of the text.
    ///
    /// A pattern fails at a directive, a scale at a wrong value or where a field should begin.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_tracing::TickScale;
    ///
    /// assert_eq!("tick=x".parse::<TickScale>().unwrap_err().position(), 5);
    /// ```
    #[must_use]
    pub const fn position(&self) -> usize {
        self.position
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
        let position = self.position;
        match &self.fault {
            #[cfg(feature = "jiff")]
            Fault::Directive { directive, reason } => write!(
                f,
                "the directive \"{directive}\" at byte {position} of the pattern can't be printed \
                 ({reason}); a percent sign is written as \"%%\""
            ),
            Fault::Missing(name) => write!(f, "expected \"{name}\" at byte {position}"),
            Fault::Tick => write!(f, "the tick at byte {position} must be a number below 2^64"),
            Fault::Time(error) => write!(f, "in the time at byte {position}: {error}"),
            Fault::Rate => write!(f, "the rate at byte {position} must be a number above 0"),
            Fault::NoEnd => write!(f, "expected the end of the text at byte {position}"),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &self.fault {
            Fault::Time(error) => Some(error),
            _ => None,
        }
    }
}
