//! Trust: whether ticks come from the CPU's counter or from the OS clock, and why.
//!
//! At the first read, `choice` collects the evidence of the CPU, of the kernel and, by `request`,
//! of the user. `verdict`, which is pure, weighs the evidence, and `choice` publishes the verdict.
//! The verdict changes only if the counter fails later; then `domain` makes the ticks continue.

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

/// The clock that ticks come from.
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
    /// The OS's monotonic clock, whose ticks are nanoseconds.
    Os,
}

/// The reason for the choice of [`Source`]. Its `Display` is one line for a person.
///
/// # Examples
///
/// ```
/// println!("{}", tach_core::status().reason);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// The kernel keeps its own time with the counter.
    KernelUsesCounter,
    /// The kernel uses a paravirtual clock that is built on the counter.
    KernelClockBuiltOnCounter,
    /// The kernel's clocksource can't be read. The CPU declares the counter invariant.
    KernelVerdictUnknown,
    /// The kernel uses another clock, although it knows the counter.
    KernelAvoidsCounter,
    /// The CPU does not promise that the counter runs at one rate.
    CounterNotInvariant,
    /// This process is not allowed to read the counter (`PR_SET_TSC`).
    CounterDisabled,
    /// tach reads no counter on this target.
    NoCounter,
    /// `TACH_SOURCE` asked for it.
    Environment,
    /// [`force_source`](crate::force_source) asked for it.
    Call,
    /// The crate was built with `--cfg tach_source="os"`.
    Build,
    /// The kernel kept its time with the counter, but no longer does.
    KernelLeftCounter,
    /// The counter went back.
    CounterRegressed,
    /// The counter stood still.
    CounterStopped,
    /// tach reads no counter on this target, and the host's only clock can be set: a JavaScript
    /// host without `performance`. tach keeps the ticks from going back.
    NoMonotonicClock,
    /// The OS's monotonic clock was the source and went back: in another time namespace, for
    /// example.
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
            Self::KernelUsesCounter => "the kernel keeps its own time with the counter",
            Self::KernelClockBuiltOnCounter => "the kernel's clock is built on the counter",
            Self::KernelVerdictUnknown => {
                "the counter is invariant, but the kernel's clocksource is unknown"
            }
            Self::KernelAvoidsCounter => "the kernel does not keep its time with the counter",
            Self::CounterNotInvariant => "the CPU does not declare its counter invariant",
            Self::CounterDisabled => "this process is not allowed to read the counter",
            Self::NoCounter => "tach reads no counter on this target",
            Self::Environment => "forced by the environment variable TACH_SOURCE",
            Self::Call => "forced by a call to force_source",
            Self::Build => "forced by the build's --cfg tach_source",
            Self::KernelLeftCounter => "the kernel no longer keeps its time with the counter",
            Self::CounterRegressed => "the counter went back",
            Self::CounterStopped => "the counter stopped",
            Self::NoMonotonicClock => "the host's only clock can be set",
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
    /// The read waits for earlier loads, and the kernel trusts the counter on all CPUs. Threads
    /// share nothing.
    OrderedRead,
    /// Every read raises a maximum that all threads share. `TACH_ORDER=enforced` and
    /// [`enforce_order`](crate::enforce_order) request it.
    Enforced,
    /// The OS clock keeps the order.
    OsClock,
}
