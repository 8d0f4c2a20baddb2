//! A logger whose calls do next to nothing: `log`, `slog` and `tracing` on one thread that writes.
//!
//! A call puts the tick and the raw parts of a record into a queue of its thread, without an allocation, a
//! lock or a system call. The [`Pipeline`]'s thread converts the ticks, formats the records, and writes
//! many at a time.
//!
//! ```
//! use tach_log::Json;
//! use tach_pipeline::{Pipeline, Sink};
//!
//! let (pipeline, _guard) = Pipeline::builder()
//!     .sink(Sink::stderr().format(Json::new()))
//!     .filter("info,app::db=debug")
//!     .build()?;
//! pipeline.set_logger()?;
//! log::info!(port = 3000; "ready");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ```text
//!  a call: log::info!, slog::info!, tracing::info!                          (front/)
//!     │  filter by level and target; read the counter
//!     ▼
//!  a record as words: tick, target, message, raw fields                     (frame/)
//!     │  copied into the queue of the calling thread
//!     ▼
//!  one queue a thread ··· one queue a thread ··· one queue a thread         (queue/)
//!     │  polled: every 50 µs to 5 ms, or when a flush or a full queue wakes
//!     ▼
//!  the back end, one thread: tick to Unix time, order by time if asked for  (back_end/)
//!     │  to each sink that the record's level passes
//!     ▼
//!  a sink: a format's bytes, gathered to 64 KiB ──▶ a file, a stream, a writer  (sink/)
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
//!   ([`WhenFull`]); what is dropped is counted in a record of target `tach_pipeline`.
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
//! use tach_pipeline::Pipeline;
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

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(all(feature = "log", feature = "slog", feature = "tracing")),
    allow(dead_code, reason = "each front end has parts that no other one calls")
)]

mod back_end;
mod error;
mod frame;
mod front;
mod level;
mod pipeline;
mod queue;
mod report;
mod shared;
mod sink;

pub use crate::error::Error;
pub use crate::pipeline::Pipeline;
pub use crate::pipeline::builder::Builder;
pub use crate::pipeline::guard::Guard;
pub use crate::queue::WhenFull;
pub use crate::sink::{Journal, Sink};

/// The example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
