//! The options of a line.

use tach_core::Offset;

use super::{Line, Style};
use crate::format::time::Time;

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
        Self {
            style: Style::Full,
            time: Some(Time::DEFAULT),
            has_level: true,
            has_target: true,
            has_ids: true,
            has_span_fields: true,
            has_site: false,
            has_pid: false,
            has_host: false,
            has_lines_below: false,
            target_width: 0,
            max_target_width: usize::MAX,
        }
    }

    /// Creates a shorter line for developers: the time of day, then the level, the message and the
    /// fields, and last the target with the names of the spans.
    ///
    /// ```text
    /// 09:30:00.123 INFO  connected peer=10.0.0.7:5432 [app::db request:query]
    /// ```
    ///
    /// # Examples
    ///
    /// ```
    /// let format = tach_log::Line::compact();
    /// env_logger::builder().format(tach_log::write(format)).init();
    /// ```
    #[must_use]
    pub const fn compact() -> Self {
        let time = Time::DEFAULT.with_digits(3).without_date();
        Self { style: Style::Compact, time: Some(time), has_ids: false, ..Self::new() }
    }

    /// Creates the line of `tracing_subscriber::fmt`, so that a move changes no pattern that reads
    /// the log: the level in five columns, the spans with their own fields, the target, the
    /// message, and the event's fields. A text has quotes, and a value that prints itself (`Debug`,
    /// `Display`) has none.
    ///
    /// ```text
    /// 2026-11-21T09:30:00.123456Z  INFO request{id=7}: app::db: run cmd=Set(Set { key: "foo" })
    /// ```
    ///
    /// It differs in two things: control characters are escaped as in every [`Line`], and a field
    /// that a span records again stands once, with its last value.
    ///
    /// # Examples
    ///
    /// ```
    /// let line = tach_log::Line::tracing();
    /// ```
    #[must_use]
    pub const fn tracing() -> Self {
        Self { style: Style::Tracing, has_ids: false, ..Self::new() }
    }

    /// Like [`tracing`](Self::tracing), in the format of its `compact()`: the spans' fields are
    /// last.
    ///
    /// ```text
    /// 2026-11-21T09:30:00.123456Z  INFO request: app::db: run cmd=Get(Get) id=7
    /// ```
    ///
    /// # Examples
    ///
    /// ```
    /// let line = tach_log::Line::tracing_compact();
    /// ```
    #[must_use]
    pub const fn tracing_compact() -> Self {
        Self { style: Style::TracingCompact, ..Self::tracing() }
    }

    /// Leaves out the time, for a reader that adds one, such as `journalctl`.
    ///
    /// # Examples
    ///
    /// ```
    /// let line = tach_log::Line::new().without_time();
    /// ```
    #[must_use]
    pub const fn without_time(mut self) -> Self {
        self.time = None;
        self
    }

    /// Leaves out the level.
    ///
    /// # Examples
    ///
    /// ```
    /// let line = tach_log::Line::new().without_time().without_level();
    /// ```
    #[must_use]
    pub const fn without_level(mut self) -> Self {
        self.has_level = false;
        self
    }

    /// Leaves out the target, such as the module `app::db`. A [compact](Self::compact) line still
    /// ends with the names of the spans.
    ///
    /// # Examples
    ///
    /// ```
    /// let line = tach_log::Line::tracing().without_target();
    /// ```
    #[must_use]
    pub const fn without_target(mut self) -> Self {
        self.has_target = false;
        self
    }

    /// Writes `trace_id` and `span_id` at the end of the line, for an event within a span whose
    /// [ids](crate::Event::trace_id) are known. A field with one of these keys is renamed to
    /// `trace_id_` or `span_id_`, or left out if its text is the id.
    ///
    /// [`new`](Self::new) writes them by default, the compact lines and those of `tracing` do not.
    ///
    /// # Examples
    ///
    /// ```
    /// let line = tach_log::Line::tracing().ids();
    /// ```
    #[must_use]
    pub const fn ids(mut self) -> Self {
        self.has_ids = true;
        self
    }

    /// Leaves out the [ids](Self::ids).
    ///
    /// # Examples
    ///
    /// ```
    /// let line = tach_log::Line::new().without_ids();
    /// ```
    #[must_use]
    pub const fn without_ids(mut self) -> Self {
        self.has_ids = false;
        self
    }

    /// Leaves out the fields of the spans around an event. The names of the spans stay, and so do
    /// the fields of spans without a name, which are keys for each line.
    ///
    /// # Examples
    ///
    /// `INFO  app: found span=http.server.request rows=1`, without the method, the route, the path
    /// and so on:
    ///
    /// ```
    /// let line = tach_log::Line::new().without_span_fields();
    /// ```
    #[must_use]
    pub const fn without_span_fields(mut self) -> Self {
        self.has_span_fields = false;
        self
    }

    /// Writes the source file and the line after the target, as `src/db.rs:42`, if the front end
    /// knows them.
    ///
    /// # Examples
    ///
    /// ```
    /// let line = tach_log::Line::compact().site();
    /// ```
    #[must_use]
    pub const fn site(mut self) -> Self {
        self.has_site = true;
        self
    }

    /// Writes the number of the process after the level, as `[4711]`.
    ///
    /// # Examples
    ///
    /// ```
    /// let line = tach_log::Line::new().pid();
    /// ```
    #[must_use]
    pub const fn pid(mut self) -> Self {
        self.has_pid = true;
        self
    }

    /// Writes the name of the machine after the level, before the [number](Self::pid) of the
    /// process if the line has both: `web-1[4711]`.
    ///
    /// # Examples
    ///
    /// ```
    /// let line = tach_log::Line::new().host().pid();
    /// ```
    #[must_use]
    pub const fn host(mut self) -> Self {
        self.has_host = true;
        self
    }

    /// Writes texts of several lines, such as backtraces, and errors with sources as several lines:
    /// for readers who are people.
    ///
    /// ```text
    /// 2026-11-21T09:30:00.123456Z ERROR app::db: can't answer attempt=2
    ///     err: can't read the row
    ///       Caused by: connection reset
    ///       Caused by: timed out
    /// ```
    ///
    /// The further lines of the message come first, and then the fields whose values have several.
    /// Each further line begins with four spaces or more, so that no text forges a record. Other
    /// control characters are escaped as in every line. A stream of systemd's journal makes each
    /// line an entry, and a file has a record in as many lines as it has.
    ///
    /// # Examples
    ///
    /// ```
    /// use log::Record;
    /// use tach_log::{Line, display};
    ///
    /// let line = Line::new().without_time().multiline();
    /// let record = Record::builder().target("app").args(format_args!("two\nlines")).build();
    /// assert_eq!(display(line, &record).to_string(), "INFO  app: two\n    lines");
    /// ```
    #[must_use]
    pub const fn multiline(mut self) -> Self {
        self.has_lines_below = true;
        self
    }

    /// Sets how many digits of a second the time has, at most nine: by default six, or three in the
    /// [compact](Self::compact) line.
    ///
    /// # Examples
    ///
    /// ```
    /// let line = tach_log::Line::new().digits(3);
    /// ```
    #[must_use]
    pub const fn digits(mut self, digits: usize) -> Self {
        self.time = Some(self.time().with_digits(digits));
        self
    }

    /// Writes the time of day, without the date and the zone: with `digits(0)` the `%H:%M:%S` of
    /// `strftime`. For another pattern write a [`Format`](crate::Format) of your own.
    ///
    /// # Examples
    ///
    /// ```
    /// let line = tach_log::Line::new().without_date().digits(0);
    /// ```
    #[must_use]
    pub const fn without_date(mut self) -> Self {
        self.time = Some(self.time().without_date());
        self
    }

    /// Writes local time with this offset from UTC. The line contains the offset, such as `+01:00`,
    /// except if it is [compact](Self::compact).
    ///
    /// # Examples
    ///
    /// ```
    /// let line = tach_log::Line::compact().offset("+01:00".parse()?);
    /// # Ok::<(), tach_core::Error>(())
    /// ```
    #[must_use]
    pub const fn offset(mut self, offset: Offset) -> Self {
        self.time = Some(self.time().with_offset(offset));
        self
    }

    /// Writes local time by the system's zone. The line contains the offset, such as `+01:00`,
    /// except if it is [compact](Self::compact). [`Keyed::local_time`](crate::Keyed::local_time)
    /// says which zone that is.
    ///
    /// # Examples
    ///
    /// ```
    /// let line = tach_log::Line::compact().local_time();
    /// ```
    #[cfg(feature = "local-time")]
    #[must_use]
    pub const fn local_time(mut self) -> Self {
        self.time = Some(self.time().local());
        self
    }

    /// Adds spaces after a target that is shorter than `width`, so that messages begin in one
    /// column: 256 at most. More are one of its [faults](crate::Format::faults), and so is a width
    /// for a [compact](Self::compact) line, which ends with the target.
    ///
    /// # Examples
    ///
    /// ```
    /// let line = tach_log::Line::new().target_width(24);
    /// ```
    #[must_use]
    pub const fn target_width(mut self, width: usize) -> Self {
        self.target_width = width;
        self
    }

    /// Shortens a target that is longer than `width` columns: from the left, as many modules as
    /// needed are their first letters, so that `shop::orders::db` is `s::orders::db` with 14 and
    /// `s::o::db` with 10. The last module stays whole. With
    /// [`target_width`](Self::target_width), messages begin in one column.
    ///
    /// # Examples
    ///
    /// ```
    /// use log::Record;
    /// use tach_log::{Line, display};
    ///
    /// let line = Line::new().without_time().max_target_width(10);
    /// let record = Record::builder().target("shop::orders::db").build();
    /// assert_eq!(display(line, &record).to_string(), "INFO  s::o::db:");
    /// ```
    #[must_use]
    pub const fn max_target_width(mut self, width: usize) -> Self {
        self.max_target_width = width;
        self
    }

    const fn time(&self) -> Time {
        match self.time {
            Some(time) => time,
            None if matches!(self.style, Style::Compact) => Time::DEFAULT.without_date(),
            None => Time::DEFAULT,
        }
    }
}
