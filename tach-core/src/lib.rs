//! The clock under Rust telemetry.
//!
//! `tach-core` reads the CPU's counter (the TSC on x86) and converts its ticks to durations and to
//! Unix time. A read is as cheap as the instruction. Reads also compare the counter with the OS clock
//! every 50 ms of use, so conversions follow NTP, suspends and steps without a thread.
//!
//! ```
//! use tach_core::{Instant, UnixTime};
//!
//! let start = Instant::now();
//! let time = UnixTime::now();
//! println!("{time} took {:?}", start.elapsed());
//! ```
//!
//! # Which type
//!
//! | you want | use |
//! |---|---|
//! | to time something on one thread | [`Instant`] |
//! | to compare instants across threads | [`MonotonicInstant`] |
//! | a read that stays behind earlier loads | [`OrderedInstant`] |
//! | an instant that several threads write | [`AtomicInstant`] |
//! | a time limit that a suspend must not extend | [`BootInstant`] |
//! | a timestamp | [`UnixTime`], [`unix_nanos`] |
//! | timestamps that no step of the clock distorts | [`Anchor`] |
//! | timestamps that are never equal | [`IncreasingClock`] |
//! | one time for all records of an event | `event_time` |
//! | to read more often than the time must change | `coarse::now` |
//! | the CPU time of a thread | [`ThreadCpuInstant`] |
//! | the time that is left | [`Budget`] |
//! | to test code that depends on time | [`Clock`], [`ManualClock`] |
//! | the source of the ticks: seen, by platform, forced | [`status()`], [`Source`], [`Config`] |
//! | to notice a step in an idle process | [`Recalibrator`], [`sync`] |
//!
//! | | [`Instant`] | [`OrderedInstant`] | [`MonotonicInstant`] | [`UnixTime`] |
//! |---|---|---|---|---|
//! | order on one thread | yes | yes | yes | unless the OS clock is set back |
//! | order between threads | no | where the kernel trusts the counter | always | no |
//! | cost | the bare read | an ordered read | an ordered read | a bare read, a multiplication |
//!
//! After the first of a process, no read or conversion allocates, locks or waits.
//!
//! # Features
//!
//! - `std` (default): `std::time`, variables of the environment, [`ManualClock`], `event_time`, and
//!   a cache for formatted timestamps. Without it the crate is `no_std`.
//! - `recalibrator`, `thread-cpu`, `coarse`: the types above.
//! - `serde`: [`UnixTime`] as RFC 3339 text in human-readable formats, as nanoseconds in others.
//! - `jiff02`, `jiff1`, `prost`: conversions to `jiff::Timestamp` and `prost_types::Timestamp`.
//! - `local-time`: the system's time zone, for tach's formats and timers.

#![cfg_attr(not(any(test, feature = "std")), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(all(feature = "coarse", feature = "recalibrator", feature = "thread-cpu")),
    allow(
        rustdoc::broken_intra_doc_links,
        reason = "the front page names items of features, and CI checks its links with all of them"
    )
)]

#[cfg(feature = "std")]
extern crate std;

#[cfg(not(target_has_atomic = "64"))]
compile_error!(
    "tach-core keeps ticks and times in 64-bit atomics, which this target does not have"
);

#[doc(hidden)]
pub mod adapter;
#[cfg(any(feature = "coarse", feature = "recalibrator"))]
mod background;
mod budget;
mod clock;
#[cfg(feature = "coarse")]
pub mod coarse;
mod conversions;
mod counter;
mod error;
#[cfg(feature = "std")]
pub mod event_time;
mod instants;
mod line;
#[cfg(feature = "local-time")]
mod local_time;
mod os;
mod sample;
mod source;
mod status;
mod sync;
mod system;
mod text;
#[cfg(feature = "thread-cpu")]
mod thread_cpu;
mod timeline;
mod unix_time;

#[cfg(feature = "recalibrator")]
pub use crate::background::Recalibrator;
pub use crate::budget::Budget;
#[cfg(feature = "std")]
pub use crate::clock::ManualClock;
pub use crate::clock::{Clock, IncreasingClock, SystemClock};
pub use crate::error::Error;
pub use crate::instants::{
    Anchor, AtomicInstant, BootInstant, Instant, MonotonicInstant, OrderedInstant, uptime,
};
pub use crate::os::KernelClock;
pub use crate::source::{Order, Reason, Source};
pub use crate::status::{Status, TimelineStatus, status};
pub use crate::system::{Config, disruptions, sync};
#[cfg(feature = "thread-cpu")]
pub use crate::thread_cpu::ThreadCpuInstant;
pub use crate::unix_time::{BoundedTime, Offset, UnixTime, unix_millis, unix_nanos, unix_seconds};

/// The example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
