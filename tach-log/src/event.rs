//! An event, as every format receives it.

use core::fmt;
use std::io;

use log::Level;
use tach_core::UnixTime;

use crate::value::Value;

/// W3C's flag of sampled traces.
const SAMPLED: u8 = 1;

/// The parts of an event.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "fields need not be Debug")]
pub struct Parts<'a> {
    /// The time of the event.
    pub time: UnixTime,
    /// The level; `Error` for slog's `Critical`.
    pub level: Level,
    /// The level's name in capitals.
    pub level_name: &'static str,
    /// The target, which may be empty.
    pub target: &'a str,
    /// The message.
    pub message: &'a str,
    /// The fields.
    pub fields: &'a dyn Fields,
    /// The event happened within spans.
    pub has_spans: bool,
    /// The place in the program. Known only if the format asks for it.
    pub site: Site<'a>,
    /// The message is a line that another formatter has made, and lines hold it unchanged.
    pub is_line: bool,
    /// The output is a terminal that shows colors.
    pub shows_colors: bool,
}

/// Where in the program an event happened, as far as it is known.
#[derive(Debug, Clone, Copy, Default)]
pub struct Site<'a> {
    /// The source file.
    pub file: Option<&'a str>,
    /// The line in the file.
    pub line: Option<u32>,
    /// The path of the module.
    pub module: Option<&'a str>,
    /// The number of the thread.
    pub thread_id: Option<u64>,
    /// The name of the thread.
    pub thread_name: Option<&'a str>,
    /// The operating system's number of the thread.
    pub os_thread_id: Option<u32>,
    /// The ids of the trace and of the span around the event, and W3C's flags of the trace.
    pub trace_context: Option<(u128, u64, u8)>,
    /// The name of the event, if the program gives it one.
    pub event_name: Option<&'a str>,
}

/// A function that receives fields.
pub type EachField<'a> = &'a mut dyn FnMut(&str, Value<'_>) -> io::Result<()>;
/// A function that receives the names and the fields of spans.
pub type EachSpan<'a> = &'a mut dyn FnMut(&str, &dyn Fields) -> io::Result<()>;

/// The fields of an event or a span. Each method visits a key once, with its innermost value.
pub trait Fields {
    /// Visits the fields of the event and of its spans.
    ///
    /// # Errors
    ///
    /// Returns the first error of `each`.
    fn visit(&self, each: EachField<'_>) -> io::Result<()>;

    /// Visits the event's own fields, without its spans' fields.
    ///
    /// # Errors
    ///
    /// Returns the first error of `each`.
    fn visit_own(&self, each: EachField<'_>) -> io::Result<()> {
        self.visit(each)
    }

    /// Returns whether `is` returns `true` for any key of [`visit`](Self::visit).
    fn has_key(&self, is: &dyn Fn(&str) -> bool) -> bool {
        let mut has = false;
        let visited = self.visit(&mut |key, _| {
            has |= is(key);
            Ok(())
        });
        visited.is_ok() && has
    }

    /// Returns whether the text that a visit passes at the moment was printed by its value
    /// (`Debug`, `Display`).
    fn is_printed(&self) -> bool {
        false
    }

    /// Visits the spans from the outermost to the innermost.
    ///
    /// # Errors
    ///
    /// Returns the first error of `each`.
    fn visit_spans(&self, _each: EachSpan<'_>) -> io::Result<()> {
        Ok(())
    }
}

/// A span around an event, as [`Event::spans`] passes it.
///
/// # Examples
///
/// See [`Event::spans`].
#[derive(Clone, Copy)]
pub struct Span<'a> {
    name: &'a str,
    fields: &'a dyn Fields,
}

impl Span<'_> {
    /// Returns the span's name.
    #[must_use]
    #[inline]
    pub const fn name(&self) -> &str {
        self.name
    }

    /// Calls `each` with the key and the value of every field of the span. Each key comes once.
    ///
    /// # Errors
    ///
    /// Returns the first error that `each` returns, and no further field is visited.
    pub fn fields(
        &self,
        mut each: impl FnMut(&str, Value<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        self.fields.visit(&mut each)
    }
}

impl Span<'_> {
    pub(crate) fn has_key(&self, is: &dyn Fn(&str) -> bool) -> bool {
        self.fields.has_key(is)
    }

    /// Returns whether the text that [`fields`](Self::fields) passes at the moment was printed by
    /// its value.
    pub(crate) fn is_printed(&self) -> bool {
        self.fields.is_printed()
    }
}

impl fmt::Debug for Span<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Span").field("name", &self.name).finish_non_exhaustive()
    }
}

/// An event to be written, as plain data.
///
/// Values that print themselves are printed before. If that failed or panicked, the text ends with
/// `<failed to format>` or `<panicked>`.
///
/// # Examples
///
/// See [`Format`](crate::Format).
#[derive(Clone, Copy)]
pub struct Event<'a> {
    parts: Parts<'a>,
}

/// Creates an event.
#[must_use]
#[inline]
pub const fn event(parts: Parts<'_>) -> Event<'_> {
    Event { parts }
}

impl<'a> Event<'a> {
    pub(crate) const fn is_line(&self) -> bool {
        self.parts.is_line
    }

    pub(crate) fn has_key(&self, is: &dyn Fn(&str) -> bool) -> bool {
        self.parts.fields.has_key(is)
    }

    /// Returns whether the text that [`fields`](Self::fields) passes at the moment was printed by
    /// its value.
    pub(crate) fn is_printed(&self) -> bool {
        self.parts.fields.is_printed()
    }

    pub(crate) const fn has_spans(&self) -> bool {
        self.parts.has_spans
    }

    /// Returns the ids of the trace and of the span around the event, and the trace's flags.
    pub(crate) const fn trace_context(&self) -> Option<(u128, u64, u8)> {
        self.parts.site.trace_context
    }

    pub(crate) const fn os_thread_id(&self) -> Option<u32> {
        self.parts.site.os_thread_id
    }

    /// Returns the name that the program gives the event.
    pub(crate) const fn name(&self) -> Option<&str> {
        self.parts.site.event_name
    }

    /// Returns when the event happened.
    #[must_use]
    #[inline]
    pub const fn time(&self) -> UnixTime {
        self.parts.time
    }

    /// Returns the level. slog's `Critical`, which `log` lacks, is [`Level::Error`].
    #[must_use]
    #[inline]
    pub const fn level(&self) -> Level {
        self.parts.level
    }

    /// Returns the level's name in capitals, which is `CRITICAL` for slog's `Critical`.
    #[must_use]
    #[inline]
    pub const fn level_name(&self) -> &'static str {
        self.parts.level_name
    }

    /// Returns the target: the module, unless the call named another one. It may be empty.
    #[must_use]
    #[inline]
    pub const fn target(&self) -> &'a str {
        self.parts.target
    }

    /// Returns the message, which may hold any character, line ends included.
    #[must_use]
    #[inline]
    pub const fn message(&self) -> &'a str {
        self.parts.message
    }

    /// Calls `each` with the key and the value of every field, in order: the event's own fields,
    /// then its spans' fields. Each key comes once, with its innermost value.
    ///
    /// If the record's source of fields fails or panics, the fields end there.
    ///
    /// # Errors
    ///
    /// Returns the first error that `each` returns, and no further field is visited.
    #[inline]
    pub fn fields(
        &self,
        mut each: impl FnMut(&str, Value<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        self.parts.fields.visit(&mut each)
    }

    /// Like [`fields`](Self::fields), without the fields of the spans.
    ///
    /// # Errors
    ///
    /// Returns the first error that `each` returns, and no further field is visited.
    pub fn own_fields(
        &self,
        mut each: impl FnMut(&str, Value<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        self.parts.fields.visit_own(&mut each)
    }

    /// Calls `each` with every span around the event, from the outermost to the innermost. Only
    /// `tracing` has spans.
    ///
    /// # Errors
    ///
    /// Returns the first error that `each` returns, and no further span is visited.
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
    ///         event.spans(|span| write!(to, "{}: ", Value::Str(span.name())))?;
    ///         writeln!(to, "{}", Value::Str(event.message()))
    ///     }
    /// }
    /// ```
    pub fn spans(&self, mut each: impl FnMut(Span<'_>) -> io::Result<()>) -> io::Result<()> {
        self.parts.fields.visit_spans(&mut |name, fields| each(Span { name, fields }))
    }

    /// Returns the source file, if [`Format::wants_site`](crate::Format::wants_site) asks for it
    /// and the front end knows it.
    #[must_use]
    #[inline]
    pub const fn file(&self) -> Option<&'a str> {
        self.parts.site.file
    }

    /// Returns the line in the [file](Self::file).
    #[must_use]
    #[inline]
    pub const fn line(&self) -> Option<u32> {
        self.parts.site.line
    }

    /// Returns the path of the module, under the same conditions as the [file](Self::file).
    #[must_use]
    #[inline]
    pub const fn module(&self) -> Option<&'a str> {
        self.parts.site.module
    }

    /// Returns the number of the thread, if [`Format::wants_thread`](crate::Format::wants_thread)
    /// asks for it. It is the number that [`ThreadId`](std::thread::ThreadId) prints.
    #[must_use]
    #[inline]
    pub const fn thread_id(&self) -> Option<u64> {
        self.parts.site.thread_id
    }

    /// Returns the name of the thread, under the same condition as its
    /// [number](Self::thread_id), if it has one.
    #[must_use]
    #[inline]
    pub const fn thread_name(&self) -> Option<&'a str> {
        self.parts.site.thread_name
    }

    /// Returns the id of the trace around the event, for a text of 32 hexadecimal digits. Formats
    /// of `tach-log` write it beside a sink of spans.
    ///
    /// `tach-pipeline` knows it if a sink takes spans, or a flight recorder does, also for records
    /// of `log` and slog. With its feature `opentelemetry`, it may be the id of another tracer's
    /// span. Back ends of `log` know none.
    ///
    /// # Examples
    ///
    /// ```
    /// fn traceparent(event: &tach_log::Event<'_>) -> Option<String> {
    ///     let (trace, span) = (event.trace_id()?, event.span_id()?);
    ///     Some(format!("00-{trace:032x}-{span:016x}-{:02x}", u8::from(event.is_sampled())))
    /// }
    /// ```
    #[must_use]
    pub const fn trace_id(&self) -> Option<u128> {
        match self.trace_context() {
            Some((trace, ..)) => Some(trace),
            None => None,
        }
    }

    /// Returns the id of the span around the event, under the same conditions as the
    /// [trace's id](Self::trace_id), for a text of 16 hexadecimal digits.
    #[must_use]
    pub const fn span_id(&self) -> Option<u64> {
        match self.trace_context() {
            Some((_, span, _)) => Some(span),
            None => None,
        }
    }

    /// Returns whether the [trace](Self::trace_id) around the event is sampled: whether its spans
    /// are recorded. Returns `false` without a trace.
    #[must_use]
    pub const fn is_sampled(&self) -> bool {
        matches!(self.trace_context(), Some((_, _, flags)) if flags & SAMPLED != 0)
    }

    /// Returns whether the output is a terminal that shows colors.
    #[must_use]
    #[inline]
    pub const fn shows_colors(&self) -> bool {
        self.parts.shows_colors
    }
}

impl fmt::Debug for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event")
            .field("time", &self.time())
            .field("level", &self.level_name())
            .field("target", &self.target())
            .field("message", &self.message())
            .finish_non_exhaustive()
    }
}
