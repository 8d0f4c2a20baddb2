//! The handle to a pipeline, by which records are logged.

pub(crate) mod builder;
pub(crate) mod filter;
pub(crate) mod guard;

use core::fmt;
use core::time::Duration;
use std::panic;
use std::sync::Arc;

use log::LevelFilter;

use crate::error::Error;
use crate::frame::Writer;
use crate::frame::texts::MaybeStatic;
use crate::level::Level;
use crate::pipeline::builder::Builder;
use crate::queue::of_thread;
use crate::shared::{Alive, Shared};

/// How long the flush of [`log::Log::flush`] and its like waits, which have no say in it.
pub(crate) const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// A handle to the pipeline, by which records are logged. Clones are handles to the same one.
///
/// # Guarantees
///
/// The records of a thread are written in the order in which it logged them. Those of different threads
/// are written as they arrive, each with its own time; [`Builder::by_time`] sorts them.
///
/// When a record has been logged, a [`flush`](Self::flush) that begins later has it written.
///
/// # Cost
///
/// A call reads the counter, copies the record's parts into a buffer of its thread (of the program's own texts
/// it notes a number), and that into the thread's queue. It allocates for a thread's first record, and for one
/// longer than any before, or than 64 KiB; so does the first call within a call. It makes a system call if
/// nothing has been logged for a second, and if its queue is full.
///
/// The back end sleeps for 50 µs to 5 ms between rounds, and looks up four times a second if there was
/// nothing to do for a second.
///
/// # Examples
///
/// See the [crate](crate).
#[derive(Clone)]
pub struct Pipeline {
    pub(crate) shared: Arc<Shared>,
    /// Behind `shared`'s back: the back end has that too.
    _alive: Arc<Alive>,
}

impl Pipeline {
    /// Sets up a pipeline.
    ///
    /// # Examples
    ///
    /// ```
    /// let (pipeline, _guard) = tach_pipeline::Pipeline::builder().build()?;
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    pub fn builder() -> Builder {
        Builder::new()
    }

    fn new(shared: Arc<Shared>) -> Self {
        Self { _alive: Arc::new(Alive(Arc::clone(&shared))), shared }
    }

    /// Makes this the logger of `log`, with the filter's most verbose level as the maximum.
    ///
    /// # Errors
    ///
    /// If `log` has a logger already.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let (pipeline, _guard) = Pipeline::builder().build()?;
    /// pipeline.set_logger()?;
    /// log::info!("ready");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "log")]
    pub fn set_logger(&self) -> Result<(), log::SetLoggerError> {
        log::set_boxed_logger(Box::new(self.clone()))?;
        log::set_max_level(self.max_level());
        Ok(())
    }

    /// The most verbose level that is logged, for [`log::set_max_level`].
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let (pipeline, _guard) = Pipeline::builder().filter("warn,app=debug").build()?;
    /// assert_eq!(pipeline.max_level(), log::LevelFilter::Debug);
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn max_level(&self) -> LevelFilter {
        self.shared.filters.most()
    }

    /// Goes by another filter from now on, as [`Builder::filter`] describes it.
    ///
    /// [`log::max_level`] and what `tracing` has cached stay as they are: see to it that they let pass what
    /// the filter should see.
    ///
    /// # Errors
    ///
    /// If the filter can't be understood. Then the one before stays.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let (pipeline, _guard) = Pipeline::builder().filter("info").build()?;
    /// pipeline.set_filter("info,app::db=trace")?;
    /// log::set_max_level(pipeline.max_level());
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    pub fn set_filter(&self, directives: &str) -> Result<(), Error> {
        self.shared.filters.set(directives)
    }

    /// Has everything written that was logged before, and the sinks flushed.
    ///
    /// # Errors
    ///
    /// If that is not done within `timeout`, if a sink failed, or in a process that was forked from the
    /// one of the pipeline. Called by a sink, it never waits.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use tach_pipeline::Pipeline;
    ///
    /// let (pipeline, _guard) = Pipeline::builder().build()?;
    /// pipeline.flush(Duration::from_secs(1))?;
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    pub fn flush(&self, timeout: Duration) -> Result<(), Error> {
        self.shared.flush(timeout)
    }

    /// Has the back end open its files anew, as it should after another program has moved them away.
    ///
    /// It only sets a number, and so may be called in a signal handler. Files that can't be opened are
    /// reported on stderr, and the old ones are kept. A [`flush`](Self::flush) that begins later
    /// returns after the files have been opened.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let (pipeline, _guard) = Pipeline::builder().build()?;
    /// pipeline.reopen();
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    pub fn reopen(&self) {
        self.shared.reopen();
    }

    /// Has every panic followed by a flush of that length at most: of those that end a thread or the
    /// process, and of those that are caught. The panic hook from before is called first.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use tach_pipeline::Pipeline;
    ///
    /// let (pipeline, _guard) = Pipeline::builder().build()?;
    /// pipeline.flush_on_panic(Duration::from_secs(1));
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    pub fn flush_on_panic(&self, timeout: Duration) {
        let before = panic::take_hook();
        let shared = Arc::downgrade(&self.shared);
        panic::set_hook(Box::new(move |info| {
            before(info);
            if let Some(shared) = shared.upgrade() {
                let _too_late_to_tell = shared.flush(timeout);
            }
        }));
    }

    /// Logs what `write` encodes.
    #[inline]
    pub(crate) fn log_with(
        &self,
        level: Level,
        target: MaybeStatic<'_>,
        write: impl FnOnce(&mut Writer<'_>),
    ) {
        let time = self.shared.time();
        of_thread::log(&self.shared, |scratch| {
            let mut record = Writer::begin(scratch, time, level, target);
            write(&mut record);
            record.end();
        });
    }
}

impl fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pipeline").field("max_level", &self.max_level()).finish_non_exhaustive()
    }
}
