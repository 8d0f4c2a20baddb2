//! One formatter a thread.

use core::cell::Cell;
use std::thread_local;

use super::Formatter;
use crate::UnixTime;

thread_local! {
    static FORMATTER: Cell<Formatter> = const { Cell::new(Formatter::new()) };
}

/// Calls `f` with the RFC 3339 text of `time`, written by this thread's own [`Formatter`].
///
/// It may be called again within `f`.
///
/// # Examples
///
/// ```
/// use tach_core::{UnixTime, rfc3339};
///
/// let mut line = String::new();
/// rfc3339::with_text::<6, _>(UnixTime::EPOCH, |text| line.push_str(text));
/// assert_eq!(line, "1970-01-01T00:00:00.000000Z");
/// ```
#[inline]
pub fn with_text<const DIGITS: usize, R>(time: UnixTime, f: impl FnOnce(&str) -> R) -> R {
    with_formatter(|formatter| f(formatter.format::<DIGITS>(time)))
}

/// As [`with_text`], with a number of digits that is known only at run time; see
/// [`Formatter::format_digits`].
///
/// # Examples
///
/// ```
/// use tach_core::{UnixTime, rfc3339};
///
/// let len = rfc3339::with_text_digits(UnixTime::EPOCH, 3, str::len);
/// assert_eq!(len, "1970-01-01T00:00:00.000Z".len());
/// ```
#[inline]
pub fn with_text_digits<R>(time: UnixTime, digits: usize, f: impl FnOnce(&str) -> R) -> R {
    with_formatter(|formatter| f(formatter.format_digits(time, digits)))
}

#[inline]
fn with_formatter<R>(f: impl FnOnce(&mut Formatter) -> R) -> R {
    FORMATTER.with(|cell| {
        // A copy, so that a call within `f` finds a whole formatter as well.
        let mut formatter = cell.get();
        let result = f(&mut formatter);
        cell.set(formatter);
        result
    })
}
