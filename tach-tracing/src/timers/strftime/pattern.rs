//! Checking a pattern.

use jiff::fmt::strtime::BrokenDownTime;

use crate::error::Error;

/// Checks that `sample` can be printed by `pattern`.
pub(super) fn check(pattern: &str, sample: &BrokenDownTime) -> Result<(), Error> {
    let Err(error) = sample.to_string(pattern) else { return Ok(()) };
    // The text before a directive is printable, unless it contains the faulty one.
    let printable = |end: usize| sample.to_string(&pattern[..end]).is_ok();
    let mut starts = pattern.match_indices('%').map(|(start, _)| start);
    let position = starts.rfind(|&start| printable(start)).unwrap_or(0);
    let rest = &pattern[position..];
    // A directive ends with the first character that is no flag or digit.
    let end = rest.char_indices().skip(1).find(|(_, c)| !"-_0^#:.123456789".contains(*c));
    let len = end.map_or(rest.len(), |(start, letter)| start + letter.len_utf8());
    Err(Error::new(&rest[..len], &error.to_string(), position))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use jiff::tz::TimeZone;

    use super::*;

    #[test]
    fn the_faulty_directive_is_found() {
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
            assert_eq!(error.position(), position, "{pattern}");
            let message = error.to_string();
            let start = format!(
                "the directive \"{directive}\" at byte {position} of the pattern can't be printed"
            );
            assert!(message.starts_with(&start), "{message}");
        }
        for pattern in ["", "no directive", "%%", "%Y%%", "é%H", "%-d %_d %05Y %.9f %:z %Q"] {
            assert!(check(pattern, &sample).is_ok(), "{pattern}");
        }
    }
}
