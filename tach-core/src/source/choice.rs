//! The choice, published as one word.

use core::fmt;

use super::domain::{DOMAINS, Domains};
use super::verdict::{Mode, Verdict, decide};
use super::{Reason, Source};
use crate::counter;
use crate::os::{self, CLOCKSOURCE_BYTES, Request};
use crate::sync::{AtomicU8, AtomicU32, Ordering, Padded};
use crate::timeline::Line;

/// What was chosen, as [`CHOICE`] holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chosen {
    pub(crate) verdict: Verdict,
    /// `TACH_SOURCE` had a value that means nothing.
    pub(crate) request_ignored: bool,
    /// The user asked for this source, so the kernel's opinion does not count.
    pub(crate) forced: bool,
    /// How often the ticks have been moved or replaced.
    pub(crate) moves: u8,
}

impl Chosen {
    const REASON_BITS: u32 = 0x0f;
    const REQUEST_IGNORED: u32 = 0x10;
    const MOVES_SHIFT: u32 = 5;
    const FORCED: u32 = 0x100;
    const MODE_SHIFT: u32 = 16;

    fn to_word(self) -> u32 {
        let ignored = if self.request_ignored { Self::REQUEST_IGNORED } else { 0 };
        let forced = if self.forced { Self::FORCED } else { 0 };
        (self.verdict.mode as u32) << Self::MODE_SHIFT
            | forced
            | u32::from(self.moves) << Self::MOVES_SHIFT
            | ignored
            | self.verdict.reason as u32
    }

    fn from_word(word: u32) -> Self {
        Self {
            verdict: Verdict {
                mode: Mode::ALL[(word >> Self::MODE_SHIFT) as usize],
                reason: Reason::ALL[(word & Self::REASON_BITS) as usize],
            },
            request_ignored: word & Self::REQUEST_IGNORED != 0,
            forced: word & Self::FORCED != 0,
            moves: (word >> Self::MOVES_SHIFT & 7) as u8,
        }
    }
}

/// The choice. Zero until it is made, which reads as [`Mode::Undecided`].
struct Choice {
    word: AtomicU32,
    /// By which ticks are told once they have been moved or replaced.
    domains: Domains,
    /// What [`request`] asked for: 0 nothing, 1 the counter, 2 the OS clock.
    call: AtomicU8,
}

static CHOICE: Padded<Choice> =
    Padded(Choice { word: AtomicU32::new(0), domains: Domains::new(), call: AtomicU8::new(0) });

impl Choice {
    #[inline]
    fn mode_word(&self) -> u32 {
        // ORDERING: Relaxed: a mode that reads the counter as it is needs nothing but itself, and
        // for the others `chosen` looks again.
        self.word.load(Ordering::Relaxed)
    }

    fn chosen(&self) -> Chosen {
        // ORDERING: Acquire, with the Release in `replace`: whoever sees a move sees its domain.
        Chosen::from_word(self.word.load(Ordering::Acquire))
    }

    /// Publishes another verdict in the place of `seen`, with ticks told by `line` from now on.
    fn replace(&self, seen: Chosen, verdict: Verdict, line: Line) {
        // A line that is written already is another thread's, which puts it in force or never will.
        let free = (usize::from(seen.moves)..DOMAINS).zip(seen.moves + 1..);
        let Some((_, moves)) = free.into_iter().find(|&(i, _)| self.domains.write(i, line)) else {
            return;
        };
        let next = Chosen { verdict, moves, ..seen };
        // ORDERING: Release, with the Acquire in `chosen`. Relaxed on failure: nothing is done then.
        let _ = self.word.compare_exchange(
            seen.to_word(),
            next.to_word(),
            Ordering::Release,
            Ordering::Relaxed,
        );
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

    /// Takes the first call; whether this was it.
    fn set_call(&self, source: Source) -> bool {
        let value = match source {
            Source::Counter => 1,
            Source::Os => 2,
        };
        // ORDERING: Relaxed, see `call`.
        self.call.compare_exchange(0, value, Ordering::Relaxed, Ordering::Relaxed).is_ok()
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
    CHOICE.0.chosen().verdict.mode
}

/// How often ticks have been moved or replaced.
pub(crate) fn moves() -> u8 {
    CHOICE.0.chosen().moves
}

/// The tick of what the counter or the OS clock reads, where `chosen` moves or replaces ticks.
pub(crate) fn tick_of(chosen: Chosen, raw: u64) -> u64 {
    CHOICE.0.domains.tick(usize::from(chosen.moves).wrapping_sub(1), raw)
}

/// Gives ticks by `line` from now on, for the reason in `verdict`, unless `seen` is in force no more
/// or ticks have been moved too often.
pub(crate) fn replace(seen: Chosen, verdict: Verdict, line: Line) {
    CHOICE.0.replace(seen, verdict, line);
}

/// Whether the kernel, asked again, has left the counter that `chosen` relies on.
pub(crate) fn kernel_left_counter(chosen: Chosen) -> bool {
    let words = &mut [0; CLOCKSOURCE_BYTES];
    chosen.verdict.mode.reads_counter()
        && !chosen.forced
        && decide(counter::features(), &os::kernel_view(words), None, Request::Unset).reason
            == Reason::KernelAvoidsCounter
}

/// The choice, made now if it has not been made yet.
pub(crate) fn choose() -> Chosen {
    let published =
        || Some(CHOICE.0.chosen()).filter(|chosen| chosen.verdict.mode != Mode::Undecided);
    if let Some(chosen) = published() {
        return chosen;
    }
    let request = os::requested_source();
    let kernel_words = &mut [0; CLOCKSOURCE_BYTES];
    let kernel = os::kernel_view(kernel_words);
    let verdict = decide(counter::features(), &kernel, CHOICE.0.call(), request);
    let chosen = Chosen {
        verdict,
        forced: matches!(verdict.reason, Reason::Call | Reason::Environment),
        request_ignored: request == Request::Invalid,
        moves: 0,
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

/// Takes down what [`force_source`](crate::force_source) asks for, for [`choose`] to weigh.
pub(crate) fn request(source: Source) -> Result<(), ForceError> {
    let first = mode() == Mode::Undecided && CHOICE.0.set_call(source);
    if first { Ok(()) } else { Err(ForceError(())) }
}

/// Whether the choice is what [`request`] asked for, or that can't be had.
pub(crate) fn check(source: Source) -> Result<(), ForceError> {
    let verdict = choose().verdict;
    let followed = verdict.reason == Reason::Call && verdict.mode.source() == source;
    if followed || verdict.source_was_impossible() { Ok(()) } else { Err(ForceError(())) }
}

/// The error of [`force_source`](crate::force_source): the clock had been read before the call.
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
                for (request_ignored, forced, moves) in
                    [(false, false, 0), (true, false, 7), (false, true, 5)]
                {
                    let verdict = Verdict { mode, reason };
                    let chosen = Chosen { verdict, request_ignored, forced, moves };
                    assert_eq!(Chosen::from_word(chosen.to_word()), chosen);
                }
            }
        }
    }
}
