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

/// The cases of a [`Reason`], whose codes [`Reason::as_str`] explains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Cause {
    KernelUsesCounter,
    KernelClockBuiltOnCounter,
    KernelVerdictUnknown,
    KernelAvoidsCounter,
    CounterNotInvariant,
    CounterDisabled,
    NoCounter,
    Environment,
    Call,
    Build,
    KernelLeftCounter,
    CounterRegressed,
    CounterStopped,
    NoMonotonicClock,
    OsClockRegressed,
    OsClockSlowed,
    CounterNearEnd,
}

impl Cause {
    /// Every cause, at the index of its discriminant.
    pub(super) const ALL: [Self; 17] = [
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
        Self::OsClockSlowed,
        Self::CounterNearEnd,
    ];
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
    /// - `os-clock-slowed`: Reading the OS clock took four times as long as before, and more than
    ///   600 ns, as it does when the kernel no longer keeps its time with the counter.
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
        match self.0 {
            Cause::KernelUsesCounter => "kernel-uses-counter",
            Cause::KernelClockBuiltOnCounter => "kernel-clock-built-on-counter",
            Cause::KernelVerdictUnknown => "kernel-verdict-unknown",
            Cause::KernelAvoidsCounter => "kernel-avoids-counter",
            Cause::CounterNotInvariant => "counter-not-invariant",
            Cause::CounterDisabled => "counter-disabled",
            Cause::NoCounter => "no-counter",
            Cause::Environment => "environment",
            Cause::Call => "call",
            Cause::Build => "build",
            Cause::KernelLeftCounter => "kernel-left-counter",
            Cause::CounterRegressed => "counter-regressed",
            Cause::CounterStopped => "counter-stopped",
            Cause::NoMonotonicClock => "no-monotonic-clock",
            Cause::OsClockRegressed => "os-clock-regressed",
            Cause::OsClockSlowed => "os-clock-slowed",
            Cause::CounterNearEnd => "counter-near-end",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Cause::KernelUsesCounter => "the kernel keeps its own time with the counter",
            Cause::KernelClockBuiltOnCounter => "the kernel's clock is built on the counter",
            Cause::KernelVerdictUnknown => {
                "the counter is invariant, but the kernel's clocksource is unknown"
            }
            Cause::KernelAvoidsCounter => "the kernel does not keep its time with the counter",
            Cause::CounterNotInvariant => "the CPU does not declare its counter invariant",
            Cause::CounterDisabled => "this process is not allowed to read the counter",
            Cause::NoCounter => "tach reads no counter on this target",
            Cause::Environment => "forced by the environment variable TACH_SOURCE",
            Cause::Call => "forced by the program's Config",
            Cause::Build => "forced by the build's --cfg tach_source",
            Cause::KernelLeftCounter => "the kernel no longer keeps its time with the counter",
            Cause::CounterRegressed => "the counter went back",
            Cause::CounterStopped => "the counter stopped",
            Cause::NoMonotonicClock => "the host's only clock can be set",
            Cause::OsClockRegressed => "the OS's monotonic clock went back",
            Cause::OsClockSlowed => "reading the OS clock became as slow as a system call",
            Cause::CounterNearEnd => "the counter is near its greatest value",
        })
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
