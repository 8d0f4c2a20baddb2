//! Trust: whether ticks come from the CPU's counter or from the OS clock, and why.
//!
//! The choice is made once, at the first read, and never changes. [`decide`] is pure: it weighs
//! what the CPU, the kernel and the user say; [`choose`] collects that evidence and publishes the
//! verdict as one word.

use core::fmt;

use crate::counter::{self, Features};
use crate::os::{self, CLOCKSOURCE_BYTES, KernelView, Request};
use crate::sync::{AtomicU8, AtomicU32, Ordering, Padded};

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
    /// [`force_source`] asked for it.
    Call,
    /// The crate was built with `--cfg tach_source="os"`.
    Build,
}

impl Reason {
    /// Every reason, at the index of its discriminant.
    const ALL: [Self; 10] = [
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
    /// Every read raises a maximum that all threads share.
    Enforced,
    /// The OS clock gives the order.
    OsClock,
}

/// The choice. The bare read asks only whether it is at least [`Mode::Enforced`], the ordered ones
/// whether it is [`Mode::SelfOrdered`], the highest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Mode {
    Undecided = 0,
    Os = 1,
    /// Counter on provisional trust: strict order must be enforced.
    Enforced = 2,
    /// Trusted counter without a self-ordered read.
    Fenced = 3,
    /// Trusted counter with a self-ordered read.
    SelfOrdered = 4,
}

impl Mode {
    const ALL: [Self; 5] =
        [Self::Undecided, Self::Os, Self::Enforced, Self::Fenced, Self::SelfOrdered];

    pub(crate) const fn reads_counter(self) -> bool {
        self as u8 >= Self::Enforced as u8
    }

    pub(crate) fn source(self) -> Source {
        if self.reads_counter() { Source::Counter } else { Source::Os }
    }

    pub(crate) fn order(self) -> Order {
        match self {
            Self::Undecided | Self::Os => Order::OsClock,
            Self::Enforced => Order::Enforced,
            Self::Fenced | Self::SelfOrdered => Order::OrderedRead,
        }
    }
}

/// A mode and the reason for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) mode: Mode,
    pub(crate) reason: Reason,
}

impl Verdict {
    /// The counter may have been asked for, but can't be had: no force overrules that.
    fn source_was_impossible(self) -> bool {
        matches!(self.reason, Reason::NoCounter | Reason::CounterDisabled | Reason::Build)
    }
}

/// Weighs the evidence. `features` is `None` where there is no counter.
fn decide(
    features: Option<Features>,
    kernel: &KernelView<'_>,
    call: Option<Source>,
    request: Request,
) -> Verdict {
    let os = |reason| Verdict { mode: Mode::Os, reason };
    if cfg!(tach_source = "os") {
        return os(Reason::Build);
    }
    let forced = match (call, request) {
        (Some(source), _) => Some((source, Reason::Call)),
        (None, Request::Os) => Some((Source::Os, Reason::Environment)),
        (None, Request::Counter) => Some((Source::Counter, Reason::Environment)),
        (None, Request::Unset | Request::Invalid) => None,
    };
    if let Some((Source::Os, reason)) = forced {
        return os(reason);
    }
    let Some(features) = features else { return os(Reason::NoCounter) };
    if !kernel.counter_readable {
        return os(Reason::CounterDisabled);
    }
    let trusted_mode = if features.self_ordered { Mode::SelfOrdered } else { Mode::Fenced };
    let by_merit = match (features.invariant, kernel_verdict(kernel)) {
        (false, _) => os(Reason::CounterNotInvariant),
        (true, Some(reason @ Reason::KernelAvoidsCounter)) => os(reason),
        (true, Some(reason)) => Verdict { mode: trusted_mode, reason },
        (true, None) => Verdict { mode: Mode::Enforced, reason: Reason::KernelVerdictUnknown },
    };
    match forced {
        // A counter that nobody vouches for is read all the same, but its order is enforced.
        Some((_, reason)) => Verdict { mode: by_merit.mode.max(Mode::Enforced), reason },
        None => by_merit,
    }
}

/// The kernel's verdict on the TSC by its clocksources; `None` where it does not tell.
fn kernel_verdict(kernel: &KernelView<'_>) -> Option<Reason> {
    let available = |name| kernel.available.is_some_and(|all| all.split(' ').any(|s| s == name));
    Some(match kernel.current? {
        "tsc" => Reason::KernelUsesCounter,
        "kvm-clock" | "hyperv_clocksource_tsc_page" if available("tsc") => {
            Reason::KernelClockBuiltOnCounter
        }
        _ => Reason::KernelAvoidsCounter,
    })
}

/// What was chosen, as [`CHOICE`] holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chosen {
    pub(crate) verdict: Verdict,
    /// `TACH_SOURCE` had a value that means nothing.
    pub(crate) request_ignored: bool,
}

impl Chosen {
    const REASON_BITS: u32 = 0x0f;
    const REQUEST_IGNORED: u32 = 0x10;
    const MODE_SHIFT: u32 = 8;

    fn to_word(self) -> u32 {
        let ignored = if self.request_ignored { Self::REQUEST_IGNORED } else { 0 };
        (self.verdict.mode as u32) << Self::MODE_SHIFT | ignored | self.verdict.reason as u32
    }

    fn from_word(word: u32) -> Self {
        Self {
            verdict: Verdict {
                mode: Mode::ALL[(word >> Self::MODE_SHIFT) as usize],
                reason: Reason::ALL[(word & Self::REASON_BITS) as usize],
            },
            request_ignored: word & Self::REQUEST_IGNORED != 0,
        }
    }
}

/// The choice, written once. Zero until then, which reads as [`Mode::Undecided`].
struct Choice {
    word: AtomicU32,
    /// What [`force_source`] asked for: 0 nothing, 1 the counter, 2 the OS clock.
    call: AtomicU8,
}

static CHOICE: Padded<Choice> = Padded(Choice { word: AtomicU32::new(0), call: AtomicU8::new(0) });

impl Choice {
    #[inline]
    fn mode_word(&self) -> u32 {
        // ORDERING: Relaxed, since the word publishes nothing but itself.
        self.word.load(Ordering::Relaxed)
    }

    /// Publishes `chosen` unless another thread was faster; `None` if it was.
    fn publish(&self, chosen: Chosen) -> Option<Chosen> {
        // ORDERING: Relaxed, since the word publishes nothing but itself.
        self.word
            .compare_exchange(0, chosen.to_word(), Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
            .then_some(chosen)
    }

    fn call(&self) -> Option<Source> {
        // ORDERING: Relaxed: `force_source` promises its effect only to reads that happen after it.
        match self.call.load(Ordering::Relaxed) {
            1 => Some(Source::Counter),
            2 => Some(Source::Os),
            _ => None,
        }
    }

    fn set_call(&self, source: Source) {
        let value = match source {
            Source::Counter => 1,
            Source::Os => 2,
        };
        // ORDERING: Relaxed, see `call`.
        self.call.store(value, Ordering::Relaxed);
    }
}

/// Whether a read is the counter's, decided by one load and one comparison.
#[inline]
pub(crate) fn reads_counter() -> bool {
    CHOICE.0.mode_word() >= (Mode::Enforced as u32) << Chosen::MODE_SHIFT
}

/// Whether an ordered read is one instruction of a trusted counter, decided as cheaply.
#[inline]
pub(crate) fn reads_self_ordered_counter() -> bool {
    CHOICE.0.mode_word() >= (Mode::SelfOrdered as u32) << Chosen::MODE_SHIFT
}

/// The mode in force; [`Mode::Undecided`] before [`choose`].
pub(crate) fn mode() -> Mode {
    Chosen::from_word(CHOICE.0.mode_word()).verdict.mode
}

/// The choice, made now if it has not been made yet.
pub(crate) fn choose() -> Chosen {
    let published = || match CHOICE.0.mode_word() {
        0 => None,
        word => Some(Chosen::from_word(word)),
    };
    if let Some(chosen) = published() {
        return chosen;
    }
    let request = os::requested_source();
    let kernel_words = &mut [0; CLOCKSOURCE_BYTES];
    let kernel = os::kernel_view(kernel_words);
    let chosen = Chosen {
        verdict: decide(counter::features(), &kernel, CHOICE.0.call(), request),
        request_ignored: request == Request::Invalid,
    };
    match CHOICE.0.publish(chosen) {
        Some(chosen) => {
            if chosen.request_ignored {
                os::report(format_args!(
                    "TACH_SOURCE is neither \"os\" nor \"counter\" and is ignored"
                ));
            }
            chosen
        }
        None => published().unwrap_or(chosen),
    }
}

/// Forces the source of all ticks. Call it before anything reads the clock.
///
/// It outranks `TACH_SOURCE`. A counter that does not exist or may not be executed can't be forced:
/// [`status`](crate::status()) then says so.
///
/// # Errors
///
/// Fails once the source has been chosen, which the first read does: instants of two sources can't
/// be compared.
///
/// # Examples
///
/// ```
/// use tach_core::{Source, force_source};
///
/// force_source(Source::Os)?;
/// assert_eq!(tach_core::status().source, Source::Os);
/// # Ok::<(), tach_core::ForceError>(())
/// ```
pub fn force_source(source: Source) -> Result<(), ForceError> {
    if mode() != Mode::Undecided {
        return Err(ForceError(()));
    }
    CHOICE.0.set_call(source);
    let verdict = choose().verdict;
    if verdict.reason == Reason::Call || verdict.source_was_impossible() {
        Ok(())
    } else {
        Err(ForceError(()))
    }
}

/// The error of [`force_source`]: the clock had been read before the call.
///
/// # Examples
///
/// ```
/// let _ = tach_core::Instant::now();
/// let error = tach_core::force_source(tach_core::Source::Os).unwrap_err();
/// assert_eq!(error.to_string(), "the source is chosen at the first read, which came before");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForceError(());

impl fmt::Display for ForceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the source is chosen at the first read, which came before")
    }
}

impl core::error::Error for ForceError {}

#[cfg(test)]
mod tests {
    use super::*;

    const TRUSTED: Features = Features { invariant: true, self_ordered: true };

    fn kernel<'a>(current: Option<&'a str>, available: &'a str) -> KernelView<'a> {
        KernelView { counter_readable: true, current, available: Some(available) }
    }

    fn by_merit(features: Option<Features>, kernel: &KernelView<'_>) -> (Mode, Reason) {
        let verdict = decide(features, kernel, None, Request::Unset);
        (verdict.mode, verdict.reason)
    }

    #[test]
    fn the_kernels_verdict_is_heeded() {
        let cases = [
            (Some("tsc"), "tsc hpet", Mode::SelfOrdered, Reason::KernelUsesCounter),
            (Some("hpet"), "hpet acpi_pm", Mode::Os, Reason::KernelAvoidsCounter),
            (Some("acpi_pm"), "tsc acpi_pm", Mode::Os, Reason::KernelAvoidsCounter),
            (
                Some("kvm-clock"),
                "kvm-clock tsc",
                Mode::SelfOrdered,
                Reason::KernelClockBuiltOnCounter,
            ),
            (Some("kvm-clock"), "kvm-clock hpet", Mode::Os, Reason::KernelAvoidsCounter),
            (Some("kvm-clock"), "kvm-clock tsc-early", Mode::Os, Reason::KernelAvoidsCounter),
            (
                Some("hyperv_clocksource_tsc_page"),
                "hyperv_clocksource_tsc_page tsc",
                Mode::SelfOrdered,
                Reason::KernelClockBuiltOnCounter,
            ),
            (Some("xen"), "xen tsc", Mode::Os, Reason::KernelAvoidsCounter),
            (None, "", Mode::Enforced, Reason::KernelVerdictUnknown),
        ];
        for (current, available, mode, reason) in cases {
            let view = kernel(current, available);
            assert_eq!(by_merit(Some(TRUSTED), &view), (mode, reason), "{current:?}, {available}");
        }
    }

    #[test]
    fn a_counter_without_the_invariant_bit_is_not_read() {
        let features = Features { invariant: false, self_ordered: true };
        for current in [Some("tsc"), None] {
            let found = by_merit(Some(features), &kernel(current, "tsc"));
            assert_eq!(found, (Mode::Os, Reason::CounterNotInvariant));
        }
    }

    #[test]
    fn without_a_self_ordered_read_the_fence_orders() {
        let features = Features { invariant: true, self_ordered: false };
        let found = by_merit(Some(features), &kernel(Some("tsc"), "tsc"));
        assert_eq!(found, (Mode::Fenced, Reason::KernelUsesCounter));
    }

    #[test]
    fn force_outranks_merit_but_not_the_possible() {
        let good = kernel(Some("tsc"), "tsc");
        let bad = kernel(Some("hpet"), "hpet");
        let unreadable = KernelView { counter_readable: false, ..good };
        let found = |features, kernel: &KernelView<'_>, call, request| {
            let verdict = decide(features, kernel, call, request);
            (verdict.mode, verdict.reason)
        };
        let counter = Some(Source::Counter);
        let env = Reason::Environment;
        let cases = [
            (Some(TRUSTED), &good, None, Request::Os, Mode::Os, env),
            (Some(TRUSTED), &good, None, Request::Counter, Mode::SelfOrdered, env),
            (Some(TRUSTED), &bad, None, Request::Counter, Mode::Enforced, env),
            (Some(TRUSTED), &bad, counter, Request::Os, Mode::Enforced, Reason::Call),
            (Some(TRUSTED), &good, Some(Source::Os), Request::Counter, Mode::Os, Reason::Call),
            (
                Some(TRUSTED),
                &unreadable,
                counter,
                Request::Unset,
                Mode::Os,
                Reason::CounterDisabled,
            ),
            (None, &good, counter, Request::Unset, Mode::Os, Reason::NoCounter),
            (Some(TRUSTED), &bad, None, Request::Invalid, Mode::Os, Reason::KernelAvoidsCounter),
        ];
        for (features, view, call, request, mode, reason) in cases {
            let case = format!("{features:?} {view:?} {call:?} {request:?}");
            assert_eq!(found(features, view, call, request), (mode, reason), "{case}");
        }
    }

    #[test]
    fn the_word_holds_every_choice() {
        for mode in Mode::ALL {
            for (index, reason) in Reason::ALL.into_iter().enumerate() {
                assert_eq!(reason as usize, index);
                for request_ignored in [false, true] {
                    let chosen = Chosen { verdict: Verdict { mode, reason }, request_ignored };
                    assert_eq!(Chosen::from_word(chosen.to_word()), chosen);
                }
            }
        }
    }
}
