//! Why ticks come from their source.

use core::fmt;

/// The reason for the choice of [`Source`](crate::Source). Its `Display` is one line for a person.
///
/// # Examples
///
/// ```
/// println!("{}", tach_core::status().reason);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Reason(pub(crate) Cause);

/// Defines [`Cause`] from a table: each case, its code and its text.
macro_rules! causes {
    ($($Cause:ident, $code:literal, $text:literal;)*) => {
        /// The cases of a [`Reason`], whose codes [`Reason::as_str`] explains.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub(crate) enum Cause {
            $($Cause),*
        }

        impl Cause {
            /// Every cause, at the index of its discriminant.
            pub(super) const ALL: [Self; [$($code),*].len()] = [$(Self::$Cause),*];

            const fn code(self) -> &'static str {
                match self {
                    $(Self::$Cause => $code),*
                }
            }

            const fn text(self) -> &'static str {
                match self {
                    $(Self::$Cause => $text),*
                }
            }
        }
    };
}

causes! {
    KernelUsesCounter, "kernel-uses-counter", "the kernel keeps its own time with the counter";
    KernelClockBuiltOnCounter, "kernel-clock-built-on-counter",
        "the kernel's clock is built on the counter";
    KernelVerdictUnknown, "kernel-verdict-unknown",
        "the counter is invariant, but the kernel's clocksource is unknown";
    KernelAvoidsCounter, "kernel-avoids-counter",
        "the kernel does not keep its time with the counter";
    CounterNotInvariant, "counter-not-invariant", "the CPU does not declare its counter invariant";
    CounterDisabled, "counter-disabled", "this process is not allowed to read the counter";
    NoCounter, "no-counter", "tach reads no counter on this target";
    Environment, "environment", "forced by the environment variable TACH_SOURCE";
    Call, "call", "forced by the program's Config";
    Build, "build", "forced by the build's --cfg tach_source";
    KernelLeftCounter, "kernel-left-counter",
        "the kernel no longer keeps its time with the counter";
    CounterRegressed, "counter-regressed", "the counter went back";
    CounterStopped, "counter-stopped", "the counter stopped";
    NoMonotonicClock, "no-monotonic-clock", "the host's only clock can be set";
    OsClockRegressed, "os-clock-regressed", "the OS's monotonic clock went back";
    OsClockSlowed, "os-clock-slowed", "reading the OS clock became as slow as a system call";
    CounterNearEnd, "counter-near-end", "the counter is near its greatest value";
}

impl Reason {
    /// Returns a short code, for a metrics label. A code never changes; later versions may add
    /// codes.
    ///
    /// - `kernel-uses-counter`: The kernel keeps its own time with the counter.
    /// - `kernel-clock-built-on-counter`: The kernel uses a paravirtual clock that is built on the
    ///   counter.
    /// - `kernel-verdict-unknown`: The kernel's clocksource can't be read. The CPU declares the
    ///   counter invariant.
    /// - `kernel-avoids-counter`: The kernel uses another clock, although it knows the counter.
    /// - `counter-not-invariant`: The CPU does not promise that the counter runs at one rate.
    /// - `counter-disabled`: This process is not allowed to read the counter (`PR_SET_TSC`).
    /// - `no-counter`: tach reads no counter on this target.
    /// - `environment`: `TACH_SOURCE` asked for it.
    /// - `call`: [`Config::force_source`](crate::Config::force_source) asked for it.
    /// - `build`: The crate was built with `--cfg tach_source="os"`.
    /// - `kernel-left-counter`: The kernel kept its time with the counter, but no longer does.
    /// - `counter-regressed`: The counter went back.
    /// - `counter-stopped`: The counter stood still.
    /// - `no-monotonic-clock`: tach reads no counter on this target, and the host's only clock can
    ///   be set: a JavaScript host without `performance`. tach keeps the ticks from going back.
    /// - `os-clock-regressed`: The OS's monotonic clock was the source and went back: in another
    ///   time namespace, for example.
    /// - `os-clock-slowed`: Reading the OS clock took four times as long as before, more than 600
    ///   ns, and much longer than reading the counter, as it does when the kernel no longer keeps
    ///   its time with the counter.
    /// - `counter-near-end`: The counter was so high at the first read that it could pass its
    ///   greatest value while the process runs.
    ///
    /// # Examples
    ///
    /// ```
    /// let reason = tach_core::status().reason;
    /// println!("tach_source_info{{reason=\"{}\"}} 1", reason.as_str());
    /// ```
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0.code()
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.text())
    }
}

impl fmt::Debug for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Reason").field(&self.as_str()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_reason_has_a_line_of_its_own_and_debug_shows_the_code() {
        let lines: BTreeSet<_> = Cause::ALL.map(|cause| Reason(cause).to_string()).into();
        assert_eq!(lines.len(), Cause::ALL.len());
        assert!(lines.iter().all(|line| line.contains(' ') && !line.contains('\n')), "{lines:?}");
        let reason = Reason(Cause::KernelUsesCounter);
        assert_eq!(format!("{reason:?}"), format!("Reason({:?})", reason.as_str()));
    }

    #[test]
    fn the_codes_are_distinct_and_fit_a_label() {
        let codes: BTreeSet<_> = Cause::ALL.map(|cause| Reason(cause).as_str()).into();
        assert_eq!(codes.len(), Cause::ALL.len());
        for code in codes {
            assert!(code.bytes().all(|byte| byte == b'-' || byte.is_ascii_lowercase()), "{code}");
        }
    }
}
