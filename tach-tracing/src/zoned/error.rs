//! The crate's one error.

use core::error::Error as StdError;
use core::fmt;

/// The error of parsing a pattern of [`Strftime`](crate::Strftime).
///
/// The message has the directive that can't be printed, its position, and the reason.
///
/// # Examples
///
/// ```
/// let error = tach_tracing::Strftime::utc("%H:%M:%!").unwrap_err();
/// assert!(error.to_string().starts_with("the directive \"%!\" at byte 6"));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Error {
    directive: Box<str>,
    /// jiff's reason.
    reason: Box<str>,
    position: usize,
}

impl Error {
    pub(crate) fn new(directive: &str, reason: &str, position: usize) -> Self {
        Self { directive: directive.into(), reason: reason.into(), position }
    }

    /// Returns the position of the directive, in bytes from the start of the pattern.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(tach_tracing::Strftime::utc("%H:%!").unwrap_err().position(), 3);
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
        let Self { directive, reason, position } = self;
        write!(
            f,
            "the directive \"{directive}\" at byte {position} of the pattern can't be printed \
             ({reason}); a percent sign is written as \"%%\""
        )
    }
}

impl StdError for Error {}
