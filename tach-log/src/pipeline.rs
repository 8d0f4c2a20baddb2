//! A logger whose calls do next to nothing: `log`, `slog` and `tracing` on one thread that writes.
//!
//! A call puts the tick and the raw parts of a record into a queue of its thread, without an allocation, a
//! lock or a system call. The [`Pipeline`]'s thread converts the ticks, formats the records, and writes
//! many at a time.
//!
//! ```
//! use tach_log::pipeline::{Format, Pipeline, Sink};
//!
//! let (pipeline, _guard) = Pipeline::builder()
//!     .sink(Sink::stderr().format(Format::Json))
//!     .filter("info,app::db=debug")
//!     .build()?;
//! pipeline.set_logger()?;
//! log::info!(port = 3000; "ready");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | front end | |
//! |---|---|
//! | `log` | [`Pipeline::set_logger`], or the [`Pipeline`] as a [`log::Log`] |
//! | `slog` | the [`Pipeline`] as a `slog::Drain`, with the feature `slog` |
//! | `tracing` | the [`Pipeline`] as a `Layer`, with the feature `tracing` |
//! | `tracing_subscriber::fmt` | the [`Pipeline`] as a `MakeWriter`, with the feature `tracing` |
//!
//! # What is lost, and when
//!
//! - As long as the process lives and the sinks work, nothing, unless a policy drops it
//!   ([`WhenFull`]); what is dropped is counted in a record of target `tach_log`.
//! - At the end of `main` the [`Guard`] has everything written. `std::process::exit` runs no guards:
//!   call [`Pipeline::flush`] before, or what was logged in the last moments is lost, at most what the
//!   queues hold. So it is with a signal that ends the process: handle it as [below](#signals).
//! - A panic in any thread is followed by a flush if [`Pipeline::flush_on_panic`] was called. With
//!   `panic = "abort"` nothing else is.
//! - `fork` copies no threads. The child writes none of what the parent logged, and nothing of its own
//!   through this pipeline, as stderr is told once; it can build one of its own.
//!
//! A call within a call (a value that logs when it is printed), within a sink, in a panic, or while a thread
//! ends is logged as any other. Calls on the pipeline's own thread never wait: when that one's queue is
//! full, the record is dropped and counted. A signal handler must not log.
//!
//! # Signals
//!
//! A handler may neither wait nor allocate. With the crate `signal-hook` a thread waits for the signal, has
//! everything written, and ends the process as the signal would have:
//!
//! ```no_run
//! # #[cfg(unix)]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::{thread, time::Duration};
//!
//! use signal_hook::consts::{SIGINT, SIGTERM};
//! use signal_hook::{iterator::Signals, low_level::emulate_default_handler};
//! use tach_log::pipeline::Pipeline;
//!
//! let (pipeline, _guard) = Pipeline::builder().build()?;
//! let mut signals = Signals::new([SIGINT, SIGTERM])?;
//! thread::spawn(move || {
//!     for signal in signals.forever() {
//!         if let Err(error) = pipeline.flush(Duration::from_secs(5)) {
//!             eprintln!("{error}");
//!         }
//!         let _ended = emulate_default_handler(signal);
//!     }
//! });
//! # Ok(())
//! # }
//! # #[cfg(not(unix))]
//! # fn main() {}
//! ```
//!
//! # Memory
//!
//! Each thread that logs has a queue of [`Builder::queue_bytes`], which goes to another thread when it ends,
//! and 5 KiB to 70 KiB to write a record in (4 KiB more with the feature `tracing`), with as much again for each
//! of four calls within a call. The process has 96 KiB for what it notes of the program's texts.
//! The back end holds what it took from the queues, as much again at most (for a long record as much as that,
//! until it is written), and for each sink 128 KiB of lines, or 1 MiB while the sink fails; with
//! [`Builder::by_time`] 16 MiB of records at most.
//!
//! # Static texts
//!
//! Targets, keys and messages that are `&'static str`, and the callsites of `tracing`, are noted by address, and
//! the texts are read as long as the process lives, also when other records are logged. A library that logs must
//! not be unloaded.

mod back_end;
mod builder;
mod error;
mod filter;
mod flush;
mod front;
mod guard;
mod interned;
mod level;
mod order;
mod process;
mod queue;
mod queues;
mod record;
mod report;
mod shared;
mod sinks;
mod text;
mod threads;
mod unlocked;
mod wake;

use core::fmt;
use core::time::Duration;
use std::panic;
use std::sync::Arc;

use log::LevelFilter;

pub use self::builder::Builder;
pub use self::error::Error;
#[cfg(feature = "tracing")]
pub use self::front::writer::LineWriter;
pub use self::guard::Guard;
use self::interned::MaybeStatic;
pub use self::queue::WhenFull;
use self::record::Encoder;
use self::shared::{Alive, Shared};
pub use self::sinks::{Format, Sink};

/// How long the flush of [`log::Log::flush`] and its like waits, which have no say in it.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

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
/// See the [module](self).
#[derive(Clone)]
pub struct Pipeline {
    shared: Arc<Shared>,
    /// Behind `shared`'s back: the back end has that too.
    _alive: Arc<Alive>,
}

impl Pipeline {
    /// Sets up a pipeline.
    ///
    /// # Examples
    ///
    /// ```
    /// let (pipeline, _guard) = tach_log::pipeline::Pipeline::builder().build()?;
    /// # Ok::<(), tach_log::pipeline::Error>(())
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
    /// use tach_log::pipeline::Pipeline;
    ///
    /// let (pipeline, _guard) = Pipeline::builder().build()?;
    /// pipeline.set_logger()?;
    /// log::info!("ready");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    /// use tach_log::pipeline::Pipeline;
    ///
    /// let (pipeline, _guard) = Pipeline::builder().filter("warn,app=debug").build()?;
    /// assert_eq!(pipeline.max_level(), log::LevelFilter::Debug);
    /// # Ok::<(), tach_log::pipeline::Error>(())
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
    /// use tach_log::pipeline::Pipeline;
    ///
    /// let (pipeline, _guard) = Pipeline::builder().filter("info").build()?;
    /// pipeline.set_filter("info,app::db=trace")?;
    /// log::set_max_level(pipeline.max_level());
    /// # Ok::<(), tach_log::pipeline::Error>(())
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
    /// use tach_log::pipeline::Pipeline;
    ///
    /// let (pipeline, _guard) = Pipeline::builder().build()?;
    /// pipeline.flush(Duration::from_secs(1))?;
    /// # Ok::<(), tach_log::pipeline::Error>(())
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
    /// use tach_log::pipeline::Pipeline;
    ///
    /// let (pipeline, _guard) = Pipeline::builder().build()?;
    /// pipeline.reopen();
    /// # Ok::<(), tach_log::pipeline::Error>(())
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
    /// use tach_log::pipeline::Pipeline;
    ///
    /// let (pipeline, _guard) = Pipeline::builder().build()?;
    /// pipeline.flush_on_panic(Duration::from_secs(1));
    /// # Ok::<(), tach_log::pipeline::Error>(())
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
    fn log_with(
        &self,
        level: level::Level,
        target: MaybeStatic<'_>,
        write: impl FnOnce(&mut Encoder<'_>),
    ) {
        let time = self.shared.time();
        threads::log(&self.shared, |scratch| {
            let mut record = Encoder::begin(scratch, time, level, target);
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
