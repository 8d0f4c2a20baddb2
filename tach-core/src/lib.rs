//! The clock under Rust telemetry.
//!
//! `tach-core` reads the CPU's counter (the TSC on x86) and knows at every moment what a tick
//! means in nanoseconds and in Unix time. Reading is as cheap as the instruction; the conversion is
//! disciplined against the OS clock on demand, so it neither drifts nor needs a thread.
//!
//! ```
//! use tach_core::{Instant, UnixTime};
//!
//! let start = Instant::now();
//! let stamp = UnixTime::now();
//! println!("{stamp} took {:?}", start.elapsed());
//! ```
//!
//! # Which type
//!
//! | you want | take |
//! |---|---|
//! | to time something on one thread | [`Instant`] |
//! | to compare instants of several threads | [`MonotonicInstant`] |
//! | the read to stay behind the loads before it | [`OrderedInstant`] |
//! | one instant that several threads write | [`AtomicInstant`] |
//! | a timestamp for a log, a span, a file | [`UnixTime`], [`unix_nanos`] |
//! | to read far more often than time need move | `coarse::now`, `coarse::unix_nanos` |
//! | timestamps that no clock step can bend | [`Anchor`] |
//! | one time for all that is written about an event | `event_time` |
//! | timestamps of which no two are equal | [`IncreasingClock`] |
//! | to know how much time is left | [`Budget`] |
//! | to test code that depends on time | [`Clock`], `ManualClock` |
//!
//! # What sums keep
//!
//! An instant is a tick, and ticks are not nanoseconds. Adding chooses the tick that keeps the
//! nanoseconds: `(a + d) - a == d` exactly, wherever a tick lasts a nanosecond or less and the clock is not
//! disciplined anew between the two operations; then it is `d` within the slew that this brings, and a
//! tick. `(a + d) - d` is within a tick of `a`; only where two segments of the timeline meet it may be a
//! nanosecond. Differences are rounded down, so those of neighbours may add up to a nanosecond less.
//!
//! # Where the ticks come from
//!
//! The counter is used only where the kernel itself trusts it; [`status`] says what was chosen and
//! why. A frequency that the CPU declares is a first guess that the first samples must bear out; the rate
//! is measured from then on. Setting `TACH_SOURCE=os` (or `counter`) in the environment, calling [`force_source`] before
//! the first read, or building with `--cfg tach_source="os"` overrides that choice.
//! `TACH_ORDER=enforced` or [`enforce_order`] has [`MonotonicInstant`] trust no counter across CPUs.
//!
//! # Platforms
//!
//! | target | ticks | how it is tested (`cargo xtask cross`) |
//! |---|---|---|
//! | Linux `x86_64` | TSC | run natively, in a virtual machine |
//! | Linux `i686` | TSC | run likewise |
//! | Linux `aarch64` | `CNTVCT_EL0`, or `CNTVCTSS_EL0` where the CPU has it | run under qemu |
//! | Linux `riscv64` | `time` | run under qemu |
//! | Linux `loongarch64` | the stable counter | run under qemu |
//! | other Linux | the OS clock | run under qemu on `s390x` |
//! | other Unix, Android | the OS clock | not |
//! | Windows `x86_64` | TSC where the system's own clock reads it, or that clock | run under wine |
//! | Windows `aarch64` | `QueryPerformanceCounter` | checked |
//! | macOS | `mach_absolute_time` | checked |
//! | Apple's other systems | the same | not |
//! | FreeBSD `x86_64` | TSC where the kernel's timecounter is that, or the OS clock | checked |
//! | Windows and FreeBSD, `i686` | as on `x86_64` | not |
//! | `wasm32-unknown-unknown` | `performance.now()` | run in Node, and in Chromium in a page and in a worker |
//! | `wasm32v1-none` | the same | run in Node |
//! | `wasm32-wasip1` | `clock_time_get` | run in Node's WASI |
//! | `wasm32-wasip2` | the standard library's clock; without `std`, as without an OS | run in wasmtime, with a C library that adapts preview 1's |
//! | `wasm32-unknown-emscripten` | the OS clock that it brings | run in Node, with functions of our own for emscripten 3.1's clocks |
//! | no OS (`no_std`, 64-bit atomics) | a clock that [`supply_clock!`] names | linked |
//!
//! "Checked" is what `cargo check` does: no code was made of it. On any other system, such as UEFI, the
//! ticks are those of the standard library's clock, or, without the feature `std`, of one that [`supply_clock!`] names.
//!
//! A target needs 64-bit atomics, which some of 32 bits lack: `powerpc`, `mips`, `thumbv7em`.
//!
//! # Features
//!
//! - `std` (default): conversions from and to `std::time`, `TACH_SOURCE` and `TACH_ORDER`,
//!   `ManualClock`, `event_time`, and a per-thread cache for formatted timestamps.
//!   Without it the crate is `no_std`. No read and no conversion allocates either way, but for the first
//!   read of a process in whose environment one of those variables is set.
//! - `recalibrator` (implies `std`): `Recalibrator`, a thread that samples the OS clocks at an
//!   interval, so that a process that reads no clock for long learns of a step in time.
//! - `serde`: `Serialize` and `Deserialize` for [`UnixTime`], as RFC 3339 text where people read the
//!   format, as nanoseconds elsewhere. It needs no `std`.
//! - `jiff`: conversions between [`UnixTime`] and `jiff::Timestamp`. It needs no `std`.
//! - `coarse` (implies `std`): `coarse`, a clock whose read is one load of what a thread publishes at
//!   an interval.

#![cfg_attr(not(any(test, feature = "std")), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(all(test, loom), allow(dead_code, unused_imports, reason = "the rest is not compiled"))]

#[cfg(feature = "std")]
extern crate std;

#[cfg(not(target_has_atomic = "64"))]
compile_error!(
    "tach-core keeps ticks and times in 64-bit atomics, which this target does not have"
);

mod sync;

#[doc(hidden)]
#[cfg(not(all(test, loom)))]
pub mod adapter;

// Loom's atomics can't stand in a static, so its models are compiled without the rest.
#[cfg(all(any(feature = "coarse", feature = "recalibrator"), not(all(test, loom))))]
mod background;
#[cfg(not(all(test, loom)))]
mod budget;
#[cfg(not(all(test, loom)))]
mod clock;
#[cfg(all(feature = "coarse", not(all(test, loom))))]
pub mod coarse;
#[cfg(not(all(test, loom)))]
mod conversions;
#[cfg(not(all(test, loom)))]
mod counter;
#[cfg(all(feature = "std", not(all(test, loom))))]
pub mod event_time;
#[cfg(not(all(test, loom)))]
mod instants;
#[cfg(not(all(test, loom)))]
mod line;
#[cfg(not(all(test, loom)))]
mod os;
#[cfg(not(all(test, loom)))]
mod sample;
#[cfg(not(all(test, loom)))]
mod source;
#[cfg(not(all(test, loom)))]
mod system;
#[cfg(not(all(test, loom)))]
mod text;
#[cfg(not(all(test, loom)))]
mod timeline;
#[cfg(not(all(test, loom)))]
mod unix_time;

#[cfg(not(all(test, loom)))]
pub use self::exports::*;

/// The public items.
#[cfg(not(all(test, loom)))]
mod exports {
    #[cfg(feature = "recalibrator")]
    pub use crate::background::Recalibrator;
    #[cfg(any(feature = "coarse", feature = "recalibrator"))]
    pub use crate::background::SpawnError;
    pub use crate::budget::{Budget, BudgetExhausted};
    #[cfg(feature = "std")]
    pub use crate::clock::ManualClock;
    pub use crate::clock::{Clock, IncreasingClock, SystemClock};
    pub use crate::instants::{AtomicInstant, Instant, MonotonicInstant, OrderedInstant};
    pub use crate::os::KernelClock;
    pub use crate::source::{ForceError, Order, Reason, Source};
    pub use crate::system::{
        Status, TimelineStatus, enforce_order, epoch, force_source, set_backward_step, status,
        sync, uptime,
    };
    pub use crate::timeline::BackwardStep;
    pub use crate::unix_time::{Anchor, BoundedTime, UnixTime, UnixTimeError, rfc3339, unix_nanos};
}

/// The example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
