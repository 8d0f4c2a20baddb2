//! A line for people.

use core::ops::Range;
use std::io;

use tach_core::adapter;

use super::{Format, escape, key_value, keys, made_line, span_names, time};
use crate::event::Event;

/// Hours to milliseconds in RFC 3339.
const TIME_OF_DAY: Range<usize> = 11..23;
/// The width of `ERROR` and `DEBUG`.
const LEVEL_WIDTH: &[u8] = b"     ";

/// The key of the spans' names.
const SPAN: &str = "span";

// ECMA-48, "select graphic rendition".
const FAINT: &[u8] = b"\x1b[2m";
const PLAIN: &[u8] = b"\x1b[0m";

/// A line for people for each event:
///
/// ```text
/// 2026-11-21T09:30:00.123456Z INFO  app::db: connected peer=10.0.0.7:5432 query="select 1"
/// ```
///
/// A value is bare if it is a word or a number, and otherwise quoted and escaped as in JSON. The
/// message has no quotes, so a program can't find its end: for programs take
/// [`Json`](crate::Json) or [`Logfmt`](crate::Logfmt).
///
/// Time and level have colors on a terminal, if it is a standard stream of `tach-pipeline`.
///
/// # Guarantees
///
/// One event is one line, whatever it holds. The control characters of ASCII and Latin-1, the line
/// ends of Unicode and the marks that reorder text are escaped as in JSON (`\n`, `\u001b`), so that
/// no text forges a line or drives a terminal. In a key, `_` replaces `"`, `=`, `\` and every
/// character that is neither alphanumeric nor a mark of ASCII.
///
/// If the `Display` of a message or value fails or panics, `<failed to format>` or `<panicked>`
/// follows the text before.
///
/// # Examples
///
/// ```
/// use log::Record;
/// use tach_log::{Line, display};
///
/// let record = Record::builder().target("app").args(format_args!("two\nlines")).build();
/// assert!(display(Line::new(), &record).to_string().ends_with(r"Z INFO  app: two\nlines"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Line {
    is_compact: bool,
}

impl Line {
    /// Creates the format.
    ///
    /// # Examples
    ///
    /// ```
    /// let format = tach_log::Line::new();
    /// env_logger::builder().format(tach_log::write(format)).init();
    /// ```
    #[must_use]
    pub const fn new() -> Self {
        Self { is_compact: false }
    }

    /// Creates a shorter line for developers: the time of day, then the level, the message and the
    /// fields, and last the target with the names of the spans.
    ///
    /// ```text
    /// 09:30:00.123 INFO  connected peer=10.0.0.7:5432 [app::db request:query]
    /// ```
    ///
    /// On a terminal, keys and everything but level, message and values are faint.
    ///
    /// # Examples
    ///
    /// ```
    /// let format = tach_log::Line::compact();
    /// env_logger::builder().format(tach_log::write(format)).init();
    /// ```
    #[must_use]
    pub const fn compact() -> Self {
        Self { is_compact: true }
    }
}

impl Format for Line {
    fn write(&self, event: &Event<'_>, to: &mut Vec<u8>) -> io::Result<()> {
        if event.is_line() {
            made_line(to, event);
            return Ok(());
        }
        if self.is_compact {
            return compact(to, event);
        }
        let level = event.level_name();
        if event.shows_colors() {
            colored_head(to, event);
        } else {
            time(to, event.time());
            to.push(b' ');
            to.extend_from_slice(level.as_bytes());
        }
        to.extend_from_slice(LEVEL_WIDTH.get(level.len()..).unwrap_or_default());
        if !event.target().is_empty() {
            to.push(b' ');
            escape::write::<false>(to, event.target());
            to.push(b':');
        }
        if !event.message().is_empty() {
            to.push(b' ');
            escape::write::<false>(to, event.message());
        }
        let has_spans = event.has_spans();
        if has_spans {
            key_value::write_span_names(to, event)?;
        }
        event.fields(|key, value| {
            to.push(b' ');
            key_value::write_key(to, key);
            if has_spans && key == SPAN {
                let end = to.len() + keys::underscores(key, |is| is(SPAN), |is| event.has_key(is));
                to.resize(end, b'_');
            }
            to.push(b'=');
            key_value::write_value(to, value);
            Ok(())
        })?;
        to.push(b'\n');
        Ok(())
    }
}

fn compact(to: &mut Vec<u8>, event: &Event<'_>) -> io::Result<()> {
    let [faint, plain, bright] = if event.shows_colors() {
        [FAINT, PLAIN, color(event.level_name())]
    } else {
        [&b""[..]; 3]
    };
    to.extend_from_slice(faint);
    adapter::rfc3339::with_text_digits(event.time(), 3, |text| {
        to.extend_from_slice(text.get(TIME_OF_DAY).unwrap_or(text).as_bytes());
    });
    to.extend_from_slice(plain);
    to.push(b' ');
    let level = event.level_name();
    to.extend_from_slice(bright);
    to.extend_from_slice(level.as_bytes());
    to.extend_from_slice(plain);
    to.extend_from_slice(LEVEL_WIDTH.get(level.len()..).unwrap_or_default());
    if !event.message().is_empty() {
        to.push(b' ');
        escape::write::<false>(to, event.message());
    }
    event.fields(|key, value| {
        to.push(b' ');
        to.extend_from_slice(faint);
        key_value::write_key(to, key);
        to.push(b'=');
        to.extend_from_slice(plain);
        key_value::write_value(to, value);
        Ok(())
    })?;
    if !event.target().is_empty() || event.has_spans() {
        to.push(b' ');
        to.extend_from_slice(faint);
        to.push(b'[');
        escape::write::<false>(to, event.target());
        if event.has_spans() {
            if !event.target().is_empty() {
                to.push(b' ');
            }
            span_names(to, event)?;
        }
        to.push(b']');
        to.extend_from_slice(plain);
    }
    to.push(b'\n');
    Ok(())
}

#[cold]
fn colored_head(to: &mut Vec<u8>, event: &Event<'_>) {
    to.extend_from_slice(FAINT);
    time(to, event.time());
    to.extend_from_slice(PLAIN);
    to.push(b' ');
    to.extend_from_slice(color(event.level_name()));
    to.extend_from_slice(event.level_name().as_bytes());
    to.extend_from_slice(PLAIN);
}

fn color(level: &str) -> &'static [u8] {
    match level {
        "CRITICAL" => b"\x1b[1;31m",
        "ERROR" => b"\x1b[31m",
        "WARN" => b"\x1b[33m",
        "INFO" => b"\x1b[32m",
        "DEBUG" => b"\x1b[34m",
        _ => b"\x1b[35m",
    }
}
