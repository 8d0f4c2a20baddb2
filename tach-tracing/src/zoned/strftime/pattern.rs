//! Checking a pattern.

use jiff::fmt::strtime::BrokenDownTime;

use crate::zoned::Error;

/// Directives that jiff lacks, or prints in another form, each with a pattern for chrono's form.
/// The first three depend on the locale: chrono and the C library print those of the C locale.
const AS_CHRONO: [(char, &str); 5] = [
    ('c', "%a %b %e %H:%M:%S %Y"),
    ('r', "%I:%M:%S %p"),
    ('x', "%m/%d/%y"),
    ('f', "%9f"),
    ('v', "%e-%b-%Y"),
];

/// The reason that `%+` is refused: its number of digits varies, so that lines would not align.
const NO_PLUS: &str = "for RFC 3339 use the timers `Utc`, `Local` or `FixedOffset`, or \
                       \"%FT%T%.6f%:z\"";

/// Checks that `sample` can be printed by `pattern`, and returns the pattern for jiff.
pub(super) fn checked(pattern: &str, sample: &BrokenDownTime) -> Result<Box<str>, Error> {
    let mut ours = String::with_capacity(pattern.len());
    // The same pattern, but each directive of chrono's is replaced by one of jiff's of the same
    // length, so that positions stay the same.
    let mut for_check = String::with_capacity(pattern.len());
    let mut rest = pattern.char_indices();
    while let Some((start, c)) = rest.next() {
        let directive = if c == '%' { rest.next().map(|(_, letter)| letter) } else { None };
        if let Some((_, text)) = AS_CHRONO.iter().find(|(letter, _)| Some(*letter) == directive) {
            ours.push_str(text);
            for_check.push_str("%d");
        } else if directive == Some('+') {
            return Err(Error::new("%+", NO_PLUS, start));
        } else {
            for text in [&mut ours, &mut for_check] {
                text.extend([c].into_iter().chain(directive));
            }
        }
    }
    check(&for_check, sample)?;
    Ok(ours.into())
}

fn check(pattern: &str, sample: &BrokenDownTime) -> Result<(), Error> {
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

    /// chrono prints these texts.
    #[test]
    fn directives_of_chrono_print_chrono_s_text() {
        let time = "2001-07-08T00:34:59.026490Z".parse::<Timestamp>().unwrap();
        let time = BrokenDownTime::from(&time.to_zoned(TimeZone::UTC));
        for (pattern, text) in [
            ("%c", "Sun Jul  8 00:34:59 2001"),
            ("%x|%r", "07/08/01|12:34:59 AM"),
            ("%f|%v", "026490000| 8-Jul-2001"),
            ("%%c %%%c", "%c %Sun Jul  8 00:34:59 2001"),
            ("%Y é%x", "2001 é07/08/01"),
        ] {
            let ours = checked(pattern, &time).unwrap();
            assert_eq!(time.to_string(&*ours).unwrap(), text);
        }
        assert_eq!(checked("%v %c %!", &time).unwrap_err().position(), 6);
        let error = checked("at %+", &time).unwrap_err();
        assert_eq!(error.position(), 3);
        assert!(error.to_string().contains("`Local`"), "{error}");
    }

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
