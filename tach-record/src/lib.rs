//! Records of a log as words, in a queue for each thread: the lower half of tach-pipeline, for
//! whoever writes a pipeline of their own.
//!
//! A record is a sequence of words with the raw values of a call. A call writes it into the
//! [`Scratch`](frame::Scratch) of its thread, and copies it into the thread's queue of a
//! [`Channel`](channel::Channel), without a lock, a system call or (after the first) an allocation.
//! One thread, the back end, takes the bytes of all [queues](queue::Queue) and reads each record as
//! a [`Frame`](frame::Frame) or as a [part of a span](frame::SpanPart). The crate knows neither the
//! loggers that write records nor the sinks that receive them.
//!
//! ```
//! use std::collections::VecDeque;
//! use std::sync::Arc;
//!
//! use tach_core::Instant;
//! use tach_record::channel::{Channel, current_thread};
//! use tach_record::frame::{self, Frame, MaybeStatic, Time, Writer};
//! use tach_record::level::Level;
//! use tach_record::queue::WhenFull;
//! use tach_record::queue::all::Changes;
//!
//! // Before the first call.
//! frame::set_up();
//! let channel = Arc::new(Channel::in_file(64 * 1024, WhenFull::Block, None));
//! // A call.
//! let now = Time::Ticks(Instant::now());
//! let mut scratch = current_thread::take_scratch();
//! let mut record = Writer::begin(&mut scratch, now, Level::INFO, MaybeStatic::Static("app"));
//! record.message(format_args!("ready"));
//! record.end();
//! current_thread::push(&channel, scratch);
//! // The back end.
//! let (mut changes, mut bytes, mut long) = (Changes::default(), Vec::new(), VecDeque::new());
//! channel.queues.take_changes(&mut changes);
//! changes.new.iter().for_each(|queue| _ = queue.take(&mut bytes, &mut long));
//! let (record, _) = frame::split(&bytes).unwrap();
//! assert_eq!(Frame::read(record).unwrap().message, "ready");
//! ```
//!
//! # Guarantees
//!
//! - The back end reads a record that [`push`](channel::current_thread::push) has added once, in
//!   the order of its thread's records, also after the thread has ended.
//! - A full queue drops only what its [policy](queue::WhenFull) says, and counts it.
//! - Reading never panics, whatever the bytes are.
//!
//! The format of records is that of one version of the crate: write and read them by the same one.

#![expect(
    missing_debug_implementations,
    clippy::must_use_candidate,
    clippy::new_without_default,
    clippy::return_self_not_must_use,
    reason = "records may hold secrets, so their memory prints nothing; the readers of bytes return \
              what they read, and nothing else"
)]

pub mod channel;
pub mod counts;
pub mod frame;
pub mod host;
pub mod ids;
pub mod keep;
pub mod level;
pub mod queue;
pub mod sync;

/// The example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
