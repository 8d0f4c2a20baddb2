//! Trust: whether ticks come from the CPU's counter or from the OS clock, and why.
//!
//! At the first read, `choice` collects the evidence of the CPU, of the kernel and, by `request`,
//! of the user. `verdict`, which is pure, weighs the evidence, and `choice` publishes the verdict.
//! The verdict changes only if the counter fails later; then `domain` makes the ticks continue.

mod choice;
mod domain;
mod reason;
mod request;
mod verdict;

pub(crate) use self::choice::{BARE, Choice, Chosen, ORDERED, Request, verdict_under};
pub(crate) use self::domain::after_failure;
pub(crate) use self::reason::Cause;
pub use self::reason::Reason;
pub(crate) use self::request::{ORDER, SOURCE};
pub(crate) use self::verdict::{Mode, Verdict};

/// The clock that ticks come from.
///
/// The counter is used only if the kernel itself trusts it or, where the kernel's files can't be
/// read (a sandbox), if the CPU calls it invariant. [`status`](crate::status()) reports the choice
/// and its reason. If the kernel changes its mind or the counter fails, ticks continue from the
/// OS's.
///
/// Three settings override the choice: `TACH_SOURCE=os` (or `counter`) in the environment,
/// [`Config::force_source`](crate::Config::force_source), or a build with `--cfg tach_source="os"`.
///
/// # Platforms
///
/// | target | ticks | tested (`cargo xtask cross`) |
/// |---|---|---|
/// | Linux `x86_64`, `i686` | TSC | run natively |
/// | Linux `aarch64` | `CNTVCT_EL0`, or `CNTVCTSS_EL0` where the CPU has it | run under qemu |
/// | Linux `riscv64` | `time` | run under qemu |
/// | Linux `loongarch64` | the stable counter | run under qemu |
/// | other Linux | the OS clock | run under qemu on `s390x` |
/// | other Unix, Android | the OS clock | not |
/// | Windows `x86_64` | TSC if the system's clock reads it; otherwise that clock | run under wine |
/// | Windows `aarch64` | `QueryPerformanceCounter` | checked |
/// | macOS | `mach_absolute_time` | checked |
/// | Apple's other systems | `mach_absolute_time` | not |
/// | FreeBSD `x86_64` | TSC if it is the kernel's timecounter; otherwise the OS clock | checked |
/// | Windows and FreeBSD, `i686` | as on `x86_64` | not |
/// | `wasm32-unknown-unknown` | `performance.now()` | run in Node, Chromium |
/// | `wasm32v1-none` | `performance.now()` | run in Node |
/// | `wasm32-wasip1` | the standard library's clock | run in Node's WASI |
/// | `wasm32-wasip2` | the standard library's clock | run[^p2] |
/// | `wasm32-unknown-emscripten` | emscripten's OS clock | run[^em] |
/// | Miri | the standard library's clock; Unix time needs `-Zmiri-disable-isolation` | `cargo xtask miri` |
/// | no OS (`no_std`, 64-bit atomics) | a clock that [`supply_clock!`](crate::supply_clock) names | linked |
///
/// "Checked" means by `cargo check`, which generates no code. Elsewhere, as on UEFI, ticks come
/// from the standard library's clock, or, without `std`, from that of `supply_clock!`. A target
/// needs 64-bit atomics, which some 32-bit targets lack: `powerpc`, `mips`, `thumbv7em`.
///
/// [^p2]: In wasmtime, with a C library that is linked to an adapter of preview 1.
///
/// [^em]: In Node, with functions of the tests in place of emscripten 3.1's clocks.
///
/// # Examples
///
/// ```
/// if tach_core::status().source == tach_core::Source::Counter {
///     println!("a read costs one instruction");
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Source {
    /// The CPU's counter: the TSC on x86.
    Counter,
    /// The OS's monotonic clock, whose ticks are nanoseconds.
    Os,
}

impl Source {
    /// Returns `counter` or `os`, for a metrics label; later versions may add names.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(tach_core::Source::Os.as_str(), "os");
    /// ```
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Os => "os",
        }
    }
}

/// How [`MonotonicInstant`](crate::MonotonicInstant) keeps its order across threads.
///
/// With `TACH_ORDER=enforced` in the environment, or `Config::enforce_order`, it trusts no counter
/// across CPUs.
///
/// # Examples
///
/// ```
/// println!("{:?}", tach_core::status().order);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Order {
    /// The read waits for earlier loads, and the kernel trusts the counter on all CPUs. Threads
    /// share nothing.
    OrderedRead,
    /// Every read raises a maximum that all threads share: where the kernel's verdict is unknown,
    /// where ticks come from the OS clock, after a failure of the counter, a suspend or a restore,
    /// and where `TACH_ORDER=enforced` or
    /// [`Config::enforce_order`](crate::Config::enforce_order) request it.
    Enforced,
}
