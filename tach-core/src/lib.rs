//! The clock under Rust telemetry.
//!
//! `tach-core` reads the CPU's counter (the TSC on x86) and converts its ticks to durations and to
//! Unix time. A read is as cheap as the instruction. Reads also discipline the conversion against
//! the OS clock, so it neither drifts nor needs a thread.
//!
//! ```
//! use tach_core::{Instant, UnixTime};
//!
//! let start = Instant::now();
//! let time = UnixTime::now();
//! println!("{time} took {:?}", start.elapsed());
//! ```
//!
//! # Why
//!
//! - **Cheap.** A read is the counter's instruction and three predicted branches. The OS's clock
//!   adds a call and a conversion. Here the conversion waits until a duration or a Unix time is
//!   needed.
//! - **True.** A counter whose rate is measured once drifts from the OS's clock for as long as the
//!   process runs. Here reads compare the two every 50 ms of use, so conversions follow NTP,
//!   suspends and steps.
//! - **Safe.** The counter is used only where the kernel itself trusts it, or, where the kernel
//!   can't be asked, the CPU calls it invariant. If the kernel changes its mind, or the counter
//!   fails, ticks continue from the OS's clock.
//! - **In order.** [`MonotonicInstant`] never goes back between threads, and needs no shared write
//!   on a trusted counter.
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
//! | a timestamp for a log, a span, a file | [`UnixTime`], [`unix_nanos`] |
//! | to read far more often than the time must change | `coarse::now`, `coarse::unix_time` |
//! | timestamps that no step of the clock distorts | [`Anchor`] |
//! | one time for everything written about an event | `event_time` |
//! | timestamps that are never equal | [`IncreasingClock`] |
//! | to measure the CPU time of a thread | [`ThreadCpuInstant`] |
//! | to measure the time that is left | [`Budget`] |
//! | to test code that depends on time | [`Clock`], [`ManualClock`] |
//!
//! The promises of the types that are read:
//!
//! | | [`Instant`] | [`OrderedInstant`] | [`MonotonicInstant`] | [`UnixTime`] |
//! |---|---|---|---|---|
//! | order on one thread | yes | yes | yes | unless the OS clock is set back |
//! | order between threads | no | where the kernel trusts the counter | always | no |
//! | cost | the bare read | an ordered read | an ordered read | a bare read, a multiplication |
//! | shared write | none | none | none on a trusted counter | none |
//!
//! # What it costs
//!
//! `tach doctor` (package tach-cli) measures reads on your machine, beside std's.
//!
//! - A read is the instruction. Once in 50 ms of use, it also samples the OS's clock.
//! - The first conversion of a process spins for some tens of microseconds to measure the rate.
//! - Nothing allocates, locks or waits. After the first read, no read makes a system call, unless
//!   reading the OS's clock is one.
//! - The state of the process is 17 kB of statics, and 8 kB more if it uses [`BootInstant`]. There
//!   is no thread.
//!
//! # What can go wrong
//!
//! - Instants of different threads are out of order by some nanoseconds: use [`MonotonicInstant`].
//! - Unix time goes back because the wall clock was set back. [`Config::hold_backward_steps`] makes
//!   it wait for the wall clock instead, if the step is a minute or less. An [`Anchor`] ignores
//!   steps.
//! - The counter is not used on this host: [`status()`] prints the reason. Reads then cost as much
//!   as the OS's clock.
//! - A tick was stored, or sent to another process. Ticks mean something only in the process that
//!   read them: store a [`UnixTime`].
//! - A counter of 3 GHz reaches 97 years from the machine's start, in both directions. Beyond,
//!   `checked_add` and `checked_sub` are `None`, and `+` and `-` the farthest instant.
//! - Two CPUs' counters differ without any sign, which no kernel that trusts them notices either:
//!   enforce the order.
//! - A process that never reads the time learns of a step only at its next read: [`Recalibrator`]
//!   (feature `recalibrator`) or [`sync`].
//!
//! # Comparison
//!
//! | | tach-core | std | quanta 0.12 | minstant 0.1 |
//! |---|---|---|---|---|
//! | reads the counter | see [platforms](#platforms) | through the OS | on `x86_64` | Linux, x86 |
//! | trusts it if | the kernel does | | the CPU says it is invariant | the kernel lists it |
//! | takes its rate | all the time | | once, at first use | once, before `main` |
//! | order between threads | `MonotonicInstant` | yes | not promised | not promised |
//! | Unix time | `UnixTime`, with its error | `SystemTime` | | from an anchor |
//! | a clock for tests | [`ManualClock`] | | a mock | |
//! | `no_std` | yes | | | |
//!
//! fastant is minstant's fork, and also trusts a counter that the CPU alone calls invariant.
//!
//! # Exactness of sums
//!
//! An instant is a tick, and a tick is not a nanosecond. Addition chooses the tick that preserves
//! the nanoseconds:
//!
//! - `(a + d) - a == d` exactly, if a tick lasts a nanosecond or less and the clock is not
//!   disciplined between the two operations. If it is, the difference is `d` to within the
//!   resulting slew and one tick.
//! - `(a + d) - d` is within a tick of `a`, or within a nanosecond where two segments of the
//!   timeline meet.
//! - Differences are rounded down. Therefore consecutive differences may add up to a nanosecond
//!   less than the whole.
//!
//! # Source of the ticks
//!
//! The counter is used only if the kernel itself trusts it or, where the kernel's files can't be
//! read (a sandbox), if the CPU calls it invariant. [`status()`] reports the choice and its reason.
//! A frequency that the CPU declares is a first guess, which the first samples must confirm. From
//! then on the rate is measured.
//!
//! Three settings override the choice: `TACH_SOURCE=os` (or `counter`) in the environment,
//! [`Config::force_source`], or a build with `--cfg tach_source="os"`. With `TACH_ORDER=enforced`
//! or [`Config::enforce_order`], [`MonotonicInstant`] trusts no counter across CPUs.
//!
//! A process with privileges that its caller lacks, such as a set-user-ID program, reads no
//! variable, here and in all other crates of tach, unless it installs a [`Config`] with
//! `trust_environment`.
//!
//! # Platforms
//!
//! | target | ticks | tested (`cargo xtask cross`) |
//! |---|---|---|
//! | Linux `x86_64` | TSC | run natively, in a virtual machine |
//! | Linux `i686` | TSC | run natively, in a virtual machine |
//! | Linux `aarch64` | `CNTVCT_EL0`, or `CNTVCTSS_EL0` where the CPU has it | run under qemu |
//! | Linux `riscv64` | `time` | run under qemu |
//! | Linux `loongarch64` | the stable counter | run under qemu |
//! | other Linux | the OS clock | run under qemu on `s390x` |
//! | other Unix, Android | the OS clock | not |
//! | Windows `x86_64` | TSC if the system's clock reads it; otherwise that clock | run under wine |
//! | Windows `aarch64` | `QueryPerformanceCounter` | checked |
//! | macOS | `mach_absolute_time` | checked |
//! | Apple's other systems | `mach_absolute_time` | not |
//! | FreeBSD `x86_64` | TSC if it is the kernel's timecounter; otherwise the OS clock | checked |
//! | Windows and FreeBSD, `i686` | as on `x86_64` | not |
//! | `wasm32-unknown-unknown` | `performance.now()` | run in Node, Chromium (page, worker) |
//! | `wasm32v1-none` | `performance.now()` | run in Node |
//! | `wasm32-wasip1` | the standard library's clock | run in Node's WASI |
//! | `wasm32-wasip2` | the standard library's clock | run[^p2] |
//! | `wasm32-unknown-emscripten` | emscripten's OS clock | run[^em] |
//! | Miri | the standard library's clock; Unix time needs `-Zmiri-disable-isolation` | `cargo xtask miri`, where Miri is |
//! | no OS (`no_std`, 64-bit atomics) | a clock that [`supply_clock!`] names | linked |
//!
//! "Checked" means by `cargo check`, which generates no code. Elsewhere, as on UEFI, ticks
//! come from the standard library's clock, or, without `std`, from that of [`supply_clock!`].
//!
//! A target needs 64-bit atomics, which some 32-bit targets lack: `powerpc`, `mips`, `thumbv7em`.
//!
//! [^p2]: In wasmtime, with a C library that is linked to an adapter of preview 1.
//!
//! [^em]: In Node, with functions of the tests in place of emscripten 3.1's clocks.
//!
//! # Features
//!
//! - `std` (default): conversions from and to `std::time`, `TACH_SOURCE` and `TACH_ORDER`,
//!   [`ManualClock`], `event_time`, and a per-thread cache for formatted timestamps.
//!   Without it the crate is `no_std`. No read and no conversion allocates,
//!   except for the first read of a process that has one of those variables set.
//! - `recalibrator` (implies `std`): [`Recalibrator`], a thread that samples the OS clocks at an
//!   interval, so that a process that rarely reads the clock notices a step in time.
//! - `serde`: `Serialize` and `Deserialize` for [`UnixTime`], as RFC 3339 text in human-readable
//!   formats, as nanoseconds in others.
//! - `jiff02`, `jiff1`: conversions between [`UnixTime`] and `jiff::Timestamp`, of jiff 0.2 and of
//!   jiff 1.
//! - `local-time` (implies `std` and `jiff02`): the system's time zone, for tach's formats and
//!   timers.
//! - `prost`: conversions between [`UnixTime`] and `prost_types::Timestamp`. It needs `alloc`.
//! - `thread-cpu`: [`ThreadCpuInstant`], the CPU time of the current thread.
//! - `coarse` (implies `std`): [`coarse`](mod@coarse), a clock whose read is one load of the time
//!   that a thread publishes at an interval.

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
