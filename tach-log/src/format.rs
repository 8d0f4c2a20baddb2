//! Formats: an event as bytes.

mod ids;
mod json;
mod json_value;
mod key_value;
mod keyed;
pub(crate) mod keys;
mod layout;
mod line;
mod logfmt;
pub mod nested;
mod syntaxes;
mod time;

use core::mem;
use std::io;
use std::sync::Arc;

use tach_core::adapter::host_name;
use tach_core::{UnixTime, adapter};

pub use self::json::Json;
pub use self::json_value::write_value as json_value;
pub use self::keyed::{Keyed, Part};
pub use self::layout::Style;
pub use self::line::Line;
pub use self::logfmt::Logfmt;
use crate::escape;
use crate::event::Event;
use crate::timestamp::DIGITS;

/// A way to write an event as bytes, such as a line or a binary entry.
///
/// [`write()`](crate::write()) and [`display()`](crate::display()) take a format to a back end of
/// `log`, and `Sink::format` to `tach-pipeline`.
///
/// # Examples
///
/// ```
/// use std::io::{self, Write as _};
///
/// use tach_log::{Event, Format, Value};
///
/// struct Short;
///
/// impl Format for Short {
///     fn write(&self, event: &Event<'_>, to: &mut Vec<u8>) -> io::Result<()> {
///         // A `Value` is printed without line ends.
///         write!(to, "{} {}", event.level_name(), Value::Str(event.message()))?;
///         event.fields(|key, value| write!(to, " {}={value}", Value::Str(key)))?;
///         writeln!(to)
///     }
/// }
///
/// let mut line = Vec::new();
/// let fields = [("attempt", 2)];
/// let mut record = log::Record::builder();
/// let record = record.args(format_args!("connected")).key_values(&fields).build();
/// tach_log::write(Short)(&mut line, &record)?;
/// assert_eq!(line, b"INFO connected attempt=2\n");
/// # Ok::<(), io::Error>(())
/// ```
pub trait Format {
    /// Appends `event` to `to`, with its line end if it has one.
    ///
    /// `to` may hold earlier events.
    ///
    /// # Errors
    ///
    /// The formats of `tach-log` never fail. If another one does, its bytes for the event are
    /// discarded, and [`write()`](crate::write()) returns the error; the pipeline counts the record
    /// as dropped.
    fn write(&self, event: &Event<'_>, to: &mut Vec<u8>) -> io::Result<()>;

    /// Returns whether events should carry their [file](Event::file), [line](Event::line) and
    /// [module](Event::module): `false` by default, since carrying them costs every call a little.
    ///
    /// `tach-pipeline` asks once, when it is built.
    #[inline]
    fn wants_site(&self) -> bool {
        false
    }

    /// Returns whether events should carry the [number](Event::thread_id) and the
    /// [name](Event::thread_name) of their thread: `false` by default.
    ///
    /// `tach-pipeline` asks once, when it is built.
    #[inline]
    fn wants_thread(&self) -> bool {
        false
    }

    /// Returns the fields that the format writes with another key, each with that key: by default
    /// none.
    ///
    /// `Builder::redact` of `tach-pipeline` hides a field by either name. It asks once.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_log::{Format, Json};
    ///
    /// assert_eq!(Json::new().rename("pw", "password").renames(), [("pw", "password")]);
    /// ```
    fn renames(&self) -> Vec<(&str, &str)> {
        Vec::new()
    }

    /// Returns a sentence for each of the format's options that can't work: the call, what is wrong
    /// and what would be right. By default there are none.
    ///
    /// `Builder::build` of `tach-pipeline` fails with these sentences. [`write()`](crate::write())
    /// and [`display()`](crate::display()) don't ask.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_log::{Format, Json};
    ///
    /// let faults = Json::new().without("time").faults();
    /// assert!(faults[0].starts_with(r#"Json::without("time"): no part had this key"#));
    /// ```
    fn faults(&self) -> Vec<String> {
        Vec::new()
    }
}

macro_rules! forward {
    ($($pointer:ty),*) => {
        $(impl<F: Format + ?Sized> Format for $pointer {
            #[inline]
            fn write(&self, event: &Event<'_>, to: &mut Vec<u8>) -> io::Result<()> {
                (**self).write(event, to)
            }

            #[inline]
            fn wants_site(&self) -> bool {
                (**self).wants_site()
            }

            #[inline]
            fn wants_thread(&self) -> bool {
                (**self).wants_thread()
            }

            fn renames(&self) -> Vec<(&str, &str)> {
                (**self).renames()
            }

            fn faults(&self) -> Vec<String> {
                (**self).faults()
            }
        })*
    };
}

forward!(&F, Box<F>, Arc<F>);

fn time(to: &mut Vec<u8>, time: UnixTime) {
    adapter::rfc3339::with_text_digits(time, DIGITS, |text| to.extend_from_slice(text.as_bytes()));
}

/// Appends a text between quotes, escaped as in JSON.
#[inline]
pub fn quoted(to: &mut Vec<u8>, text: &str) {
    to.push(b'"');
    escape::write::<true>(to, text);
    to.push(b'"');
}

/// Writes the line that another formatter has made of the event.
#[cold]
fn made_line(to: &mut Vec<u8>, event: &Event<'_>) {
    to.extend_from_slice(event.message().as_bytes());
    to.push(b'\n');
}

/// Writes the names of the spans around an event, with `:` between them.
#[cold]
fn span_names(to: &mut Vec<u8>, event: &Event<'_>) -> io::Result<()> {
    let mut is_first = true;
    event.spans(|span| {
        if !mem::take(&mut is_first) {
            to.push(b':');
        }
        escape::write::<true>(to, span.name());
        Ok(())
    })
}
