//! Two formatters per thread, since a program may alternate between UTC and local time.

use core::cell::Cell;
use std::thread::LocalKey;
use std::thread_local;

use super::{Formatter, Offset};
use crate::unix_time::UnixTime;

thread_local! {
    static UTC: Cell<Formatter> = const { Cell::new(Formatter::new()) };
    static LOCAL: Cell<Formatter> = const { Cell::new(Formatter::new()) };
}

/// Calls `f` with the RFC 3339 text of `time`, written by this thread's own formatter, with this
/// number of digits of a second. More than 9 digits count as 9.
///
/// `f` may call this function again.
///
/// # Examples
///
/// ```
/// use tach_core::{UnixTime, adapter::rfc3339};
///
/// let len = rfc3339::with_text_digits(UnixTime::EPOCH, 3, str::len);
/// assert_eq!(len, "1970-01-01T00:00:00.000Z".len());
/// ```
#[inline]
pub fn with_text_digits<R>(time: UnixTime, digits: usize, f: impl FnOnce(&str) -> R) -> R {
    with_formatter(&UTC, |formatter| f(formatter.format_digits(time, digits)))
}

/// Calls `f` with the text of `time` like [`with_text_digits`], in local time `offset` ahead of
/// UTC.
///
/// # Examples
///
/// ```
/// use tach_core::UnixTime;
/// use tach_core::adapter::rfc3339;
/// use tach_core::Offset;
///
/// let offset = Offset::from_minutes(60)?;
/// let text = rfc3339::with_offset_text(UnixTime::EPOCH, 0, offset, str::to_owned);
/// assert_eq!(text, "1970-01-01T01:00:00+01:00");
/// # Ok::<(), tach_core::Error>(())
/// ```
#[inline]
pub fn with_offset_text<R>(
    time: UnixTime,
    digits: usize,
    offset: Offset,
    f: impl FnOnce(&str) -> R,
) -> R {
    with_formatter(&LOCAL, |formatter| f(formatter.format_with_offset(time, digits, offset)))
}

/// Calls `f` with a copy of the thread's formatter, and stores the copy afterwards.
#[inline]
fn with_formatter<R>(
    formatter: &'static LocalKey<Cell<Formatter>>,
    f: impl FnOnce(&mut Formatter) -> R,
) -> R {
    // Format with a copy: a nested call within `f` must find a complete formatter. After the
    // thread-local is destroyed, each call uses a new formatter.
    let mut copy = formatter.try_with(Cell::get).unwrap_or(Formatter::new());
    let result = f(&mut copy);
    let _ = formatter.try_with(|cell| cell.set(copy));
    result
}
