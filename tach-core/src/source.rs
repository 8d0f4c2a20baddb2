//! Trust: whether ticks come from the CPU's counter or from the OS clock, and why.
//!
//! `verdict` weighs what the CPU, the kernel and the user say, and is pure. `choice` collects that
//! evidence at the first read, the user's by `request`, and publishes the verdict. That changes only if
//! the counter fails later on; then `domain` makes the ticks go on.

mod choice;
mod domain;
mod request;
mod verdict;

use core::fmt;

pub use self::choice::ForceError;
pub(crate) use self::choice::{
    Chosen, call_for_enforced_order, call_for_source, choose, choose_after, enforces_counter,
    kernel_left_counter, mode, moves, reads_counter, reads_self_ordered_counter, replace, tick_of,
};
pub(crate) use self::domain::after_failure;
pub(crate) use self::request::{ORDER, SOURCE};
pub(crate) use self::verdict::{Mode, Verdict};

/// Where ticks come from.
///
/// # Examples
///
/// ```
/// match tach_core::status().source {
///     tach_core::Source::Counter => println!("reading costs one instruction"),
///     tach_core::Source::Os => println!("reading costs a clock_gettime"),
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// The CPU's counter: the TSC on x86.
    Counter,
    /// The OS's monotonic clock; a tick is then a nanosecond.
    Os,
}

/// Why the ticks come from there. Its `Display` is one line for a person.
///
/// # Examples
///
/// ```
/// println!("{}", tach_core::status().reason);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// The kernel keeps its own time by the counter.
    KernelUsesCounter,
    /// The kernel uses a paravirtual clock that is itself built on the counter.
    KernelClockBuiltOnCounter,
    /// The kernel's verdict can't be read; the CPU says that the counter is invariant.
    KernelVerdictUnknown,
    /// The kernel uses another clock though it knows of the counter.
    KernelAvoidsCounter,
    /// The CPU does not promise that the counter runs at one rate.
    CounterNotInvariant,
    /// This process may not read the counter (`PR_SET_TSC`).
    CounterDisabled,
    /// tach reads no counter on this target.
    NoCounter,
    /// `TACH_SOURCE` asked for it.
    Environment,
    /// [`force_source`](crate::force_source) asked for it.
    Call,
    /// The crate was built with `--cfg tach_source="os"`.
    Build,
    /// The kernel kept its time by the counter, and has left it since.
    KernelLeftCounter,
    /// The counter went back.
    CounterRegressed,
    /// The counter stood still.
    CounterStopped,
    /// tach reads no counter on this target, and the host has no clock but one that may be set: a
    /// JavaScript host without `performance`. Ticks are kept from going back.
    NoMonotonicClock,
    /// The OS's monotonic clock, which gave the ticks, went back: in another time namespace, for example.
    OsClockRegressed,
}

impl Reason {
    /// Every reason, at the index of its discriminant.
    const ALL: [Self; 15] = [
        Self::KernelUsesCounter,
        Self::KernelClockBuiltOnCounter,
        Self::KernelVerdictUnknown,
        Self::KernelAvoidsCounter,
        Self::CounterNotInvariant,
        Self::CounterDisabled,
        Self::NoCounter,
        Self::Environment,
        Self::Call,
        Self::Build,
        Self::KernelLeftCounter,
        Self::CounterRegressed,
        Self::CounterStopped,
        Self::NoMonotonicClock,
        Self::OsClockRegressed,
    ];
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::KernelUsesCounter => "the kernel keeps its own time by the counter",
            Self::KernelClockBuiltOnCounter => "the kernel's clock is built on the counter",
            Self::KernelVerdictUnknown => {
                "the counter is invariant, the kernel's verdict is unknown"
            }
            Self::KernelAvoidsCounter => "the kernel does not keep its time by the counter",
            Self::CounterNotInvariant => "the CPU does not call its counter invariant",
            Self::CounterDisabled => "this process may not read the counter",
            Self::NoCounter => "no counter is read on this target",
            Self::Environment => "forced by the environment variable TACH_SOURCE",
            Self::Call => "forced by a call of force_source",
            Self::Build => "forced by the build's --cfg tach_source",
            Self::KernelLeftCounter => "the kernel has ceased to keep its time by the counter",
            Self::CounterRegressed => "the counter went back",
            Self::CounterStopped => "the counter stood still",
            Self::NoMonotonicClock => "the host has no clock but one that may be set",
            Self::OsClockRegressed => "the OS's monotonic clock went back",
        })
    }
}

/// How [`MonotonicInstant`](crate::MonotonicInstant) keeps its order across threads.
///
/// # Examples
///
/// ```
/// println!("{:?}", tach_core::status().order);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// The read waits for earlier loads, and the kernel trusts the counter on all CPUs. Nothing is
    /// shared between threads.
    OrderedRead,
    /// Every read raises a maximum that all threads share. `TACH_ORDER=enforced` and
    /// [`enforce_order`](crate::enforce_order) ask for it.
    Enforced,
    /// The OS clock gives the order.
    OsClock,
}
