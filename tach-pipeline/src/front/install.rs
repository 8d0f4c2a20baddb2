//! Installs the pipeline for all front ends, and updates the levels that they have cached.

use core::time::Duration;
use std::io::{self, IsTerminal as _};
use std::sync::Arc;
use std::thread;

use log::Level;
use tach_log::Line;
use tach_record::host;

use super::logger;
use crate::error::Error;
use crate::filter::Levels;
use crate::pipeline::Pipeline;
use crate::pipeline::builder::Builder;
use crate::shared::Shared;
use crate::sink::Sink;

/// How long a call waits for a terminal.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// Installs a pipeline for `log` and, with the feature `tracing`, for tracing, which writes lines to
/// stderr with the levels of `RUST_LOG`, or up to `Info`: in place of `env_logger::init` and
/// `tracing_subscriber::fmt::init`.
///
/// The lines are [those of `tracing_subscriber::fmt`](Line::tracing), which writes them to stdout.
/// Where systemd has connected stderr to the journal, it gets
/// [entries](Sink::stderr_or_journal) instead. If stderr is a terminal, a call
/// [waits](Builder::flush_on) until its line is there, so lines and the program's own output are in
/// order.
///
/// For another sink, filter or format take the [builder](Pipeline::builder), whose
/// [`init`](Builder::init) says when the pipeline is flushed.
///
/// # Errors
///
/// As [`Builder::init`].
///
/// # Examples
///
/// ```
/// fn main() -> Result<(), tach_pipeline::Error> {
///     tach_pipeline::init()?;
///     log::info!("ready");
///     Ok(())
/// }
/// ```
pub fn init() -> Result<Pipeline, Error> {
    let sink = Sink::stderr_or_journal().format(Line::tracing());
    let builder = Pipeline::builder().sink(sink).filter_from_env("RUST_LOG");
    // On a terminal, flush after each record: otherwise the program's later output would come
    // before it.
    let builder = if io::stderr().is_terminal() {
        builder.flush_on(Level::Trace, LONGEST_WAIT)
    } else {
        builder
    };
    builder.init()
}

impl Builder {
    /// Builds the pipeline, and installs it for all front ends whose features are enabled: as the
    /// global [subscriber](Pipeline::subscriber) of tracing, then as the logger of `log`.
    ///
    /// The pipeline lives as long as the process. The process ends only when the records are
    /// written: at a [return from `main`](Self::without_flush_at_exit), and on Unix also at other
    /// exits and at the [signals](Pipeline::flush_on_signals) that end it.
    ///
    /// In a forked child it takes the place of the pipeline that the parent installed, and of the
    /// one that the child's first record has started.
    ///
    /// For a subscriber with other layers, [`build`](Self::build) and install each.
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build), if a handler of a signal can't be installed, or if one of the two
    /// was set before. The other one is left alone then, unless the program had a scoped subscriber
    /// before.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_log::Json;
    /// use tach_pipeline::{Pipeline, Sink};
    ///
    /// let sink = Sink::stdout().format(Json::new());
    /// Pipeline::builder().sink(sink).filter_from_env("RUST_LOG").init()?;
    /// log::info!("ready");
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    pub fn init(self) -> Result<Pipeline, Error> {
        #[cfg(unix)]
        let flushes_at_signals = self.flushes_at_exit;
        let pipeline = self.start(None)?;
        // Neither installation can be undone, so tracing's comes first only if it can fail.
        #[cfg(feature = "tracing")]
        let is_first = super::tracing::may_be_set();
        #[cfg(feature = "tracing")]
        if is_first {
            super::tracing::install(&pipeline)?;
        }
        logger::install(&pipeline)?;
        #[cfg(feature = "tracing")]
        if !is_first {
            super::tracing::install(&pipeline)?;
        }
        #[cfg(unix)]
        if flushes_at_signals {
            pipeline.flush_on_signals()?;
        }
        Ok(pipeline)
    }
}

impl Pipeline {
    /// Replaces the filter: see [`Builder::filter`](crate::Builder::filter).
    ///
    /// Tracing's cache of enabled callsites is rebuilt. If the pipeline is the logger of `log`,
    /// [`log::max_level`] is set. If it is only a layer of tracing, that level is raised but not
    /// lowered, since other layers may need it.
    ///
    /// # Errors
    ///
    /// If the filter can't be parsed. The old filter stays.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let guard = Pipeline::builder().filter("info").build()?;
    /// guard.pipeline().set_logger()?;
    /// guard.pipeline().set_filter("info,app::db=trace")?;
    /// assert_eq!(log::max_level(), log::LevelFilter::Trace);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_filter(&self, directives: &str) -> Result<(), Error> {
        let levels = Levels::parse(directives)?;
        self.report_doubts(&levels);
        self.known().filters.set(levels);
        filter_changed(self.known());
        Ok(())
    }

    /// Replaces the filter for a time, and then returns to the one before, unless the filter was
    /// changed meanwhile: an operator gets ten minutes of `debug`, and nobody has to think of the
    /// end. Several such times return to the filter before the first. A thread waits until then.
    ///
    /// # Errors
    ///
    /// If the filter can't be parsed, or the thread can't be started. The old filter stays.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use tach_pipeline::Pipeline;
    ///
    /// let guard = Pipeline::builder().filter("info").build()?;
    /// guard.pipeline().set_filter_for("info,app::db=trace", Duration::from_secs(600))?;
    /// assert_eq!(guard.pipeline().current_filter(), "info,app::db=trace");
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    pub fn set_filter_for(&self, directives: &str, time: Duration) -> Result<(), Error> {
        let levels = Levels::parse(directives)?;
        self.report_doubts(&levels);
        let shared = self.known();
        let change = shared.filters.set_for_now(levels);
        filter_changed(shared);
        // The thread must not keep a pipeline alive that has ended.
        let weak = Arc::downgrade(shared);
        let wait = move || {
            thread::sleep(time);
            weak.upgrade().inspect(|shared| restore(shared, change));
        };
        let spawned = host::spawn("tach-filter", wait);
        spawned.map(|_| ()).map_err(|error| {
            restore(shared, change);
            Error::thread(error)
        })
    }

    /// Returns the filter that applies now, as it was written.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let guard = Pipeline::builder().build()?;
    /// assert_eq!(guard.pipeline().current_filter(), "info");
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn current_filter(&self) -> String {
        self.known().filters.directives()
    }

    /// Replaces the filter of the sinks with this name, which is the one that
    /// [`Stats::sinks`](crate::Stats::sinks) has: the path of a file, `stdout`, the name of a
    /// writer, or the address to which a collector's signal is sent. A function that
    /// [`Sink::only`](crate::Sink::only) has set still decides too.
    ///
    /// The filter applies to records that are logged after the call, and to those that are still in
    /// the queues. [`set_filter`](Self::set_filter), or
    /// [`Builder::filter`](crate::Builder::filter), must accept a record too: raise that filter
    /// first to get more records into one sink.
    ///
    /// # Errors
    ///
    /// If the filter can't be parsed, or no sink has that name. The durations of spans have no
    /// filter. The old filter stays.
    ///
    /// # Examples
    ///
    /// ```
    /// use log::LevelFilter;
    /// use tach_pipeline::{Pipeline, Sink};
    ///
    /// let guard = Pipeline::builder()
    ///     .filter("debug")
    ///     .sink(Sink::stderr().filter("warn"))
    ///     .sink(Sink::stdout().filter("info"))
    ///     .build()?;
    /// // An operator asks for more.
    /// guard.pipeline().set_sink_filter("stdout", "info,app::db=debug")?;
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    pub fn set_sink_filter(&self, sink: &str, directives: &str) -> Result<(), Error> {
        let place = format!("the sink {sink}");
        let levels = Levels::parse(directives).map_err(|fault| fault.of(&place))?;
        let shared = self.known();
        let sinks = shared.progress.counts.sinks();
        let is_named =
            |at: usize| sinks.get(at).is_some_and(|it| it.name == sink && it.is_filtered());
        if !(0..sinks.len()).any(is_named) {
            let names: Vec<_> =
                sinks.iter().filter(|it| it.is_filtered()).map(|it| &*it.name).collect();
            let call = format!("Pipeline::set_sink_filter({sink:?}, ..)");
            let wanted = format!("the sinks with a filter are {}", names.join(", "));
            return Err(Error::setting(call, &wanted));
        }
        self.report_doubts(&levels);
        shared.filters.set_sinks(&levels, is_named);
        filter_changed(shared);
        Ok(())
    }

    /// Returns the filter that the first sink with this name has now, as it was written, or `None`
    /// if no sink with a filter has that name.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::{Pipeline, Sink};
    ///
    /// let guard = Pipeline::builder().sink(Sink::stdout().filter("warn")).build()?;
    /// assert_eq!(guard.pipeline().current_sink_filter("stdout").as_deref(), Some("warn"));
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn current_sink_filter(&self, sink: &str) -> Option<String> {
        let shared = self.known();
        let sinks = shared.progress.counts.sinks();
        let at = sinks.iter().position(|it| it.name == sink && it.is_filtered())?;
        shared.filters.takers().get(at).map(|levels| levels.directives().to_owned())
    }

    pub(super) fn report_doubts(&self, levels: &Levels) {
        let mut reporter = self.known().reporter.clone();
        levels.doubts().for_each(|doubt| _ = reporter.report(&doubt));
    }
}

/// Returns to the filter before a change, unless there was another one since.
fn restore(shared: &Shared, change: u64) {
    if shared.filters.restore(change) {
        filter_changed(shared);
    }
}

/// Passes the most verbose level on to the front ends that have cached it.
pub(super) fn filter_changed(Shared { filters, .. }: &Shared) {
    #[cfg(feature = "tracing")]
    super::tracing::filter_changed();
    if filters.is_logger.is_on() {
        log::set_max_level(filters.most());
    } else if filters.is_layer.is_on() {
        // Only raise the level: other layers may need the present one.
        log::set_max_level(filters.most().max(log::max_level()));
    }
}
