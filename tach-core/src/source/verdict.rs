//! The verdict on the counter, from the evidence.

use super::{Cause, Order, Source};
use crate::counter::{Clocksources, Features, Fencing};
use crate::os::KernelView;

/// How ticks are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Mode {
    Undecided = 0,
    /// The OS clock. Strict order must be enforced: some kernels' clocks step back, or differ from
    /// CPU to CPU.
    Os = 1,
    /// The OS clock, in ticks of the counter that it replaced. Strict order must be enforced, since
    /// that counter may have been ahead.
    Replaced = 2,
    /// A counter that went back, moved to where it should be. Strict order must be enforced.
    Moved = 3,
    /// A counter on provisional trust. Strict order must be enforced.
    Enforced = 4,
    /// A trusted counter whose read needs a fence.
    Fenced = 5,
    /// A trusted counter with a self-ordered read.
    SelfOrdered = 6,
}

impl Mode {
    #[cfg(test)]
    pub(super) const ALL: [Self; 7] = [
        Self::Undecided,
        Self::Os,
        Self::Replaced,
        Self::Moved,
        Self::Enforced,
        Self::Fenced,
        Self::SelfOrdered,
    ];

    /// Returns the mode with this discriminant.
    pub(super) const fn of(bits: u64) -> Self {
        match bits {
            1 => Self::Os,
            2 => Self::Replaced,
            3 => Self::Moved,
            4 => Self::Enforced,
            5 => Self::Fenced,
            6 => Self::SelfOrdered,
            _ => Self::Undecided,
        }
    }

    pub(crate) const fn reads_counter(self) -> bool {
        self as u8 >= Self::Moved as u8
    }

    pub(crate) fn source(self) -> Source {
        if self.reads_counter() { Source::Counter } else { Source::Os }
    }

    pub(crate) fn order(self) -> Order {
        if self >= Self::Fenced { Order::OrderedRead } else { Order::Enforced }
    }
}

/// A mode and its cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) mode: Mode,
    pub(crate) cause: Cause,
}

/// The user's requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Wish {
    /// A source, and how it was requested: [`Cause::Call`] or [`Cause::Environment`].
    pub(super) source: Option<(Source, Cause)>,
    /// Strict order by a shared maximum, even if the counter is trusted.
    pub(super) enforced: bool,
}

/// The facts about the counter that are quick to find.
#[derive(Debug, Clone, Copy)]
pub(super) struct Access {
    /// tach reads a counter on this target.
    pub(super) has_counter: bool,
    /// This process may read it.
    pub(super) counter_readable: bool,
    /// The host has a clock that can't be set.
    pub(super) has_monotonic_clock: bool,
}

/// Returns the verdict if there is no counter to weigh: it is not wanted, or can't be read.
pub(super) fn without_counter(access: Access, wish: Wish) -> Option<Verdict> {
    let cause = if cfg!(tach_source = "os") {
        Cause::Build
    } else if let Some((Source::Os, cause)) = wish.source {
        cause
    } else if !access.has_counter && access.has_monotonic_clock {
        Cause::NoCounter
    } else if !access.has_counter {
        Cause::NoMonotonicClock
    } else if !access.counter_readable {
        Cause::CounterDisabled
    } else {
        return None;
    };
    Some(Verdict { mode: Mode::Os, cause })
}

/// Weighs the evidence on a counter that can be read.
pub(super) fn decide(
    features: Features,
    clocksources: Clocksources,
    kernel: &KernelView<'_>,
    wish: Wish,
) -> Verdict {
    let os = |cause| Verdict { mode: Mode::Os, cause };
    let trusted_mode = match features.fencing {
        _ if wish.enforced => Mode::Enforced,
        Fencing::SelfOrdered => Mode::SelfOrdered,
        Fencing::Fenced => Mode::Fenced,
        Fencing::Unordered => Mode::Enforced,
    };
    let by_merit = match (features.invariant, kernel_verdict(kernel, clocksources)) {
        (false, _) => os(Cause::CounterNotInvariant),
        (true, Some(cause @ Cause::KernelAvoidsCounter)) => os(cause),
        (true, Some(cause)) => Verdict { mode: trusted_mode, cause },
        (true, None) => Verdict { mode: Mode::Enforced, cause: Cause::KernelVerdictUnknown },
    };
    match wish.source {
        // A counter without a good verdict is used if the program or the environment asks for it,
        // but its order is enforced.
        Some((_, cause)) => Verdict { mode: by_merit.mode.max(Mode::Enforced), cause },
        None => by_merit,
    }
}

/// Returns the kernel's verdict on the counter by its clocksources, or `None` if they are unknown.
pub(super) fn kernel_verdict(kernel: &KernelView<'_>, clocksources: Clocksources) -> Option<Cause> {
    let Clocksources { counter, built_on_it } = clocksources;
    let has_counter = || kernel.available.is_some_and(|all| all.split(' ').any(|s| s == counter));
    let current = kernel.current?;
    Some(if current == counter {
        Cause::KernelUsesCounter
    } else if built_on_it.contains(&current) && has_counter() {
        Cause::KernelClockBuiltOnCounter
    } else {
        Cause::KernelAvoidsCounter
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRUSTED: Features = Features { invariant: true, fencing: Fencing::SelfOrdered };
    const X86: Clocksources =
        Clocksources { counter: "tsc", built_on_it: &["kvm-clock", "hyperv_clocksource_tsc_page"] };

    fn kernel<'a>(current: Option<&'a str>, available: &'a str) -> KernelView<'a> {
        KernelView { current, available: Some(available) }
    }

    fn by_merit(features: Features, kernel: &KernelView<'_>) -> (Mode, Cause) {
        let verdict = decide(features, X86, kernel, Wish::default());
        (verdict.mode, verdict.cause)
    }

    #[test]
    fn the_kernels_clocksource_decides() {
        let cases = [
            (Some("tsc"), "tsc hpet", Mode::SelfOrdered, Cause::KernelUsesCounter),
            (Some("hpet"), "hpet acpi_pm", Mode::Os, Cause::KernelAvoidsCounter),
            (Some("acpi_pm"), "tsc acpi_pm", Mode::Os, Cause::KernelAvoidsCounter),
            (
                Some("kvm-clock"),
                "kvm-clock tsc",
                Mode::SelfOrdered,
                Cause::KernelClockBuiltOnCounter,
            ),
            (Some("kvm-clock"), "kvm-clock hpet", Mode::Os, Cause::KernelAvoidsCounter),
            (Some("kvm-clock"), "kvm-clock tsc-early", Mode::Os, Cause::KernelAvoidsCounter),
            (
                Some("hyperv_clocksource_tsc_page"),
                "hyperv_clocksource_tsc_page tsc",
                Mode::SelfOrdered,
                Cause::KernelClockBuiltOnCounter,
            ),
            (Some("xen"), "xen tsc", Mode::Os, Cause::KernelAvoidsCounter),
            (None, "", Mode::Enforced, Cause::KernelVerdictUnknown),
        ];
        for (current, available, mode, cause) in cases {
            let view = kernel(current, available);
            assert_eq!(by_merit(TRUSTED, &view), (mode, cause), "{current:?}, {available}");
        }
    }

    #[test]
    fn a_counter_without_the_invariant_bit_is_not_read() {
        let features = Features { invariant: false, ..TRUSTED };
        for current in [Some("tsc"), None] {
            let found = by_merit(features, &kernel(current, "tsc"));
            assert_eq!(found, (Mode::Os, Cause::CounterNotInvariant));
        }
    }

    #[test]
    fn without_a_self_ordered_read_the_fence_orders() {
        let features = Features { fencing: Fencing::Fenced, ..TRUSTED };
        let found = by_merit(features, &kernel(Some("tsc"), "tsc"));
        assert_eq!(found, (Mode::Fenced, Cause::KernelUsesCounter));
    }

    #[test]
    fn a_trusted_counter_without_an_ordered_read_is_enforced() {
        let features = Features { fencing: Fencing::Unordered, ..TRUSTED };
        let riscv = Clocksources { counter: "riscv_clocksource", built_on_it: &[] };
        let uses = kernel(Some("riscv_clocksource"), "riscv_clocksource");
        let verdict = decide(features, riscv, &uses, Wish::default());
        assert_eq!((verdict.mode, verdict.cause), (Mode::Enforced, Cause::KernelUsesCounter));
        // An emulator may show another architecture's clocksource.
        for name in ["tsc", "kvm-clock", ""] {
            let verdict = decide(features, riscv, &kernel(Some(name), "tsc"), Wish::default());
            assert_eq!((verdict.mode, verdict.cause), (Mode::Os, Cause::KernelAvoidsCounter));
        }
    }

    #[test]
    fn without_a_counter_or_the_wish_for_one_nothing_is_weighed() {
        const ALL: Access =
            Access { has_counter: true, counter_readable: true, has_monotonic_clock: true };
        let none = Access { has_counter: false, ..ALL };
        let bare = Access { has_monotonic_clock: false, ..none };
        let unreadable = Access { counter_readable: false, ..ALL };
        let wants = |source| Wish { source: Some((source, Cause::Call)), ..Wish::default() };
        let (counter, os) = (wants(Source::Counter), wants(Source::Os));
        let cases = [
            (ALL, Wish::default(), None),
            (ALL, counter, None),
            (ALL, os, Some(Cause::Call)),
            (unreadable, os, Some(Cause::Call)),
            (unreadable, counter, Some(Cause::CounterDisabled)),
            (none, counter, Some(Cause::NoCounter)),
            (none, Wish::default(), Some(Cause::NoCounter)),
            (bare, Wish::default(), Some(Cause::NoMonotonicClock)),
        ];
        for (access, wish, cause) in cases {
            let expected = cause.map(|cause| Verdict { mode: Mode::Os, cause });
            assert_eq!(without_counter(access, wish), expected, "{access:?} {wish:?}");
        }
    }

    #[test]
    fn a_request_outranks_merit() {
        let wish = Wish { source: Some((Source::Counter, Cause::Call)), ..Wish::default() };
        let cases = [("tsc", Mode::SelfOrdered), ("hpet", Mode::Enforced)];
        for (current, mode) in cases {
            let verdict = decide(TRUSTED, X86, &kernel(Some(current), current), wish);
            assert_eq!(verdict, Verdict { mode, cause: Cause::Call }, "{current}");
        }
    }

    #[test]
    fn a_trusted_counter_is_enforced_on_request() {
        let enforced = Wish { enforced: true, ..Wish::default() };
        let fenced = Features { fencing: Fencing::Fenced, ..TRUSTED };
        for features in [TRUSTED, fenced] {
            let verdict = decide(features, X86, &kernel(Some("tsc"), "tsc"), enforced);
            assert_eq!((verdict.mode, verdict.cause), (Mode::Enforced, Cause::KernelUsesCounter));
        }
        let verdict = decide(TRUSTED, X86, &kernel(Some("hpet"), "hpet"), enforced);
        assert_eq!((verdict.mode, verdict.cause), (Mode::Os, Cause::KernelAvoidsCounter));
    }
}
