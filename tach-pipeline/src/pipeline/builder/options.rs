//! Setters of the options for records and queues.

use core::time::Duration;
use std::sync::Arc;

use log::Level;
use tach_core::{Clock, adapter};

use super::Builder;
use crate::error::Error;
use crate::filter::Levels;
use crate::incident::Incident;
use crate::queue::WhenFull;

impl Builder {
    /// Sets the filter, by default `info`: levels by the beginning of the target, as in
    /// `info,app::db=debug`. The syntax is `RUST_LOG`'s of `env_logger`, without patterns, and of
    /// tracing-subscriber's `EnvFilter`, without spans and fields.
    ///
    /// A word alone is a level or a target. One that is hardly a target, such as `warning` or
    /// `inof`, fails [`build`](Self::build): `inof=trace` makes it one. A directive that hardly
    /// does what it was written for is reported as [`Incident::Filter`].
    ///
    /// It applies to records, events and spans at the call. A [`Sink::filter`](crate::Sink::filter)
    /// narrows it for one sink.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let builder = Pipeline::builder().filter("warn,app=info,app::db=debug");
    /// // The records of this program, and warnings of its libraries:
    /// let own = concat!("warn,", env!("CARGO_CRATE_NAME"), "=debug");
    /// let builder = Pipeline::builder().filter(own);
    /// ```
    pub fn filter(mut self, directives: impl Into<String>) -> Self {
        self.filter = Some(directives.into());
        self.filter_from_env = None;
        self
    }

    /// Sets the filter from an environment variable, usually `RUST_LOG`. If the variable is empty
    /// or not set, the filter stays. It also stays in a process with privileges that its caller
    /// lacks: see [`tach_core::Config::trust_environment`].
    ///
    /// Whoever starts the program sets the variable, so a mistake in it fails nothing. Directives
    /// that can't be used, such as a level that does not exist or a filter by spans, are reported
    /// as [`Incident::Environment`], and the others apply. If none can be used, the filter stays.
    /// [`strict_environment`](Self::strict_environment) makes such a directive an error.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let builder = Pipeline::builder().filter("warn,app=info").filter_from_env("RUST_LOG");
    /// ```
    pub fn filter_from_env(mut self, variable: &str) -> Self {
        let is_name = !variable.is_empty() && !variable.contains(['=', '\0']);
        let call = || format!("Builder::filter_from_env({variable:?})");
        self.faults.unless(is_name, call, "a variable has a name, such as RUST_LOG");
        let Some(value) = adapter::variable(variable) else { return self };
        match value.into_string() {
            Ok(directives) => {
                let (usable, faults) = Levels::usable(variable, &directives);
                self.filter_from_env = usable.or(self.filter_from_env);
                self.environment.faults.extend(faults);
            }
            Err(_) => self.environment.faults.push(Error::variable(variable)),
        }
        self
    }

    /// Makes [`build`](Self::build) fail if a variable of the environment can't be used. By default
    /// it is reported as [`Incident::Environment`] and ignored, as far as it can't be used.
    ///
    /// This applies to variables that a program asks for: by
    /// [`filter_from_env`](Self::filter_from_env), `Sampling::from_env` and `Otlp::from_env`.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let builder = Pipeline::builder().filter_from_env("RUST_LOG").strict_environment();
    /// ```
    pub fn strict_environment(mut self) -> Self {
        self.environment.is_strict = true;
        self
    }

    /// Sets how a call proceeds if its thread's queue is full. By default it waits.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::{Pipeline, WhenFull};
    ///
    /// let builder = Pipeline::builder().when_full(WhenFull::DropOldest);
    /// ```
    pub fn when_full(mut self, policy: WhenFull) -> Self {
        self.when_full = policy;
        self
    }

    /// Sets how large each thread's queue may grow: 4 KiB to 256 MiB, by default 256 KiB, which is
    /// about 3,000 records of the usual length. A queue begins with 8 KiB, grows while the back end
    /// naps or its sinks stall, and shrinks when it was read.
    ///
    /// Under [`WhenFull::Block`] a longer record waits until the queue is empty; the other policies
    /// drop it. A record of 256 MiB or more is always dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let builder = Pipeline::builder().queue_bytes(1024 * 1024);
    /// ```
    pub fn queue_bytes(mut self, bytes: usize) -> Self {
        self.queue_bytes = bytes;
        self
    }

    /// Sets how long the back end naps while records come: by default 5 ms, at most a second, and
    /// not zero.
    ///
    /// A record reaches its sinks within that time of its call, unless a sink stalls. A longer
    /// interval takes less CPU time, and larger queues. An idle back end does not nap: it waits
    /// until a call wakes it. A record of level Error, a flush and a queue that is half full end a
    /// nap.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use tach_pipeline::Pipeline;
    ///
    /// let builder = Pipeline::builder().flush_interval(Duration::from_millis(1));
    /// ```
    pub fn flush_interval(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }

    /// Keeps the last `records` records, one or more, that `directives` accept and the
    /// [filter](Self::filter) refuses. They are written before the next record of the level
    /// `Error`, so that an error comes with the debug records that led to it.
    ///
    /// A record that is kept costs its call as much as one that is written. Up to 4 MiB are kept. A
    /// [sink's own filter](crate::Sink::filter) applies to the kept records too. Spans are not
    /// kept: only the pipeline's filter decides which of them are recorded.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let builder = Pipeline::builder().filter("info").before_errors("app=debug", 100);
    /// ```
    pub fn before_errors(mut self, directives: impl Into<String>, records: usize) -> Self {
        self.before_errors = Some((directives.into(), records));
        self
    }

    /// Writes equal records that follow on each other once, and then how many there were.
    ///
    /// Records are equal if their level, target, message and fields are. The count is a record with
    /// the target `tach_pipeline` and comes before the next record, or after a second. A span that
    /// is sent still has all of its events.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let builder = Pipeline::builder().collapse_repeats();
    /// ```
    pub fn collapse_repeats(mut self) -> Self {
        self.is_collapsing = true;
        self
    }

    /// Logs at most `records`, one or more, of each callsite each second. A callsite is a file and
    /// a line.
    ///
    /// The call refuses the others before it copies anything. How many it refused comes in a record
    /// of the target `tach_pipeline`, each second. Records without a static file name, as from
    /// another logger or from `tracing-log`, have no limit, nor have lines of
    /// `tracing_subscriber::fmt`.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let builder = Pipeline::builder().rate_limit(1_000);
    /// ```
    pub fn rate_limit(mut self, records: u32) -> Self {
        self.rate_limit = Some(records);
        self
    }

    /// Logs also one in `records` of the records over the [rate limit](Self::rate_limit), so that
    /// a flood stays visible: the first thousand of a second, for example, and then one in a
    /// hundred.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let builder = Pipeline::builder().rate_limit(1_000).then_each(100);
    /// ```
    pub fn then_each(mut self, records: u32) -> Self {
        self.then_each = Some(records);
        self
    }

    /// Replaces the values of fields with these keys by `[redacted]` in all sinks, whichever case
    /// the keys' ASCII letters have. A key fits as a whole or by the part after its last dot:
    /// `password` also hides `user.password`. `*` stands for any text: `*token*` hides
    /// `access_token`. A field that a sink's format [renames](tach_log::Format::renames) is hidden
    /// in all sinks by either name.
    ///
    /// It applies to the fields of records, of loggers and of spans, and to the keys within nested
    /// values of serde and sval. It applies neither to messages nor to lines of
    /// `tracing_subscriber::fmt`, nor within a value that prints a whole structure as text. Until
    /// it is written, a value is in the memory of the process.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let builder = Pipeline::builder().redact(["password", "authorization", "*token*"]);
    /// ```
    pub fn redact<K: Into<String>>(mut self, keys: impl IntoIterator<Item = K>) -> Self {
        self.redacted.extend(keys.into_iter().map(Into::into));
        self
    }

    /// Uses `clock` instead of the system's.
    ///
    /// Each call then reads that clock's Unix time.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{ManualClock, UnixTime};
    /// use tach_pipeline::Pipeline;
    ///
    /// static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);
    ///
    /// let builder = Pipeline::builder().with_clock(&CLOCK);
    /// ```
    pub fn with_clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// Sets how long a flush may take if its caller sets no timeout, by default five seconds: at a
    /// dropped [`Guard`](crate::Guard), at the last handle, at the
    /// [exit](Self::without_flush_at_exit), at [a panic](crate::Pipeline::flush_on_panic) and [a
    /// signal](crate::Pipeline::flush_on_signals), and by `flush` of `log` and slog. With zero, a
    /// flush writes what it can and waits for nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use tach_pipeline::Pipeline;
    ///
    /// let builder = Pipeline::builder().flush_timeout(Duration::from_secs(1));
    /// ```
    pub fn flush_timeout(mut self, timeout: Duration) -> Self {
        self.flush_timeout = timeout;
        self
    }

    /// Ends the process without a flush. By default, the exit flushes and waits at most as long as
    /// [`flush_timeout`](Self::flush_timeout) sets.
    ///
    /// A return from `main`, a panic in it, and `std::process::exit` in any thread are exits. With
    /// `panic = "abort"`, so is each panic. On Unix `std::process::abort` is one too, for which the
    /// process waits two seconds at most. `_exit` and `exec` are not.
    ///
    /// After this call [`init`](Self::init) installs no handlers of signals either.
    ///
    /// # Platform-specific behavior
    ///
    /// The C library's `atexit` calls the flush. On Windows `std::process::exit` does not call it,
    /// and for a library that is loaded at run time it comes too late: call
    /// [`Pipeline::flush`](crate::Pipeline::flush) before.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let builder = Pipeline::builder().without_flush_at_exit();
    /// ```
    pub fn without_flush_at_exit(mut self) -> Self {
        self.flushes_at_exit = false;
        self
    }

    /// Makes a call at `level` or above return only when its record is written to the files,
    /// streams and sockets of this machine, or after `timeout`. So the record outlives a crash that
    /// follows: `std::process::abort`, a segmentation fault, `_exit`. By default no call waits.
    ///
    /// Such a call takes as long as the slowest sink. It does not wait for collectors, nor for a
    /// sink that fails. A sink that wrote nothing for a second of such waits stalls, and is not
    /// waited for again until it writes. A call in a sink, or in a function of
    /// [`on_incident`](Self::on_incident), does not wait.
    ///
    /// A record that also outlives a machine that loses power needs [`Sink::sync`].
    ///
    /// [`Sink::sync`]: crate::Sink::sync
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use tach_pipeline::{Pipeline, Sink, SyncPolicy};
    ///
    /// # let folder = std::env::temp_dir();
    /// # let path = folder.join("tach-doc-audit.log");
    /// let guard = Pipeline::builder()
    ///     .sink(Sink::file(&path).sync(SyncPolicy::Every))
    ///     .flush_on(log::Level::Error, Duration::from_secs(1))
    ///     .build()?;
    /// # std::fs::remove_file(path).unwrap();
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    pub fn flush_on(mut self, level: Level, timeout: Duration) -> Self {
        self.flush_on = Some((level, timeout));
        self
    }

    /// Sets how long a record may be: 256 bytes or more, by default 1 MiB.
    ///
    /// A longer one is cut before it is formatted. Its message keeps half of the bytes, and each
    /// text of its fields half of those that are left. The field `truncated_bytes` counts the bytes
    /// that it lacks. Keys, quotes and escapes of the format are not counted:
    /// [`Sink::max_line_bytes`](crate::Sink::max_line_bytes) bounds a whole line.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let builder = Pipeline::builder().max_record_bytes(64 * 1024);
    /// ```
    pub fn max_record_bytes(mut self, bytes: usize) -> Self {
        self.record_bytes = bytes;
        self
    }

    /// Copies targets, keys, messages, names and places into each record, for a program that
    /// unloads libraries (plugins) that log.
    ///
    /// Without it, a static text is recorded by number and read by address as long as the process
    /// lives: after `dlclose` that would be a segmentation fault, or the text of the library that
    /// was loaded there next. With it a record is longer, and a call takes longer, whichever
    /// library makes it.
    ///
    /// It is for the whole process: all pipelines copy texts if the first one has the option. If a
    /// later one alone has it, [`build`](Self::build) fails.
    ///
    /// A library that logs through tracing must have closed its spans, and needs a `tracing` of its
    /// own, as a `cdylib` has: that crate keeps all callsites as long as it lives itself.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let builder = Pipeline::builder().copy_texts();
    /// ```
    pub fn copy_texts(mut self) -> Self {
        self.are_texts_copied = true;
        self
    }

    /// Calls `f` when a sink begins to fail or stall and when it recovers, when records are
    /// dropped, and when a variable of the environment can't be used, instead of printing a message
    /// on stderr.
    ///
    /// The threads that write the log call it, so it should return soon. It may log: a failure that
    /// its records meet is not reported for each of them, see [`Incident`]. A flush in it fails at
    /// once. If it panics, the panic is caught.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// use tach_pipeline::{Incident, Pipeline};
    ///
    /// static LOST: AtomicU64 = AtomicU64::new(0);
    ///
    /// let builder = Pipeline::builder().on_incident(|incident| {
    ///     if let Incident::Dropped { count, .. } = incident {
    ///         LOST.fetch_add(*count, Ordering::Relaxed);
    ///     }
    ///     eprintln!("{incident}");
    /// });
    /// ```
    pub fn on_incident(mut self, f: impl Fn(&Incident<'_>) + Send + Sync + 'static) -> Self {
        self.on_incident = Some(Arc::new(f));
        self
    }
}
