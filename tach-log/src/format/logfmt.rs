//! logfmt: `key=value` throughout.

use std::io;

use super::{Format, key_value, keys, made_line, quoted, time};
use crate::event::Event;

/// A line of logfmt for each event:
///
/// ```text
/// ts=2026-11-21T09:30:00.123456Z level=INFO target=app::db msg="connected" attempt=2
/// ```
///
/// Absent parts, repeated keys and keys of the head are treated as in [`Json`](crate::Json), other
/// keys and all values as in [`Line`](crate::Line). logfmt has no types: the text `"1"` and the
/// number are both `1`.
///
/// # Guarantees
///
/// As [`Line`](crate::Line)'s. A reader that knows JSON's escapes between quotes reads the message
/// and every value as they were.
///
/// # Examples
///
/// ```
/// use log::Record;
/// use tach_log::{Logfmt, display};
///
/// let record = Record::builder().target("app").args(format_args!("ready")).build();
/// let line = display(Logfmt::new(), &record).to_string();
/// assert!(line.ends_with(r#"Z level=INFO target=app msg="ready""#));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Logfmt {}

impl Logfmt {
    /// Creates the format.
    ///
    /// # Examples
    ///
    /// ```
    /// let format = tach_log::Logfmt::new();
    /// env_logger::builder().format(tach_log::write(format)).init();
    /// ```
    #[must_use]
    pub const fn new() -> Self {
        Self {}
    }
}

impl Format for Logfmt {
    fn write(&self, event: &Event<'_>, to: &mut Vec<u8>) -> io::Result<()> {
        if event.is_line() {
            made_line(to, event);
            return Ok(());
        }
        to.extend_from_slice(b"ts=");
        time(to, event.time());
        to.extend_from_slice(b" level=");
        to.extend_from_slice(event.level_name().as_bytes());
        if !event.target().is_empty() {
            to.extend_from_slice(b" target=");
            key_value::write_text(to, event.target());
        }
        if !event.message().is_empty() {
            to.extend_from_slice(b" msg=");
            quoted(to, event.message());
        }
        if event.has_spans() {
            key_value::write_span_names(to, event)?;
        }
        event.fields(|key, value| {
            to.push(b' ');
            key_value::write_key(to, key);
            if is_of_head(key) {
                let head = |is: &dyn Fn(&str) -> bool| HEAD.into_iter().any(is);
                let end = to.len() + keys::underscores(key, head, |is| event.has_key(is));
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

/// The keys of the head. They are reserved also where the event has no such part.
const HEAD: [&str; 5] = ["ts", "level", "target", "msg", "span"];

fn is_of_head(key: &str) -> bool {
    matches!(key, "ts" | "level" | "target" | "msg" | "span")
}
