//! A record of `log` as an event.

mod careful;
mod keys;

use core::cell::Cell;
use core::error::Error;
use core::fmt;
use core::mem;
use core::panic::AssertUnwindSafe;
use std::{io, panic, thread};

use log::kv::{self, VisitSource, VisitValue};
use log::{Level, Record};
use tach_core::UnixTime;

pub use self::careful::visit_each;
use self::keys::Keys;
use crate::bounds::{self, Budget};
use crate::event::{EachField, Event, Fields, Parts, Site, event};
#[cfg(feature = "serde")]
use crate::nested;
use crate::value::{Chain, Messages, Value};

/// Calls `f` with `record`, which happened at `time`, as an event. `scratch` holds the texts that
/// are printed.
#[inline]
pub(crate) fn with_event<R>(
    record: &Record<'_>,
    time: UnixTime,
    site: Site<'_>,
    scratch: &mut Scratch,
    f: impl FnOnce(&Event<'_>) -> R,
) -> R {
    let message = if let Some(text) = record.args().as_str() {
        text
    } else {
        scratch.message.clear();
        let _noted = print(&mut scratch.message, *record.args());
        &scratch.message
    };
    f(&event(Parts {
        time,
        level: record.level(),
        level_name: name(record.level()),
        target: record.target(),
        message,
        fields: &RecordFields {
            record,
            value: &scratch.value,
            keys: &scratch.keys,
            is_printed: Cell::new(false),
        },
        has_spans: false,
        site,
        is_line: false,
        shows_colors: false,
    }))
}

/// Buffers for the texts that a record prints.
#[derive(Default)]
pub(crate) struct Scratch {
    message: String,
    value: Cell<String>,
    keys: Cell<Keys>,
}

impl Scratch {
    pub(crate) fn capacity(&mut self) -> usize {
        self.message.capacity() + self.value.get_mut().capacity() + self.keys.get_mut().capacity()
    }
}

const fn name(level: Level) -> &'static str {
    match level {
        Level::Error => "ERROR",
        Level::Warn => "WARN",
        Level::Info => "INFO",
        Level::Debug => "DEBUG",
        Level::Trace => "TRACE",
    }
}

/// Appends what `value` prints, and returns whether printing succeeded. If it fails or panics,
/// appends a note.
fn print(to: &mut String, value: fmt::Arguments<'_>) -> bool {
    let print = AssertUnwindSafe(|| fmt::Write::write_fmt(to, value));
    let printed = panic::catch_unwind(print);
    let outcome = outcome(&printed);
    if let Err(note) = outcome {
        to.push_str(note);
    }
    outcome.is_ok()
}

/// Returns a note to append to a printed text if printing failed or panicked.
///
/// # Errors
///
/// Returns the note for the reader.
#[inline]
pub fn outcome(printed: &thread::Result<fmt::Result>) -> Result<(), &'static str> {
    match printed {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) => Err("<failed to format>"),
        Err(_) => Err("<panicked>"),
    }
}

struct RecordFields<'a> {
    record: &'a Record<'a>,
    /// The buffer of a value that prints itself. Taken out during a visit, since the source may
    /// log.
    value: &'a Cell<String>,
    /// Taken out during a visit too.
    keys: &'a Cell<Keys>,
    /// Whether the value of the current field has printed itself.
    is_printed: Cell<bool>,
}

impl Fields for RecordFields<'_> {
    fn visit(&self, each: EachField<'_>) -> io::Result<()> {
        let mut keys = self.keys.take();
        keys.read(self.record);
        let mut visitor = ForFormat {
            each: &mut *each,
            is_bounded: keys.exceed_bounds(),
            keys: &keys,
            next: 0,
            budget: Budget::new(usize::MAX),
            printed: self.value.take(),
            is_printed: &self.is_printed,
            is_in_format: false,
            result: Ok(()),
        };
        let visit = AssertUnwindSafe(|| self.record.key_values().visit(&mut visitor));
        match panic::catch_unwind(visit) {
            Ok(Ok(())) => {}
            Err(panic) if visitor.is_in_format => panic::resume_unwind(panic),
            _ if visitor.result.is_err() => {}
            // A value or the source failed or panicked: visit the remaining fields one by one.
            _ => {
                let passed = visitor.next;
                let _ended = visit_each(self.record, &mut visitor, passed);
            }
        }
        let ForFormat { budget, printed, result, .. } = visitor;
        self.value.set(printed);
        self.keys.set(keys);
        match budget.lost() {
            0 => result,
            lost => result.and_then(|()| bounds::pass_lost(lost, self, each)),
        }
    }

    fn is_printed(&self) -> bool {
        self.is_printed.get()
    }

    fn has_key(&self, is: &dyn Fn(&str) -> bool) -> bool {
        let mut keys = Keys::default();
        keys.read(self.record);
        keys.has(is)
    }
}

struct ForFormat<'a> {
    each: EachField<'a>,
    keys: &'a Keys,
    /// The index of the next field.
    next: usize,
    /// Whether the keys are too many or too long.
    is_bounded: bool,
    budget: Budget,
    printed: String,
    is_printed: &'a Cell<bool>,
    /// Whether `each` is running: a panic is then the format's, not the value's.
    is_in_format: bool,
    result: io::Result<()>,
}

impl ForFormat<'_> {
    /// Counts a field. Returns whether it is the last one with its key.
    fn counts(&mut self) -> bool {
        let at = self.next;
        self.next += 1;
        !self.keys.comes_later(at)
    }

    #[cold]
    fn pass_bounded(&mut self, key: &str, value: Value<'_>) -> io::Result<()> {
        self.budget.pass(key, value, self.each)
    }

    fn pass(&mut self, key: &kv::Key<'_>, value: Value<'_>) -> fmt::Result {
        self.is_in_format = true;
        self.result = if self.is_bounded || matches!(value, Value::Json(_)) {
            self.pass_bounded(key.as_str(), value)
        } else {
            (self.each)(key.as_str(), value)
        };
        self.is_in_format = false;
        if self.result.is_ok() { Ok(()) } else { Err(fmt::Error) }
    }
}

impl<'kvs> VisitSource<'kvs> for ForFormat<'_> {
    fn visit_pair(&mut self, key: kv::Key<'kvs>, value: kv::Value<'kvs>) -> Result<(), kv::Error> {
        visit_pair(&key, &value, self)
    }
}

impl VisitFields for ForFormat<'_> {
    fn plain(&mut self, key: &kv::Key<'_>, value: Value<'_>) -> fmt::Result {
        if self.counts() { self.pass(key, value) } else { Ok(()) }
    }

    fn printed(
        &mut self,
        key: &kv::Key<'_>,
        value: fmt::Arguments<'_>,
        kind: Printed,
    ) -> fmt::Result {
        if !self.counts() {
            return Ok(());
        }
        let mut printed = mem::take(&mut self.printed);
        printed.clear();
        let is_whole = print(&mut printed, value);
        let value = match kind {
            Printed::Json if is_whole => Value::Json(&printed),
            Printed::Json | Printed::Str => Value::Str(&printed),
        };
        self.is_printed.set(true);
        let result = self.pass(key, value);
        self.is_printed.set(false);
        self.printed = printed;
        result
    }

    fn error(&mut self, key: &kv::Key<'_>, error: &(dyn Error + 'static)) -> fmt::Result {
        if !self.counts() {
            return Ok(());
        }
        let mut printed = mem::take(&mut self.printed);
        printed.clear();
        let _noted = print(&mut printed, format_args!("{}", Messages(error)));
        let result = self.pass(key, Value::Error(Chain::of(&printed)));
        self.printed = printed;
        result
    }
}

/// The kind of a value that prints itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Printed {
    /// A text.
    Str,
    /// An object or a list, if it does not fail.
    Json,
}

/// A visitor of the fields of a record.
///
/// Unlike a closure, it is compiled into each method that knows the value's kind.
pub trait VisitFields {
    /// Visits a field of a plain value.
    ///
    /// # Errors
    ///
    /// To visit no further field.
    fn plain(&mut self, key: &kv::Key<'_>, value: Value<'_>) -> fmt::Result;

    /// Visits a field whose value prints itself.
    ///
    /// # Errors
    ///
    /// To visit no further field.
    fn printed(
        &mut self,
        key: &kv::Key<'_>,
        value: fmt::Arguments<'_>,
        kind: Printed,
    ) -> fmt::Result;

    /// Visits a field with an error.
    ///
    /// # Errors
    ///
    /// To visit no further field.
    fn error(&mut self, key: &kv::Key<'_>, error: &(dyn Error + 'static)) -> fmt::Result;
}

/// Passes the value of a pair to `to` by its kind.
///
/// # Errors
///
/// If `to` or the value fails.
#[inline]
pub fn visit_pair(
    key: &kv::Key<'_>,
    value: &kv::Value<'_>,
    to: &mut impl VisitFields,
) -> Result<(), kv::Error> {
    value.visit(Pair { to, key })
}

struct Pair<'a, V> {
    to: &'a mut V,
    key: &'a kv::Key<'a>,
}

impl<V: VisitFields> Pair<'_, V> {
    #[expect(clippy::inline_always, reason = "the callers know the kind of the value")]
    #[inline(always)]
    fn plain(&mut self, value: Value<'_>) -> Result<(), kv::Error> {
        Ok(self.to.plain(self.key, value)?)
    }
}

impl<V: VisitFields> VisitValue<'_> for Pair<'_, V> {
    fn visit_any(&mut self, value: kv::Value<'_>) -> Result<(), kv::Error> {
        #[cfg(feature = "serde")]
        if nested::is_nested(&value) {
            let value = nested::Nested(&value);
            return Ok(self.to.printed(self.key, format_args!("{value}"), Printed::Json)?);
        }
        Ok(self.to.printed(self.key, format_args!("{value}"), Printed::Str)?)
    }

    #[cfg(feature = "serde")]
    fn visit_error(&mut self, error: &(dyn Error + 'static)) -> Result<(), kv::Error> {
        Ok(self.to.error(self.key, error)?)
    }

    #[cfg(feature = "serde")]
    fn visit_borrowed_error(&mut self, error: &(dyn Error + 'static)) -> Result<(), kv::Error> {
        self.visit_error(error)
    }

    #[inline]
    fn visit_null(&mut self) -> Result<(), kv::Error> {
        self.plain(Value::Null)
    }

    #[inline]
    fn visit_bool(&mut self, value: bool) -> Result<(), kv::Error> {
        self.plain(Value::Bool(value))
    }

    #[inline]
    fn visit_i64(&mut self, value: i64) -> Result<(), kv::Error> {
        self.plain(Value::I64(value))
    }

    #[inline]
    fn visit_u64(&mut self, value: u64) -> Result<(), kv::Error> {
        self.plain(Value::U64(value))
    }

    #[inline]
    fn visit_i128(&mut self, value: i128) -> Result<(), kv::Error> {
        self.plain(Value::I128(value))
    }

    #[inline]
    fn visit_u128(&mut self, value: u128) -> Result<(), kv::Error> {
        self.plain(Value::U128(value))
    }

    #[inline]
    fn visit_f64(&mut self, value: f64) -> Result<(), kv::Error> {
        self.plain(Value::F64(value))
    }

    #[inline]
    fn visit_str(&mut self, value: &str) -> Result<(), kv::Error> {
        self.plain(Value::Str(value))
    }
}
