//! What is wrong with a pattern, and where.

use core::error::Error;
use core::fmt;

use jiff::fmt::strtime::BrokenDownTime;

/// The error of making a [`Strftime`](crate::Strftime): a directive of its pattern can't be printed.
///
/// # Examples
///
/// ```
/// let error = tach_tracing::Strftime::utc("%H:%M:%!").unwrap_err();
/// println!("{error}");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatternError {
    directive: Box<str>,
    position: usize,
    /// jiff's, in its words.
    reason: Box<str>,
}

impl PatternError {
    /// Where the directive begins, in bytes from the start of the pattern.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(tach_tracing::Strftime::utc("at %").unwrap_err().position(), 3);
    /// ```
    #[must_use]
    pub const fn position(&self) -> usize {
        self.position
    }
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { directive, position, reason } = self;
        write!(
            f,
            "the directive \"{directive}\" at byte {position} of the pattern can't be printed \
             ({reason}); a percent sign is written as \"%%\""
        )
    }
}

impl Error for PatternError {}

/// Whether `pattern` can be printed, here of `sample`.
pub(super) fn check(pattern: &str, sample: &BrokenDownTime) -> Result<(), PatternError> {
    let Err(error) = sample.to_string(pattern) else { return Ok(()) };
    // What stands before a directive can be printed up to the one at fault, and not after it.
    let printable = |end: usize| sample.to_string(&pattern[..end]).is_ok();
    let mut starts = pattern.match_indices('%').map(|(start, _)| start);
    let position = starts.rfind(|&start| printable(start)).unwrap_or(0);
    let rest = &pattern[position..];
    // From the percent sign to the letter, or whatever stands in its place.
    let end = rest.char_indices().skip(1).find(|(_, c)| !"-_0^#:.123456789".contains(*c));
    let len = end.map_or(rest.len(), |(start, letter)| start + letter.len_utf8());
    let reason = error.to_string().into();
    Err(PatternError { directive: rest[..len].into(), position, reason })
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use jiff::tz::TimeZone;

    use super::*;

    #[test]
    fn the_directive_at_fault_is_found() {
        let sample = BrokenDownTime::from(&Timestamp::UNIX_EPOCH.to_zoned(TimeZone::UTC));
        for (pattern, position, directive) in [
            ("%", 0, "%"),
            ("100%", 3, "%"),
            ("%H:%M:%!", 6, "%!"),
            ("%%H %%%J %Y", 6, "%J"),
            ("%.3f %.x", 5, "%.x"),
            ("%H é %é %Y", 6, "%é"),
        ] {
            let error = check(pattern, &sample).expect_err(pattern);
            assert_eq!((error.position, &*error.directive), (position, directive), "{pattern}");
            let message = error.to_string();
            let start = format!("the directive \"{directive}\" at byte {position} of the pattern");
            assert!(message.starts_with(&start), "{message}");
        }
        for pattern in ["", "no directive", "%%", "%Y%%", "é%H", "%-d %_d %05Y %.9f %:z %Q"] {
            assert!(check(pattern, &sample).is_ok(), "{pattern}");
        }
    }
}
