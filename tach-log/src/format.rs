//! Formats: an event as bytes.

mod json;
mod json_value;
mod key_value;
mod keyed;
mod layout;
mod line;
mod logfmt;
pub mod nested;
mod syntaxes;
mod time;

use core::cell::RefCell;
use core::mem;
use std::collections::HashMap;
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
use crate::value::{Value, write_plain};

/// A way to write an event as bytes, such as a line or a binary entry.
///
/// [`write()`](crate::write()) and [`display()`](crate::display()) take a format to a back end of
/// `log`, and `Sink::format` to `tach-pipeline`.
///
/// # Guarantees
///
/// Whoever sends a request may choose the keys and the values that a service logs. So the formats
/// of this crate write one line for each record: line ends and control characters are escaped. Each
/// key stands once, with its innermost value. A field whose key is in use gets another, such as
/// `level_` or `level_2`.
///
/// A record has at most 1,024 fields, a key 256 bytes, and a nested value 64 levels, since readers
/// refuse deeper JSON. What is beyond is cut, and the field `truncated_bytes` counts the bytes that
/// the record lacks. Formatting takes time in proportion to the record, whatever its keys are. A
/// value that fails or panics is a note, `<failed to format>` or `<panicked>`, and the fields
/// behind it stay.
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

/// The keys of the ids in the default layouts, and in the lines for people.
const TRACE_ID: &str = "trace_id";
const SPAN_ID: &str = "span_id";

/// Returns whether the default layouts reserve a key for an id, in events that have ids.
#[inline]
fn is_id_key(key: &str) -> bool {
    matches!(key, TRACE_ID | SPAN_ID)
}

/// An id as a part of a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Id {
    /// The trace's id, in 32 hexadecimal digits.
    Trace,
    /// The span's id, in 16 hexadecimal digits.
    Span,
    /// The lower half of the trace's id as a decimal number, as Datadog's tracers write the id.
    DecimalTrace,
    /// The span's id as a decimal number.
    DecimalSpan,
    /// Whether the trace is sampled.
    IsSampled,
}

/// The ids of the trace and of the span.
#[derive(Debug, Clone, Copy)]
struct Ids {
    trace: u128,
    span: u64,
}

impl Ids {
    #[inline]
    fn of(event: &Event<'_>) -> Option<Self> {
        event.trace_context().map(|(trace, span, _)| Self { trace, span })
    }

    /// Returns whether a field repeats one of the ids, as fields of libraries that log the ids
    /// themselves do.
    #[inline]
    fn has(self, key: &str, value: Value<'_>) -> bool {
        is_id_key(key) && self.is_value_of(key, value)
    }

    #[cold]
    fn is_value_of(self, key: &str, value: Value<'_>) -> bool {
        let mut is_it = false;
        self.each(|id, digits| {
            is_it |= id == key && matches!(value, Value::Str(text) if text.as_bytes() == digits);
        });
        is_it
    }

    /// Calls `each` with the key and the digits of both ids.
    fn each(self, mut each: impl FnMut(&str, &[u8])) {
        each(TRACE_ID, &hexadecimal::<32>(self.trace));
        each(SPAN_ID, &hexadecimal::<16>(self.span.into()));
    }
}

impl Id {
    /// Writes the id of an event that has ids. `quotes` is what stands before and after a text.
    fn write(self, to: &mut Vec<u8>, event: &Event<'_>, quotes: &[u8]) {
        let Some((trace, span, _)) = event.trace_context() else { return };
        to.extend_from_slice(if self == Self::IsSampled { b"" } else { quotes });
        match self {
            Self::Trace => to.extend_from_slice(&hexadecimal::<32>(trace)),
            Self::Span => to.extend_from_slice(&hexadecimal::<16>(span.into())),
            Self::DecimalTrace => write_plain(to, Value::U128(trace & u128::from(u64::MAX))),
            Self::DecimalSpan => write_plain(to, Value::U64(span)),
            Self::IsSampled => write_plain(to, Value::Bool(event.is_sampled())),
        }
        to.extend_from_slice(if self == Self::IsSampled { b"" } else { quotes });
    }
}

/// Returns the last `N` hexadecimal digits of a number.
fn hexadecimal<const N: usize>(number: u128) -> [u8; N] {
    let mut digits = [b'0'; N];
    let mut rest = number;
    for digit in digits.iter_mut().rev() {
        let [low, ..] = rest.to_le_bytes();
        *digit = b"0123456789abcdef"[usize::from(low & 0xf)];
        rest >>= 4;
    }
    digits
}

/// The key of the number of bytes that a record lacks.
pub const TRUNCATED: &str = "truncated_bytes";

/// A function that passes each key of an event or a span to another function, until that function
/// returns `true`.
pub type AnyKey<'a> = &'a dyn Fn(&dyn Fn(&str) -> bool) -> bool;

/// The names in a line, gathered when the first field can't stand under its own key. Most lines
/// gather none.
#[derive(Debug, Default)]
pub struct Names {
    /// Each name in use, with the last number that was tried behind it.
    taken: Option<HashMap<String, usize>>,
    /// How many lists of an error's sources were named.
    sources: usize,
}

impl Names {
    /// Returns `key`, or `key_`, `key_2`, `key_3` and so on: the first that is not in use.
    ///
    /// `reserved` and `unchanged` pass the names of the head and the keys of the fields that need
    /// no other name. Both are asked once in a line, so the time is linear in the fields.
    #[must_use]
    #[cold]
    pub fn free(&mut self, key: &str, reserved: AnyKey<'_>, unchanged: AnyKey<'_>) -> String {
        let taken = self.taken.get_or_insert_with(|| {
            let names = RefCell::new(HashMap::new());
            let gather = |name: &str| {
                names.borrow_mut().insert(name.to_owned(), 0);
                false
            };
            reserved(&gather);
            unchanged(&gather);
            names.into_inner()
        });
        let mut name = key.to_owned();
        let Some(mut number) = taken.get(key).copied() else {
            taken.insert(name.clone(), 0);
            return name;
        };
        while taken.contains_key(&name) {
            number += 1;
            name.truncate(key.len());
            name.push('_');
            if number > 1 {
                name.push_str(&number.to_string());
            }
        }
        taken.extend([(key.to_owned(), number), (name.clone(), 0)]);
        name
    }

    /// Returns the name of the list of the sources of the error with this key.
    #[must_use]
    #[cold]
    pub fn sources(&mut self, key: &str, reserved: AnyKey<'_>, unchanged: AnyKey<'_>) -> String {
        let name = format!("{key}_sources");
        self.sources += 1;
        let is_it = |other: &str| other == name;
        // A line rarely has several errors, and comparing the keys once is cheaper than a map.
        if self.sources == 1 && !reserved(&is_it) && !unchanged(&is_it) {
            return name;
        }
        self.free(&name, reserved, unchanged)
    }
}
