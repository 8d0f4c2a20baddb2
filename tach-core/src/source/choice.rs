//! The choice, published as one word.

use core::fmt;

use super::domain::{DOMAINS, LINE_WORDS, from_words, to_words};
use super::request::{ORDER, SOURCE};
use super::verdict::{Mode, Verdict, Wish, decide};
use super::{Order, Reason, Source};
use crate::counter;
use crate::os::{self, CLOCKSOURCE_BYTES, KernelView};
use crate::succession::Succession;
use crate::sync::{AtomicBool, AtomicU8, Ordering, Padded};
use crate::timeline::Line;

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
}

impl Chosen {
    const REASON_BITS: u32 = 0x0f;
    const SOURCE_IGNORED: u32 = 0x10;
    const MOVES_SHIFT: u32 = 5;
    const FORCED: u32 = 0x100;
    const ORDER_IGNORED: u32 = 0x200;
    const MODE_SHIFT: u32 = 16;

    fn to_word(self) -> u32 {
        let flag = |is_set, bit| if is_set { bit } else { 0 };
        (self.verdict.mode as u32) << Self::MODE_SHIFT
            | flag(self.order_ignored, Self::ORDER_IGNORED)
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
        }
    }
}

/// What was chosen, as [`Chosen`]'s word: zero until then, which reads as [`Mode::Undecided`]. With
/// it, the lines by which ticks are told once they have been moved or replaced.
static CHOICE: Padded<Succession<LINE_WORDS, DOMAINS>> = Padded(Succession::new());

/// What was asked for by calls, before the choice.
static CALLS: Calls = Calls { source: AtomicU8::new(0), enforced: AtomicBool::new(false) };

struct Calls {
    /// 0 nothing, 1 the counter, 2 the OS clock.
    source: AtomicU8,
    enforced: AtomicBool,
}

impl Calls {
    fn source(&self) -> Option<Source> {
        // ORDERING: Relaxed: `force_source` promises its effect only to reads that happen after it.
        match self.source.load(Ordering::Relaxed) {
            1 => Some(Source::Counter),
            2 => Some(Source::Os),
            _ => None,
        }
    }

    /// Takes the first call; whether this was it.
    fn set_source(&self, source: Source) -> bool {
        let value = match source {
            Source::Counter => 1,
            Source::Os => 2,
        };
        // ORDERING: Relaxed, see `source`.
        self.source.compare_exchange(0, value, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    fn enforced(&self) -> bool {
        // ORDERING: Relaxed, see `source`.
        self.enforced.load(Ordering::Relaxed)
    }

    fn set_enforced(&self) {
        // ORDERING: Relaxed, see `source`.
        self.enforced.store(true, Ordering::Relaxed);
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
pub(crate) fn tick_of(chosen: Chosen, raw: u64) -> u64 {
    let domain = CHOICE.0.entry(usize::from(chosen.moves).wrapping_sub(1));
    domain.map_or(raw, |words| from_words(words).ns_at(raw))
}

/// Gives ticks by `line` from now on, for the reason in `verdict`, unless `seen` is in force no more
/// or ticks have been moved too often.
pub(crate) fn replace(seen: Chosen, verdict: Verdict, line: Line) {
    #[expect(clippy::cast_possible_truncation, reason = "less than DOMAINS")]
    let word_of = |index| Chosen { verdict, moves: index as u8 + 1, ..seen }.to_word();
    CHOICE.0.replace(seen.to_word(), usize::from(seen.moves), &to_words(line), word_of);
}

/// Whether the kernel, asked again, has left the counter that `chosen` relies on.
pub(crate) fn kernel_left_counter(chosen: Chosen) -> bool {
    let words = &mut [0; CLOCKSOURCE_BYTES];
    chosen.verdict.mode.reads_counter()
        && !chosen.forced
        && weigh(&os::kernel_view(words), Wish::default()).reason == Reason::KernelAvoidsCounter
}

/// The verdict on this machine's counter.
fn weigh(kernel: &KernelView<'_>, wish: Wish) -> Verdict {
    let features = counter::features(os::cpu_capabilities());
    decide(features, counter::CLOCKSOURCES, kernel, wish)
}

/// The choice, made now if it has not been made yet.
pub(crate) fn choose() -> Chosen {
    let published = || Some(chosen()).filter(|chosen| chosen.verdict.mode != Mode::Undecided);
    if let Some(chosen) = published() {
        return chosen;
    }
    let (source, order) = (SOURCE.read(), ORDER.read());
    let kernel_words = &mut [0; CLOCKSOURCE_BYTES];
    let kernel = os::kernel_view(kernel_words);
    let called = CALLS.source().map(|source| (source, Reason::Call));
    let wish = Wish {
        source: called.or(source.get().map(|source| (source, Reason::Environment))),
        enforced: CALLS.enforced() || order.get() == Some(Order::Enforced),
    };
    let verdict = weigh(&kernel, wish);
    let chosen = Chosen {
        verdict,
        forced: matches!(verdict.reason, Reason::Call | Reason::Environment),
        source_ignored: source.is_nonsense(),
        order_ignored: order.is_nonsense(),
        moves: 0,
    };
    if !CHOICE.0.decide(chosen.to_word()) {
        return published().unwrap_or(chosen);
    }
    if chosen.source_ignored {
        os::report(format_args!("{SOURCE}"));
    }
    if chosen.order_ignored {
        os::report(format_args!("{ORDER}"));
    }
    chosen
}

/// Takes down what [`force_source`](crate::force_source) asks for, for [`choose`] to weigh.
pub(crate) fn request_source(source: Source) -> Result<(), ForceError> {
    let first = mode() == Mode::Undecided && CALLS.set_source(source);
    if first { Ok(()) } else { Err(ForceError(())) }
}

/// Takes down what [`enforce_order`](crate::enforce_order) asks for, for [`choose`] to weigh.
pub(crate) fn request_enforced_order() {
    CALLS.set_enforced();
}

/// Whether the choice is what [`request_source`] asked for, or that can't be had.
pub(crate) fn check_source(source: Source) -> Result<(), ForceError> {
    let verdict = choose().verdict;
    let followed = verdict.reason == Reason::Call && verdict.mode.source() == source;
    if followed || verdict.source_was_impossible() { Ok(()) } else { Err(ForceError(())) }
}

/// Whether strict order is kept without trust in the counter.
pub(crate) fn check_enforced_order() -> Result<(), ForceError> {
    match choose().verdict.mode.order() {
        Order::Enforced | Order::OsClock => Ok(()),
        Order::OrderedRead => Err(ForceError(())),
    }
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
                for (flags, moves) in [(0, 0), (1, 7), (2, 5), (4, 1), (7, 6)] {
                    let chosen = Chosen {
                        verdict: Verdict { mode, reason },
                        source_ignored: flags & 1 != 0,
                        order_ignored: flags & 2 != 0,
                        forced: flags & 4 != 0,
                        moves,
                    };
                    assert_eq!(Chosen::from_word(chosen.to_word()), chosen);
                }
            }
        }
    }
}
