//! The choice, published as one word.

use core::fmt;

use super::domain::{DOMAINS, WORDS, line_of, to_words};
use super::request::{ORDER, SOURCE};
use super::verdict::{Access, Mode, Verdict, Wish, decide, kernel_verdict, without_counter};
use super::{Order, Reason, Source};
use crate::counter;
use crate::line::Line;
use crate::os::{self, CLOCKSOURCE_BYTES};
use crate::sync::Padded;
use crate::sync::Succession;

/// What was chosen, as [`CHOICE`] holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chosen {
    pub(crate) verdict: Verdict,
    /// `TACH_SOURCE` had a value that means nothing.
    pub(crate) source_ignored: bool,
    /// `TACH_ORDER` had a value that means nothing.
    pub(crate) order_ignored: bool,
    /// The user asked for this source, so the kernel's opinion does not count.
    pub(crate) forced: bool,
    /// How often the ticks have been moved or replaced.
    pub(crate) moves: u8,
    /// Which domain tells them: 0 none, else one more than its index.
    domain: u8,
}

impl Chosen {
    const REASON_BITS: u32 = 0x0f;
    const SOURCE_IGNORED: u32 = 0x10;
    const MOVES_SHIFT: u32 = 5;
    const FORCED: u32 = 0x100;
    const ORDER_IGNORED: u32 = 0x200;
    const DOMAIN_SHIFT: u32 = 10;
    const MODE_SHIFT: u32 = 16;

    fn to_word(self) -> u32 {
        let flag = |is_set, bit| if is_set { bit } else { 0 };
        (self.verdict.mode as u32) << Self::MODE_SHIFT
            | flag(self.order_ignored, Self::ORDER_IGNORED)
            | u32::from(self.domain) << Self::DOMAIN_SHIFT
            | flag(self.forced, Self::FORCED)
            | u32::from(self.moves) << Self::MOVES_SHIFT
            | flag(self.source_ignored, Self::SOURCE_IGNORED)
            | self.verdict.reason as u32
    }

    fn from_word(word: u32) -> Self {
        Self {
            verdict: Verdict {
                mode: Mode::ALL[(word >> Self::MODE_SHIFT) as usize],
                reason: Reason::ALL[(word & Self::REASON_BITS) as usize],
            },
            source_ignored: word & Self::SOURCE_IGNORED != 0,
            order_ignored: word & Self::ORDER_IGNORED != 0,
            forced: word & Self::FORCED != 0,
            moves: (word >> Self::MOVES_SHIFT & 7) as u8,
            domain: (word >> Self::DOMAIN_SHIFT & 7) as u8,
        }
    }
}

/// What was chosen, as [`Chosen`]'s word; until then what was called for, as [`Calls`]'s, which reads as
/// [`Mode::Undecided`]. With it, the lines by which ticks are told once they have been moved or
/// replaced.
static CHOICE: Padded<Succession<WORDS, DOMAINS>> = Padded(Succession::new());

/// What was asked for by calls before the choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Calls {
    source: Option<Source>,
    enforced: bool,
}

impl Calls {
    const COUNTER: u32 = 1;
    const OS: u32 = 2;
    const ENFORCED: u32 = 4;

    fn to_word(self) -> u32 {
        let source = match self.source {
            None => 0,
            Some(Source::Counter) => Self::COUNTER,
            Some(Source::Os) => Self::OS,
        };
        source | if self.enforced { Self::ENFORCED } else { 0 }
    }

    fn from_word(word: u32) -> Self {
        let source = match word & (Self::COUNTER | Self::OS) {
            Self::COUNTER => Some(Source::Counter),
            Self::OS => Some(Source::Os),
            _ => None,
        };
        Self { source, enforced: word & Self::ENFORCED != 0 }
    }

    /// What has been called for; `None` once the choice is made.
    fn get() -> Option<Self> {
        let word = CHOICE.0.word();
        (word >> Chosen::MODE_SHIFT == Mode::Undecided as u32).then(|| Self::from_word(word))
    }

    /// Takes down a call, unless the choice is made. Whether it is taken down.
    fn add(call: impl Fn(Self) -> Self) -> bool {
        while let Some(calls) = Self::get() {
            if CHOICE.0.change(calls.to_word(), call(calls).to_word()) {
                return true;
            }
        }
        false
    }
}

/// Whether a read is the counter's, decided by one load and one comparison.
#[inline]
pub(crate) fn reads_counter() -> bool {
    CHOICE.0.word() >= (Mode::Enforced as u32) << Chosen::MODE_SHIFT
}

/// Whether an ordered read is one instruction of a trusted counter, decided as cheaply.
#[inline]
pub(crate) fn reads_self_ordered_counter() -> bool {
    CHOICE.0.word() >= (Mode::SelfOrdered as u32) << Chosen::MODE_SHIFT
}

/// Whether strict order is enforced on the counter as it is.
#[inline]
pub(crate) fn enforces_counter() -> bool {
    CHOICE.0.word() >> Chosen::MODE_SHIFT == Mode::Enforced as u32
}

/// The choice as it is now; [`Mode::Undecided`] before [`choose`].
fn chosen() -> Chosen {
    Chosen::from_word(CHOICE.0.word_with_entries())
}

/// The mode in force; [`Mode::Undecided`] before [`choose`].
pub(crate) fn mode() -> Mode {
    chosen().verdict.mode
}

/// How often ticks have been moved or replaced.
pub(crate) fn moves() -> u8 {
    chosen().moves
}

/// The tick of what the counter or the OS clock reads, where `chosen` moves or replaces ticks.
#[cold]
#[inline(never)]
pub(crate) fn tick_of(chosen: Chosen, raw: u64) -> u64 {
    let domain = CHOICE.0.entry(usize::from(chosen.domain).wrapping_sub(1));
    domain.map_or(raw, |words| line_of(words).ns_at(raw))
}

/// Gives ticks by `line` from now on, for the reason in `verdict`, unless `seen` is in force no more
/// or ticks have been moved too often.
pub(crate) fn replace(seen: Chosen, verdict: Verdict, line: Line) {
    #[expect(clippy::cast_possible_truncation, reason = "less than DOMAINS")]
    let next = |index| Chosen { verdict, moves: seen.moves + 1, domain: index as u8 + 1, ..seen };
    let domain_at = |index| to_words(line, next(index).to_word());
    CHOICE.0.replace(seen.to_word(), usize::from(seen.domain), domain_at);
}

/// Whether the kernel, asked by its files, has left the counter that `chosen` relies on.
pub(crate) fn kernel_left_counter(chosen: Chosen) -> bool {
    let words = &mut [0; CLOCKSOURCE_BYTES];
    let mut verdict = || kernel_verdict(&os::kernel_view(words), counter::CLOCKSOURCES);
    chosen.verdict.mode.reads_counter()
        && !chosen.forced
        && verdict() == Some(Reason::KernelAvoidsCounter)
}

/// The choice, made now if it has not been made yet.
pub(crate) fn choose() -> Chosen {
    choose_after(&mut || ())
}

/// The choice, made now if it has not been made yet. Calls `begin` before it collects the evidence that
/// takes long, if the counter may be read.
pub(crate) fn choose_after(begin: &mut dyn FnMut()) -> Chosen {
    if Calls::get().is_some() {
        decide_now(begin);
    }
    chosen()
}

#[cold]
#[inline(never)]
fn decide_now(begin: &mut dyn FnMut()) {
    while let Some(calls) = Calls::get() {
        if try_choose(calls, begin) {
            return;
        }
    }
}

/// The verdict on this machine's counter. Nothing is asked about a counter that is not wanted.
fn weigh(wish: Wish, begin: &mut dyn FnMut()) -> Verdict {
    let access = Access {
        has_counter: counter::CLOCKSOURCES.has_counter(),
        // Before any clock is read: this says how.
        counter_readable: os::counter_readable(),
        has_monotonic_clock: os::has_monotonic_clock(),
    };
    if let Some(verdict) = without_counter(access, wish) {
        return verdict;
    }
    begin();
    let words = &mut [0; CLOCKSOURCE_BYTES];
    let features = counter::features(os::cpu_capabilities());
    decide(features, counter::CLOCKSOURCES, &os::kernel_view(words), wish)
}

/// Makes the choice, unless another thread has made it or has called for something else meanwhile.
fn try_choose(calls: Calls, begin: &mut dyn FnMut()) -> bool {
    let (source, order) = (SOURCE.read(), ORDER.read());
    let called = calls.source.map(|source| (source, Reason::Call));
    let wish = Wish {
        source: called.or(source.get().map(|source| (source, Reason::Environment))),
        enforced: calls.enforced || order.get() == Some(Order::Enforced),
    };
    let verdict = weigh(wish, begin);
    let chosen = Chosen {
        verdict,
        forced: matches!(verdict.reason, Reason::Call | Reason::Environment),
        source_ignored: source.is_nonsense(),
        order_ignored: order.is_nonsense(),
        moves: 0,
        domain: 0,
    };
    if !CHOICE.0.change(calls.to_word(), chosen.to_word()) {
        return false;
    }
    if chosen.source_ignored {
        os::report(SOURCE.complaint());
    }
    if chosen.order_ignored {
        os::report(ORDER.complaint());
    }
    true
}

/// Takes down what [`force_source`](crate::force_source) asks for, for [`choose`] to weigh.
pub(crate) fn call_for_source(source: Source) -> Result<(), ForceError> {
    let added = Calls::add(|calls| Calls { source: Some(source), ..calls });
    if added { Ok(()) } else { Err(ForceError(())) }
}

/// Takes down what [`enforce_order`](crate::enforce_order) asks for, for [`choose`] to weigh; an error if
/// the choice has been made otherwise.
pub(crate) fn call_for_enforced_order() -> Result<(), ForceError> {
    let added = Calls::add(|calls| Calls { enforced: true, ..calls });
    if added || mode().order() != Order::OrderedRead { Ok(()) } else { Err(ForceError(())) }
}

/// The error of [`force_source`](crate::force_source) and [`enforce_order`](crate::enforce_order): the
/// clock had been read before the call.
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

    #[test]
    fn the_word_holds_every_choice() {
        for mode in Mode::ALL {
            for (index, reason) in Reason::ALL.into_iter().enumerate() {
                assert_eq!(reason as usize, index);
                for (flags, moves, domain) in
                    [(0, 0, 0), (1, 7, 0), (2, 0, 7), (4, 1, 2), (7, 6, 5)]
                {
                    let chosen = Chosen {
                        verdict: Verdict { mode, reason },
                        source_ignored: flags & 1 != 0,
                        order_ignored: flags & 2 != 0,
                        forced: flags & 4 != 0,
                        moves,
                        domain,
                    };
                    assert_eq!(Chosen::from_word(chosen.to_word()), chosen);
                }
            }
        }
    }

    #[test]
    fn calls_are_kept_where_nothing_is_decided() {
        for source in [None, Some(Source::Counter), Some(Source::Os)] {
            for enforced in [false, true] {
                let calls = Calls { source, enforced };
                assert_eq!(Calls::from_word(calls.to_word()), calls);
                assert_eq!(calls.to_word() >> Chosen::MODE_SHIFT, Mode::Undecided as u32);
            }
        }
    }
}
