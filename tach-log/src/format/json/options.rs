//! The methods that change a layout.

use std::process;

use tach_core::rfc3339::Offset;

use super::layout::{LEVELS, Layout, Time, What, json};
use super::{DEFAULT, Json};
use crate::value::Value;

/// Defines methods that name a part.
macro_rules! parts {
    ($($(#[$docs:meta])* $method:ident: $What:ident;)*) => {
        $(
            $(#[$docs])*
            #[must_use]
            pub fn $method(self, key: &str) -> Self {
                self.set(key, &What::$What)
            }
        )*
    };
}

impl Json {
    /// Creates a layout without parts: objects that have fields alone.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_log::Json;
    ///
    /// let json = Json::empty().level("severity").message("message").time("time");
    /// let record = log::Record::builder().args(format_args!("ready")).build();
    /// let line = tach_log::display(json, &record).to_string();
    /// assert!(line.starts_with(r#"{"severity":"INFO","message":"ready","time":"#));
    /// ```
    #[must_use]
    pub fn empty() -> Self {
        Self::of(Layout::new(&[]))
    }

    pub(super) fn of(layout: Layout) -> Self {
        Self { layout: Some(Box::new(layout)) }
    }

    pub(super) fn change(mut self, change: impl FnOnce(&mut Layout)) -> Self {
        let what = [What::Time, What::Level, What::Target, What::Message, What::SpanNames];
        let default = || {
            let parts: Vec<_> = DEFAULT.into_iter().zip(what).collect();
            Box::new(Layout::new(&parts))
        };
        change(self.layout.get_or_insert_with(default));
        self
    }

    pub(super) fn set(self, key: &str, what: &What) -> Self {
        self.change(|layout| layout.set(key, what))
    }

    parts! {
        /// Names the time, `ts` by default.
        ///
        /// # Examples
        ///
        /// ```
        /// let json = tach_log::Json::new().time("@timestamp");
        /// ```
        time: Time;
        /// Names the level, `level` by default.
        ///
        /// # Examples
        ///
        /// ```
        /// let json = tach_log::Json::new().level("severity");
        /// ```
        level: Level;
        /// Names the target, `target` by default.
        ///
        /// # Examples
        ///
        /// ```
        /// let json = tach_log::Json::new().target("logger");
        /// ```
        target: Target;
        /// Names the message, `msg` by default.
        ///
        /// # Examples
        ///
        /// ```
        /// let json = tach_log::Json::new().message("message");
        /// ```
        message: Message;
        /// Names the text with the names of the spans, `span` by default.
        ///
        /// # Examples
        ///
        /// ```
        /// let json = tach_log::Json::new().span("context");
        /// ```
        span: SpanNames;
        /// Adds the list of the spans, from the outermost to the innermost: for each an object with
        /// its `name` and its fields, which then are not among the event's.
        ///
        /// # Examples
        ///
        /// ```
        /// let json = tach_log::Json::new().without("span").spans("spans");
        /// ```
        spans: Spans;
        /// Adds the source file.
        ///
        /// # Examples
        ///
        /// ```
        /// let json = tach_log::Json::new().file("file").line("line");
        /// ```
        file: File;
        /// Adds the line in the source file, a number.
        ///
        /// # Examples
        ///
        /// See [`file`](Self::file).
        line: Line;
        /// Adds the path of the module, which differs from the target where a call names one.
        ///
        /// # Examples
        ///
        /// ```
        /// let json = tach_log::Json::new().module("module");
        /// ```
        module: Module;
        /// Adds the name of the thread, if it has one.
        ///
        /// # Examples
        ///
        /// ```
        /// let json = tach_log::Json::new().thread("thread").thread_id("thread_id");
        /// ```
        thread: ThreadName;
        /// Adds the number of the thread, as [`ThreadId`](std::thread::ThreadId) prints it.
        ///
        /// # Examples
        ///
        /// See [`thread`](Self::thread).
        thread_id: ThreadId;
    }

    /// Adds the id of this process.
    ///
    /// # Examples
    ///
    /// ```
    /// let json = tach_log::Json::new().process_id("pid");
    /// ```
    #[must_use]
    pub fn process_id(self, key: &str) -> Self {
        self.with(key, process::id())
    }

    /// Adds a value that is the same for every event.
    ///
    /// # Examples
    ///
    /// ```
    /// let json = tach_log::Json::new().with("service", "checkout").with("shard", 3);
    /// ```
    #[must_use]
    pub fn with<'a>(self, key: &str, value: impl Into<Value<'a>>) -> Self {
        self.set(key, &What::Fixed(json(value.into())))
    }

    /// Removes the part with this key, if there is one.
    ///
    /// # Examples
    ///
    /// ```
    /// let json = tach_log::Json::new().without("target");
    /// ```
    #[must_use]
    pub fn without(self, key: &str) -> Self {
        self.change(|layout| layout.parts.retain(|part| part.key != key))
    }

    /// Renames a field of the events, unless the layout or another field has the new key.
    ///
    /// # Examples
    ///
    /// ```
    /// let json = tach_log::Json::new().rename("err", "error.message");
    /// ```
    #[must_use]
    pub fn rename(self, field: &str, key: &str) -> Self {
        self.change(|layout| {
            layout.renamed.retain(|(from, _)| from != field);
            layout.renamed.push((field.to_owned(), key.to_owned()));
        })
    }

    /// Writes the time with so many digits of a second, at most nine: six by default.
    ///
    /// # Examples
    ///
    /// ```
    /// let json = tach_log::Json::new().digits(3);
    /// ```
    #[must_use]
    pub fn digits(self, digits: usize) -> Self {
        self.change(|layout| {
            let offset = match layout.time {
                Time::Text { offset, .. } => offset,
                Time::Number(_) => None,
            };
            layout.time = Time::Text { digits, offset };
        })
    }

    /// Writes local time that is so far ahead of UTC, with the offset, as `+01:00`.
    ///
    /// # Examples
    ///
    /// ```
    /// let json = tach_log::Json::new().offset("+01:00".parse()?);
    /// # Ok::<(), tach_core::Error>(())
    /// ```
    #[must_use]
    pub fn offset(self, offset: Offset) -> Self {
        self.change(|layout| {
            let digits = match layout.time {
                Time::Text { digits, .. } => digits,
                Time::Number(_) => crate::timestamp::DIGITS,
            };
            layout.time = Time::Text { digits, offset: Some(offset) };
        })
    }

    /// Writes the time as whole seconds since the Unix epoch, a number rounded down.
    ///
    /// # Examples
    ///
    /// ```
    /// let json = tach_log::Json::new().unix_seconds();
    /// ```
    #[must_use]
    pub fn unix_seconds(self) -> Self {
        self.unix(1_000_000_000)
    }

    /// Writes the time as milliseconds since the Unix epoch.
    ///
    /// # Examples
    ///
    /// ```
    /// let json = tach_log::Json::new().unix_millis();
    /// ```
    #[must_use]
    pub fn unix_millis(self) -> Self {
        self.unix(1_000_000)
    }

    /// Writes the time as microseconds since the Unix epoch.
    ///
    /// # Examples
    ///
    /// ```
    /// let json = tach_log::Json::new().unix_micros();
    /// ```
    #[must_use]
    pub fn unix_micros(self) -> Self {
        self.unix(1_000)
    }

    /// Writes the time as nanoseconds since the Unix epoch. Many readers round such numbers.
    ///
    /// # Examples
    ///
    /// ```
    /// let json = tach_log::Json::new().unix_nanos();
    /// ```
    #[must_use]
    pub fn unix_nanos(self) -> Self {
        self.unix(1)
    }

    fn unix(self, unit: u64) -> Self {
        self.change(|layout| layout.time = Time::Number(unit))
    }

    /// Writes the levels as these texts or numbers: slog's `Critical`, then `Error`, `Warn`,
    /// `Info`, `Debug` and `Trace`. By default they are names in capitals.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_log::Json;
    ///
    /// let json = Json::new().levels(["critical", "error", "warn", "info", "debug", "trace"]);
    /// let bunyan = Json::new().levels([60, 50, 40, 30, 20, 10]);
    /// ```
    #[must_use]
    pub fn levels<'a>(self, levels: [impl Into<Value<'a>>; LEVELS]) -> Self {
        self.change(|layout| layout.levels = levels.map(|level| json(level.into())))
    }
}
