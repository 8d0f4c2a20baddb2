//! Records of a log as words, in a queue for each thread: the lower half of tach-pipeline, for
//! whoever writes a pipeline of their own.
//!
//! A record is a sequence of words with the raw values of a call. A call writes it into a
//! [`Scratch`](frame::Scratch), and copies it into the [`Sender`](queue::Sender) of its thread,
//! without a lock, a system call or (after the first) an allocation. One reader takes the bytes of
//! all [queues](queue::all::Queues) and reads each record as a [`Frame`](frame::Frame) or as a
//! [part of a span](frame::SpanPart). The crate knows neither the loggers that write records nor
//! the sinks that receive them.
//!
//! ```
//! use std::collections::VecDeque;
//!
//! use tach_core::Instant;
//! use tach_record::frame::{self, Frame, MaybeStatic, Scratch, ThisThread, Time, Writer};
//! use tach_record::level::Level;
//! use tach_record::queue::all::{Changes, Queues};
//!
//! // Before the first call.
//! frame::set_up();
//! let queues = Queues::new(64 * 1024);
//! // A thread, and its call.
//! let mut sender = queues.new_queue(ThisThread::new());
//! let (mut scratch, now) = (Scratch::new(), Time::Ticks(Instant::now()));
//! let mut record = Writer::begin(&mut scratch, now, Level::INFO, MaybeStatic::Static("app"));
//! record.message(format_args!("ready"));
//! record.end();
//! assert!(sender.push(scratch.written()));
//! // The reader.
//! let (mut changes, mut bytes, mut long) = (Changes::default(), Vec::new(), VecDeque::new());
//! queues.take_changes(&mut changes);
//! changes.new[0].take(&mut bytes, &mut long);
//! let (record, _) = frame::split(&bytes).unwrap();
//! assert_eq!(Frame::read(record).unwrap().message, "ready");
//! ```
//!
//! # Guarantees
//!
//! - A record that [`Sender::push`](queue::Sender::push) has added is read once, in the order of its
//!   thread's records, also after the thread has ended.
//! - A queue that is full drops only what its [policy](queue::WhenFull) says, and counts it.
//! - Reading never panics, whatever the bytes are.
//!
//! The format of records is that of one version of the crate: write and read them by the same one.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![expect(
    missing_docs,
    missing_debug_implementations,
    clippy::must_use_candidate,
    clippy::new_without_default,
    clippy::return_self_not_must_use,
    reason = "the next commits take out what tach-pipeline does not need, and write the rest"
)]

pub mod counts;
pub mod frame;
pub mod host;
pub mod ids;
pub mod level;
pub mod queue;
pub mod sync;

/// The example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
