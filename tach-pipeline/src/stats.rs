//! How many records were written and lost.

mod items;
#[cfg(feature = "tracing")]
mod spans;

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use arc_swap::{ArcSwap, ArcSwapOption};
use log::Level;

use tach_record::channel::Signals;
pub(crate) use tach_record::counts::{ByLevel, Count, Dropped, Happened, Losses};

pub(crate) use self::items::{Items, KEPT, LATE, QUEUE_FULL, SINK_FAILED, Were};

/// The counts of a pipeline at a moment, from [`Pipeline::stats`](crate::Pipeline::stats).
///
/// # When records are lost
///
/// While the process lives and its sinks work, no record is lost, unless
/// [`WhenFull`](crate::WhenFull) drops it. The pipeline reports dropped records in a record with
/// the target `tach_pipeline`.
///
/// - A [sink](crate::Sink#guarantees) that fails or stalls loses what exceeds its
///   [buffer](crate::Sink::buffer_bytes). It reports the number when it works again; these counts
///   have it at once.
/// - A record longer than [`Builder::max_record_bytes`](crate::Builder::max_record_bytes) is cut,
///   and counts the bytes that it lacks.
/// - If a log file is moved, records are written to it for up to a second, and then to a new file.
///   If it is deleted, its contents are lost: see [`Sink::keep_open`](crate::Sink::keep_open).
/// - If `WhenFull` drops the record of a span, the span is lost, and its other records have no span.
///   Keep [`WhenFull::Block`](crate::WhenFull::Block) where spans are sent.
/// - [The end of the process](crate::_moving#the-end-of-the-process) flushes. After
///   [`flush_timeout`](crate::Builder::flush_timeout) stderr has the numbers of records that wait
///   in the queues and for each sink.
/// - A killed process loses its queues, and what is gathered for a collector: a second of records
///   and spans, and the traces that `Tail` holds.
///   [`flush_on`](crate::Builder::flush_on) and `Builder::survive` lose less.
/// - [Forked children](crate::_guide#forked-children) have pipelines of their own.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use tach_pipeline::{Pipeline, Sink};
///
/// let guard = Pipeline::builder().sink(Sink::writer("memory", Vec::new())).build()?;
/// log::Log::log(guard.pipeline(), &log::Record::builder().args(format_args!("ready")).build());
/// guard.pipeline().flush(Duration::from_secs(1))?;
/// let stats = guard.pipeline().stats();
/// assert_eq!((stats.records(), stats.dropped()), (1, 0));
/// let sink = &stats.sinks()[0];
/// assert_eq!((sink.name(), sink.written(), sink.dropped()), ("memory", 1, 0));
/// # Ok::<(), tach_pipeline::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stats {
    records: u64,
    by_level: ByLevel<u64>,
    dropped: u64,
    dropped_by_level: ByLevel<u64>,
    pub(crate) early: u64,
    pub(crate) spanless: u64,
    pub(crate) dropped_spans: u64,
    pub(crate) unclosed: u64,
    sinks: Vec<SinkStats>,
}

impl Stats {
    /// Returns how many records of `log`, slog and tracing the back end has taken from the queues
    /// and passed to the sinks. [Repeats](crate::Builder::collapse_repeats) and spans are not among
    /// them; the sinks' [own counts](Self::sinks) include spans.
    ///
    /// # Examples
    ///
    /// ```
    /// let guard = tach_pipeline::Pipeline::builder().build()?;
    /// assert_eq!(guard.pipeline().stats().records(), 0);
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Returns how many records of a level the program has logged, for a metric such as the errors
    /// since the start. slog's `Critical` is an `Error`.
    ///
    /// These are the records that the [filter](crate::Builder::filter) accepts, at levels that some
    /// sink takes, and that the back end has taken from the queues. It counts them whatever the
    /// sinks do with them, including [repeats](crate::Builder::collapse_repeats) and the records
    /// that were written [before an error](crate::Builder::before_errors). The pipeline's own
    /// records, those over a [rate limit](crate::Builder::rate_limit) and those that the queues
    /// have [dropped](Self::dropped) are not among them. A [flush](crate::Pipeline::flush) has
    /// every record counted that was logged before.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use log::Level;
    /// use tach_pipeline::{Pipeline, Sink};
    ///
    /// let guard = Pipeline::builder().sink(Sink::writer("memory", Vec::new())).build()?;
    /// let record = log::Record::builder().level(Level::Error).args(format_args!("late")).build();
    /// log::Log::log(guard.pipeline(), &record);
    /// guard.pipeline().flush(Duration::from_secs(1))?;
    /// assert_eq!(guard.pipeline().stats().logged(Level::Error), 1);
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn logged(&self, level: Level) -> u64 {
        *self.by_level.of(level)
    }

    /// Returns how many records the queues have dropped because they were full, parts of spans
    /// among them. No sink has these.
    ///
    /// # Examples
    ///
    /// ```
    /// let guard = tach_pipeline::Pipeline::builder().build()?;
    /// assert_eq!(guard.pipeline().stats().dropped(), 0);
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Returns how many records of a level are among [`dropped`](Self::dropped). Parts of spans
    /// have no level.
    ///
    /// # Examples
    ///
    /// ```
    /// let guard = tach_pipeline::Pipeline::builder().build()?;
    /// assert_eq!(guard.pipeline().stats().dropped_of(log::Level::Error), 0);
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn dropped_of(&self, level: Level) -> u64 {
        *self.dropped_by_level.of(level)
    }

    /// Returns the counts of each sink, in the order in which the sinks were added. A collector
    /// has one for each signal, with the address of its requests as the name.
    ///
    /// # Examples
    ///
    /// ```
    /// let guard = tach_pipeline::Pipeline::builder().build()?;
    /// assert_eq!(guard.pipeline().stats().sinks()[0].name(), "stderr");
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn sinks(&self) -> &[SinkStats] {
        &self.sinks
    }
}

/// The counts of one sink. Its records are those that its filter lets pass, with the pipeline's own
/// reports. A collector's address for spans counts spans, and that for metrics batches of
/// durations.
///
/// # Examples
///
/// See [`Stats`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SinkStats {
    name: String,
    written: u64,
    bytes: u64,
    dropped: u64,
    dropped_by_level: ByLevel<u64>,
    oversize: u64,
    waiting: u64,
    failures: u64,
    last_error: Option<Arc<String>>,
    is_closed: bool,
}

impl SinkStats {
    /// Returns the name or path of the sink.
    ///
    /// # Examples
    ///
    /// ```
    /// let guard = tach_pipeline::Pipeline::builder().build()?;
    /// assert_eq!(guard.pipeline().stats().sinks()[0].name(), "stderr");
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns how many records the writer has accepted whole.
    ///
    /// # Examples
    ///
    /// ```
    /// let guard = tach_pipeline::Pipeline::builder().build()?;
    /// assert_eq!(guard.pipeline().stats().sinks()[0].written(), 0);
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Returns how many bytes the writer has accepted.
    ///
    /// # Examples
    ///
    /// ```
    /// let guard = tach_pipeline::Pipeline::builder().build()?;
    /// assert_eq!(guard.pipeline().stats().sinks()[0].bytes(), 0);
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns how many records are lost for this sink: it failed or stalled for too long, or its
    /// format failed.
    ///
    /// # Examples
    ///
    /// ```
    /// let guard = tach_pipeline::Pipeline::builder().build()?;
    /// assert_eq!(guard.pipeline().stats().sinks()[0].dropped(), 0);
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Returns how many records of a level are among [`dropped`](Self::dropped). Some dropped
    /// records have no level: those that an earlier process left, those that a collector refuses as
    /// a part of a request, and those that a sink still has when it is [closed](Self::is_closed).
    ///
    /// # Examples
    ///
    /// ```
    /// let guard = tach_pipeline::Pipeline::builder().build()?;
    /// assert_eq!(guard.pipeline().stats().sinks()[0].dropped_of(log::Level::Error), 0);
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn dropped_of(&self, level: Level) -> u64 {
        *self.dropped_by_level.of(level)
    }

    /// Returns how many records were longer than a pipe writes in one piece (4,096 bytes on Linux).
    /// They are written whole, but another writer's line may be inside them.
    ///
    /// # Examples
    ///
    /// ```
    /// let guard = tach_pipeline::Pipeline::builder().build()?;
    /// assert_eq!(guard.pipeline().stats().sinks()[0].oversize(), 0);
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn oversize(&self) -> u64 {
        self.oversize
    }

    /// Returns about how many records, or spans, wait for the writer: they are neither written nor
    /// lost yet.
    ///
    /// # Examples
    ///
    /// ```
    /// let guard = tach_pipeline::Pipeline::builder().build()?;
    /// assert_eq!(guard.pipeline().stats().sinks()[0].waiting(), 0);
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.waiting
    }

    /// Returns how often writing, flushing or opening the sink has failed. The records of a failed
    /// write are tried again.
    ///
    /// # Examples
    ///
    /// ```
    /// let guard = tach_pipeline::Pipeline::builder().build()?;
    /// assert_eq!(guard.pipeline().stats().sinks()[0].failures(), 0);
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.failures
    }

    /// Returns the reason of the last failure, even if the sink works again.
    ///
    /// # Examples
    ///
    /// ```
    /// let guard = tach_pipeline::Pipeline::builder().build()?;
    /// assert_eq!(guard.pipeline().stats().sinks()[0].last_error(), None);
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn last_error(&self) -> Option<&str> {
        self.last_error.as_ref().map(|error| error.as_str())
    }

    /// Returns whether the sink was closed by [`Pipeline::apply`](crate::Pipeline#method.apply).
    /// Its counts stay. A sink of the same name that is opened later continues them, unless it is
    /// opened while the other one closes. So a metric should add up the counts of a name.
    ///
    /// # Examples
    ///
    /// ```
    /// let guard = tach_pipeline::Pipeline::builder().build()?;
    /// assert!(!guard.pipeline().stats().sinks()[0].is_closed());
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }
}

/// A state that one thread sets, and any reads.
#[derive(Debug, Default)]
pub(crate) struct Flag(AtomicBool);

impl Flag {
    pub(crate) fn set(&self, is_set: bool) {
        // ORDERING: Relaxed: publishes only itself.
        self.0.store(is_set, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> bool {
        // ORDERING: Relaxed: publishes only itself.
        self.0.load(Ordering::Relaxed)
    }
}

/// The counts of a pipeline at work.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Records that were passed to the sinks.
    pub(crate) records: Count,
    /// Records that the program has logged.
    pub(crate) by_level: ByLevel<Count>,
    /// Events that the back end has taken out of the queues, and not passed to the sinks yet.
    pub(crate) in_hand: Count,
    /// Traces that were decided about before their end.
    pub(crate) early: Count,
    /// Records whose span was not known.
    pub(crate) spanless: Count,
    /// Spans that the registry will never close.
    pub(crate) unclosed: Count,
    /// The counts of each sink, also after it was closed. The place of a sink never changes.
    sinks: ArcSwap<Vec<Arc<SinkCounts>>>,
}

/// The counts of a sink at work, and its state.
#[derive(Debug, Default)]
pub(crate) struct SinkCounts {
    pub(crate) name: String,
    /// What the sink takes, for messages.
    pub(crate) items: Items,
    /// Whether writing may fail for a while, as sending to another machine does.
    pub(crate) is_remote: bool,
    /// Everything that came for the sink, whether it is written, dropped or waiting.
    pub(crate) taken: Count,
    pub(crate) written: Count,
    pub(crate) bytes: Count,
    pub(crate) dropped: Losses,
    /// How many of the dropped events were dropped before they waited.
    pub(crate) refused: Count,
    /// If later events may leave before others: the number that had left before that, plus one.
    /// Zero otherwise.
    overtaken: Count,
    /// Records that a pipe does not keep together.
    pub(crate) oversize: Count,
    /// Whether the last try to write failed, and nothing was written since.
    pub(crate) is_failing: Flag,
    /// Whether the back end has waited for the sink in vain, and nothing was written since.
    pub(crate) is_stalled: Flag,
    /// How many times the program has asked for a rotation of the file.
    pub(crate) rotations: Count,
    /// Whether no more records come for the sink, since a configuration without it was applied.
    pub(crate) is_closed: Flag,
    /// Whether the thread of a closed sink has ended, so that a sink of its name may count here.
    pub(crate) is_free: Flag,
    failures: Count,
    /// Without a lock: after a fork nobody would release one.
    last_error: ArcSwapOption<String>,
}

impl SinkCounts {
    pub(crate) fn new(name: String, items: Items, is_remote: bool) -> Self {
        Self { name, items, is_remote, ..Self::default() }
    }

    /// Returns the message for an error of the writer.
    pub(crate) fn cannot_write(&self, error: &dyn core::fmt::Display) -> String {
        let name = &self.name;
        match self.items {
            Items::RECORDS => format!("can't write the log to {name}: {error}"),
            Items(items) => format!("can't send {items} to {name}: {error}"),
        }
    }

    pub(crate) fn waiting(&self) -> u64 {
        // `taken` is raised before `written` and `dropped`, so the difference is not negative.
        let done = self.written.get() + self.dropped.get();
        self.taken.get().saturating_sub(done)
    }

    /// Counts events that are dropped before they wait.
    pub(crate) fn refuse(&self, dropped: &Dropped) {
        self.dropped.add(dropped);
        self.refused.add(dropped.count);
    }

    /// Counts an event that is dropped before it waits.
    pub(crate) fn refuse_one(&self, level: Option<crate::level::Level>) {
        self.dropped.add_one(level);
        self.refused.add(1);
    }

    /// Notes whether later events may leave before others.
    pub(crate) fn note_overtaking(&self, is_possible: bool) {
        match (is_possible, self.overtaken.get()) {
            (false, _) => self.overtaken.set(0),
            (true, 0) => self.overtaken.set(self.left() + 1),
            (true, _) => {}
        }
    }

    /// Returns how many events have waited, or wait. They leave in their order.
    pub(crate) fn came(&self) -> u64 {
        self.taken.get().saturating_sub(self.refused.get())
    }

    /// Returns how many of the events that [came](Self::came) were written or dropped.
    pub(crate) fn left(&self) -> u64 {
        let left = self.came().saturating_sub(self.waiting());
        self.overtaken.get().checked_sub(1).map_or(left, |before| before.min(left))
    }

    /// Returns whether a filter applies to what comes for the sink.
    pub(crate) fn is_filtered(&self) -> bool {
        self.items.are_filtered() && !self.is_closed.get()
    }

    pub(crate) fn failed(&self, error: &dyn core::fmt::Display) {
        self.failures.add(1);
        self.last_error.store(Some(Arc::new(error.to_string())));
    }

    /// Returns what the sink takes and its name, with the reason if the sink fails.
    pub(crate) fn shown(&self) -> String {
        let (items, name) = (self.items.as_str(), &self.name);
        match self.last_error() {
            Some(error) if self.is_failing.get() => format!("{items} to {name} ({error})"),
            _ => format!("{items} to {name}"),
        }
    }

    /// Returns the reason of the last failure.
    pub(crate) fn last_error(&self) -> Option<Arc<String>> {
        self.last_error.load_full()
    }

    fn stats(&self) -> SinkStats {
        SinkStats {
            name: self.name.clone(),
            written: self.written.get(),
            bytes: self.bytes.get(),
            dropped: self.dropped.get(),
            dropped_by_level: self.dropped.by_level.get(),
            oversize: self.oversize.get(),
            waiting: self.waiting(),
            failures: self.failures.get(),
            last_error: self.last_error(),
            is_closed: self.is_closed.get(),
        }
    }
}

impl Counts {
    #[cfg(test)]
    pub(crate) fn new(sinks: Vec<Arc<SinkCounts>>) -> Self {
        Self { sinks: ArcSwap::from_pointee(sinks), ..Self::default() }
    }

    pub(crate) fn sinks(&self) -> Arc<Vec<Arc<SinkCounts>>> {
        self.sinks.load_full()
    }

    /// Adds a sink at the place `at`, unless it is a closed one that opens again.
    pub(crate) fn open(&self, at: usize, sink: &Arc<SinkCounts>) {
        let mut sinks = Vec::clone(&self.sinks.load());
        if at == sinks.len() {
            sinks.push(Arc::clone(sink));
            self.sinks.store(sinks.into());
        }
        for flag in [&sink.is_closed, &sink.is_free, &sink.is_failing, &sink.is_stalled] {
            flag.set(false);
        }
    }

    pub(crate) fn stats(&self, signals: &Signals) -> Stats {
        Stats {
            records: self.records.get(),
            by_level: self.by_level.get(),
            dropped: signals.dropped.get(),
            dropped_by_level: signals.dropped.by_level.get(),
            early: self.early.get(),
            spanless: self.spanless.get(),
            dropped_spans: signals.dropped_spans.get(),
            unclosed: self.unclosed.get(),
            sinks: self.sinks().iter().map(|sink| sink.stats()).collect(),
        }
    }
}
