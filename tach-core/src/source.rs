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
