//! The formats that write a key before each value: their options.

use core::marker::PhantomData;

use tach_core::Offset;

use super::Id;
use super::layout::{DEFAULT, Layout, Style, What};
use crate::value::Value;

/// A format that writes each part and each field of an event as a key with a value:
/// [`Json`](crate::Json) or [`Logfmt`](crate::Logfmt).
///
/// The methods change the layout. [`with`](Self::with) names, adds or replaces a [`Part`], and
/// [`without`](Self::without) removes one. The parts stand in the order in which they were added,
/// before the fields: first those of [`new`](Self::new), or none of them with
/// [`empty`](Self::empty).
///
/// # Faults
///
/// These have no effect on the lines. [`Format::faults`](crate::Format::faults) lists them, and
/// `Builder::build` of `tach-pipeline` refuses them:
///
/// - [`without`](Self::without) a key that no part has
/// - [`rename`](Self::rename) of a part's key, or to a part's key
/// - [`digits`](Self::digits) above nine, and an [`offset`](Self::offset) or local time with
///   [`unix`](Self::unix)
/// - `Json::max_depth(0)`
///
/// # Examples
///
/// ```
/// use tach_log::{Json, Part};
///
/// let json = Json::new()
///     .with("@timestamp", Part::Time)
///     .with("file", Part::File)
///     .with("service", "checkout")
///     .without("target")
///     .rename("err", "error.message");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keyed<S> {
    /// `None` for the default, whose texts are known to the compiler.
    pub(super) layout: Option<Box<Layout>>,
    style: PhantomData<S>,
}

/// A part of an event's line that is no field.
///
/// [`Keyed::with`] takes a part with its key. Texts, numbers, booleans and every other [`Value`]
/// convert to [`Part::Fixed`].
///
/// # Examples
///
/// ```
/// use tach_log::{Json, Part};
///
/// let json = Json::empty().with("severity", Part::Level).with("message", Part::Message);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Part<'a> {
    /// The time, `ts` by default.
    Time,
    /// The level, `level` by default.
    Level,
    /// The target, `target` by default. An empty target is left out.
    Target,
    /// The message, `msg` by default. An empty message is left out.
    Message,
    /// The names of the spans around the event, `span` by default, with `:` between them.
    SpanNames,
    /// The source file.
    File,
    /// The line in the source file, a number.
    Line,
    /// The path of the module, which differs from the target if the call names a target.
    Module,
    /// The name of the thread, if it has one.
    ThreadName,
    /// The number of the thread, as [`ThreadId`](std::thread::ThreadId) prints it.
    ThreadId,
    /// The number of the process that writes the record: of a child after a fork, of the child.
    Pid,
    /// The name of the machine, if it has one.
    Host,
    /// The id of the trace around the event, `trace_id` by default, in 32 hexadecimal digits. It is
    /// known beside a sink of spans: see [`Event::trace_id`](crate::Event::trace_id). A field with
    /// this key, or that of the span's id, gets another name, as `trace_id_`. It is left out if it
    /// has the id as its text.
    TraceId,
    /// The id of the span around the event, `span_id` by default, in 16 hexadecimal digits. It is
    /// known as the [trace's id](Self::TraceId).
    SpanId,
    /// A value that is the same for every event.
    Fixed(Value<'a>),
}

impl<'a, V: Into<Value<'a>>> From<V> for Part<'a> {
    fn from(value: V) -> Self {
        Self::Fixed(value.into())
    }
}

impl<S> Keyed<S> {
    /// Creates the format with the parts `ts`, `level`, `target`, `msg`, `span`, `trace_id` and
    /// `span_id`.
    ///
    /// # Examples
    ///
    /// ```
    /// let format = tach_log::Json::new();
    /// env_logger::builder().format(tach_log::write(format)).init();
    /// ```
    #[must_use]
    pub const fn new() -> Self {
        Self { layout: None, style: PhantomData }
    }

    pub(super) fn of(layout: Layout) -> Self {
        Self { layout: Some(Box::new(layout.ready())), style: PhantomData }
    }
}

impl<S: Style> Keyed<S> {
    /// Creates the format without parts: lines contain only fields until [`with`](Self::with) adds
    /// parts.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_log::{Logfmt, Part};
    ///
    /// let format = Logfmt::empty().with("severity", Part::Level).with("time", Part::Time);
    /// ```
    #[must_use]
    pub fn empty() -> Self {
        Self::of(Layout::new(S::SYNTAX, &[]))
    }

    pub(super) fn change(mut self, change: impl FnOnce(&mut Layout)) -> Self {
        let default = || Box::new(Layout::new(S::SYNTAX, &DEFAULT));
        let mut layout = *self.layout.take().unwrap_or_else(default);
        change(&mut layout);
        Self::of(layout)
    }

    /// Writes a part with this key.
    ///
    /// Each part is written once at most. If the layout contains the part already, the part is
    /// renamed in its place. Otherwise the part replaces the one with this key, or is added at the
    /// end.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_log::{Json, Part};
    ///
    /// let json = Json::new()
    ///     .with("@timestamp", Part::Time)
    ///     .with("thread", Part::ThreadName)
    ///     .with("service", "checkout")
    ///     .with("pid", Part::Pid);
    /// ```
    #[must_use]
    pub fn with<'a>(self, key: &str, part: impl Into<Part<'a>>) -> Self {
        self.change(|layout| {
            let what = match part.into() {
                Part::Time => What::Time,
                Part::Level => What::Level,
                Part::Target => What::Target,
                Part::Message => What::Message,
                Part::SpanNames => What::SpanNames,
                Part::File => What::File,
                Part::Line => What::Line,
                Part::Module => What::Module,
                Part::ThreadName => What::ThreadName,
                Part::ThreadId => What::ThreadId,
                Part::Pid => What::Pid,
                Part::Host => What::Host,
                Part::TraceId => What::Id(Id::Trace),
                Part::SpanId => What::Id(Id::Span),
                Part::Fixed(value) => What::Fixed(layout.syntax.text_of(value)),
            };
            layout.set(key, &what);
        })
    }

    /// Removes the part with this key.
    ///
    /// # Examples
    ///
    /// ```
    /// let format = tach_log::Json::new().without("target");
    /// let without_ids = tach_log::Json::new().without("trace_id").without("span_id");
    /// ```
    #[must_use]
    pub fn without(self, key: &str) -> Self {
        self.change(|layout| layout.remove(key))
    }

    /// Renames a field of the events, unless another field has the new key. To rename a part, use
    /// [`with`](Self::with).
    ///
    /// # Examples
    ///
    /// ```
    /// let format = tach_log::Json::new().rename("err", "error.message");
    /// ```
    #[must_use]
    pub fn rename(self, field: &str, key: &str) -> Self {
        self.change(|layout| layout.rename(field, key))
    }

    /// Sets how many digits of a second the time has: six by default, at most nine.
    ///
    /// # Examples
    ///
    /// ```
    /// let format = tach_log::Json::new().digits(3);
    /// ```
    #[must_use]
    pub fn digits(self, digits: usize) -> Self {
        self.change(|layout| layout.time = layout.time.with_digits(digits))
    }

    /// Writes local time with this offset from UTC, such as `+01:00`.
    ///
    /// # Examples
    ///
    /// ```
    /// let format = tach_log::Json::new().offset("+01:00".parse()?);
    /// # Ok::<(), tach_core::Error>(())
    /// ```
    #[must_use]
    pub fn offset(self, offset: Offset) -> Self {
        self.change(|layout| layout.time = layout.time.with_offset(offset))
    }

    /// Writes local time by the system's zone with the offset, as `+01:00`. Transitions, for
    /// example to summer time, take effect at their second. If the system's zone is changed, the
    /// new one takes effect within six minutes.
    ///
    /// The zone is the one that `TZ` names, or else the OS's. If neither is found, it is UTC. A
    /// thread keeps the offset for a minute.
    ///
    /// # Examples
    ///
    /// ```
    /// let format = tach_log::Logfmt::new().local_time();
    /// ```
    #[cfg(feature = "local-time")]
    #[must_use]
    pub fn local_time(self) -> Self {
        self.change(|layout| layout.time = layout.time.local())
    }

    /// Writes the time as a whole number since the Unix epoch, in units of the last of the
    /// [digits](Self::digits): microseconds by default, seconds with `digits(0)`, milliseconds with
    /// `digits(3)` and nanoseconds with `digits(9)`. The number is rounded down. Many readers round
    /// nanoseconds to the next number that an `f64` holds.
    ///
    /// # Examples
    ///
    /// ```
    /// let milliseconds = tach_log::Json::new().unix().digits(3);
    /// ```
    #[must_use]
    pub fn unix(self) -> Self {
        self.change(|layout| layout.is_unix = true)
    }

    /// Writes the levels as these texts or numbers: slog's `Critical`, then `Error`, `Warn`,
    /// `Info`, `Debug` and `Trace`. By default they are names in capitals.
    ///
    /// # Examples
    ///
    /// ```
    /// let format = tach_log::Json::new().levels([60, 50, 40, 30, 20, 10]);
    /// ```
    #[must_use]
    pub fn levels<'a>(self, levels: [impl Into<Value<'a>>; 6]) -> Self {
        self.change(|layout| {
            layout.levels = levels.map(|level| layout.syntax.text_of(level.into()));
        })
    }
}

/// Returns [`Keyed::new`].
impl<S> Default for Keyed<S> {
    fn default() -> Self {
        Self::new()
    }
}
