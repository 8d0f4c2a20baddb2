//! logfmt: `key=value` throughout.

use std::io;

use tach_core::Offset;

use super::layout::options::options;
use super::layout::{DEFAULT, Layout, SITE, Syntax, THREAD, What};
use super::time::Time;
use super::{Format, key_value, keys, made_line, quoted, time};
use crate::event::Event;
use crate::value::Value;

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
/// The methods change the layout as [`Json`](crate::Json)'s do.
///
/// # Guarantees
///
/// The [guarantees of `Line`](crate::Line#guarantees). A reader that knows JSON's escapes between
/// quotes reads the message and every value as they were.
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
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Logfmt {
    /// `None` for the default, whose texts are known to the compiler.
    layout: Option<Box<Layout>>,
}

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
        Self { layout: None }
    }
}

options!(Logfmt, Syntax::Logfmt);

impl Format for Logfmt {
    fn write(&self, event: &Event<'_>, to: &mut Vec<u8>) -> io::Result<()> {
        if event.is_line() {
            made_line(to, event);
            return Ok(());
        }
        if let Some(layout) = &self.layout {
            return custom(layout, to, event);
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
            to.extend_from_slice(b" span=");
            key_value::write_span_names(to, event)?;
        }
        event.fields(|key, value| {
            to.push(b' ');
            key_value::write_key(to, key);
            keys::mark(to, key, event);
            to.push(b'=');
            key_value::write_value(to, value);
            Ok(())
        })?;
        to.push(b'\n');
        Ok(())
    }

    #[inline]
    fn wants_site(&self) -> bool {
        self.layout_has(&SITE)
    }

    #[inline]
    fn wants_thread(&self) -> bool {
        self.layout_has(&THREAD)
    }
}

/// Writes an event in a layout of the user's.
fn custom(layout: &Layout, to: &mut Vec<u8>, event: &Event<'_>) -> io::Result<()> {
    let start = to.len();
    layout.write(to, event)?;
    // Each pair began with a space.
    if to.len() > start {
        to.remove(start);
    }
    to.push(b'\n');
    Ok(())
}
