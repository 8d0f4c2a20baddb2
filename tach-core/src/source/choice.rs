//! The choice of the source, published as one word.

use crossbeam_utils::CachePadded;

use super::domain::{DOMAINS, WORDS, line_of, to_words};
use super::request::{ORDER, SOURCE};
use super::verdict::{Access, Mode, Verdict, Wish, decide, kernel_verdict, without_counter};
use super::{Cause, Order, Source};
use crate::counter;
use crate::error::Error;
use crate::line::Line;
use crate::os::{self, CLOCKSOURCE_BYTES, KernelView};
use crate::sync::Succession;

/// The choice, as [`CHOICE`] holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a bit of the word")]
pub(crate) struct Chosen {
    pub(crate) verdict: Verdict,
    /// `TACH_SOURCE` had an unknown value.
    pub(crate) source_ignored: bool,
    /// `TACH_ORDER` had an unknown value.
    pub(crate) order_ignored: bool,
    /// The user requested this source, so the kernel's opinion does not count.
    pub(crate) forced: bool,
    /// The program installed a [`Config`](crate::Config).
    configured: bool,
    /// The number of times that ticks have been moved or replaced.
    pub(crate) moves: u8,
    /// The domain of the ticks: 0 for none, else its index plus one.
    domain: u8,
}

impl Chosen {
    const REASON_BITS: u32 = 0x1f;
    const SOURCE_IGNORED: u32 = 0x20;
    const MOVES_SHIFT: u32 = 6;
    const FORCED: u32 = 0x200;
    const ORDER_IGNORED: u32 = 0x400;
    const DOMAIN_SHIFT: u32 = 11;
    /// Set before the choice, too.
    const CONFIGURED: u32 = 0x4000;
    const MODE_SHIFT: u32 = 16;

    fn to_word(self) -> u32 {
        let flag = |is_set, bit| if is_set { bit } else { 0 };
        (self.verdict.mode as u32) << Self::MODE_SHIFT
            | flag(self.order_ignored, Self::ORDER_IGNORED)
            | u32::from(self.domain) << Self::DOMAIN_SHIFT
            | flag(self.configured, Self::CONFIGURED)
            | flag(self.forced, Self::FORCED)
            | u32::from(self.moves) << Self::MOVES_SHIFT
            | flag(self.source_ignored, Self::SOURCE_IGNORED)
            | self.verdict.cause as u32
    }

    fn from_word(word: u32) -> Self {
        Self {
            verdict: Verdict {
                mode: Mode::ALL[(word >> Self::MODE_SHIFT) as usize],
                cause: Cause::ALL[(word & Self::REASON_BITS) as usize],
            },
            source_ignored: word & Self::SOURCE_IGNORED != 0,
            order_ignored: word & Self::ORDER_IGNORED != 0,
            forced: word & Self::FORCED != 0,
            configured: word & Self::CONFIGURED != 0,
            moves: (word >> Self::MOVES_SHIFT & 7) as u8,
            domain: (word >> Self::DOMAIN_SHIFT & 7) as u8,
        }
    }
}

/// The choice, as a [`Chosen`] word. Before the choice is made, the request, as an [`Undecided`]
/// word, whose mode is [`Mode::Undecided`]. The entries are the domains: the lines from readings to
/// ticks, once ticks have been moved or replaced.
static CHOICE: CachePadded<Succession<WORDS, DOMAINS>> = CachePadded::new(Succession::new());

/// The requests of the program's [`Config`](crate::Config).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Request {
    pub(crate) source: Option<Source>,
    pub(crate) enforced: bool,
}

/// The state before the choice: the request that is installed, if any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Undecided(Option<Request>);

impl Undecided {
    const COUNTER: u32 = 1;
    const OS: u32 = 2;
    const ENFORCED: u32 = 4;

    fn to_word(self) -> u32 {
        let Some(request) = self.0 else { return 0 };
        let source = match request.source {
            None => 0,
            Some(Source::Counter) => Self::COUNTER,
            Some(Source::Os) => Self::OS,
        };
        let order = if request.enforced { Self::ENFORCED } else { 0 };
        Chosen::CONFIGURED | source | order
    }

    fn from_word(word: u32) -> Self {
        let source = match word & (Self::COUNTER | Self::OS) {
            Self::COUNTER => Some(Source::Counter),
            Self::OS => Some(Source::Os),
            _ => None,
        };
        let request = Request { source, enforced: word & Self::ENFORCED != 0 };
        Self((word & Chosen::CONFIGURED != 0).then_some(request))
    }

    /// Returns the state, or `None` once the choice is made.
    fn get() -> Option<Self> {
        let word = CHOICE.word();
        (word >> Chosen::MODE_SHIFT == Mode::Undecided as u32).then(|| Self::from_word(word))
    }
}

/// Installs the request, for [`choose`] to weigh, unless another one was installed before or the
/// choice is made.
pub(crate) fn install(request: Request) -> Result<(), Error> {
    let new = Undecided(Some(request)).to_word();
    if CHOICE.change(Undecided(None).to_word(), new) {
        return Ok(());
    }
    let is_configured = CHOICE.word() & Chosen::CONFIGURED != 0;
    Err(if is_configured { Error::CONFIGURED } else { Error::CLOCK_READ })
}

/// Returns whether a read is the counter's, by one load and one comparison.
#[inline]
pub(crate) fn reads_counter() -> bool {
    CHOICE.word() >= (Mode::Enforced as u32) << Chosen::MODE_SHIFT
}

/// Returns whether an ordered read is one instruction of a trusted counter, at the same cost.
#[inline]
pub(crate) fn reads_self_ordered_counter() -> bool {
    CHOICE.word() >= (Mode::SelfOrdered as u32) << Chosen::MODE_SHIFT
}

/// Returns whether strict order is enforced on a counter that was not moved.
#[inline]
pub(crate) fn enforces_counter() -> bool {
    CHOICE.word() >> Chosen::MODE_SHIFT == Mode::Enforced as u32
}

/// Returns the current choice: [`Mode::Undecided`] before [`choose`].
fn chosen() -> Chosen {
    Chosen::from_word(CHOICE.word_with_entries())
}

pub(crate) fn mode() -> Mode {
    chosen().verdict.mode
}

pub(crate) fn moves() -> u8 {
    chosen().moves
}

/// Returns the tick at a reading of the counter or the OS clock, if `chosen` moves or replaces
/// ticks.
#[cold]
#[inline(never)]
pub(crate) fn tick_of(chosen: Chosen, raw: u64) -> u64 {
    let domain = CHOICE.entry(usize::from(chosen.domain).wrapping_sub(1));
    domain.map_or(raw, |words| line_of(words).ns_at(raw))
}

/// Converts readings to ticks by `line` from now on, with the cause in `verdict`, unless `seen` is
/// no longer in force or ticks have been moved too often.
pub(crate) fn replace(seen: Chosen, verdict: Verdict, line: Line) {
    #[expect(clippy::cast_possible_truncation, reason = "less than DOMAINS")]
    let next = |index| Chosen { verdict, moves: seen.moves + 1, domain: index as u8 + 1, ..seen };
    let domain_at = |index| to_words(line, next(index).to_word());
    CHOICE.replace(seen.to_word(), usize::from(seen.domain), domain_at);
}

/// Enforces strict order from now on, where an ordered read kept it.
pub(crate) fn enforce_order() {
    loop {
        let seen = chosen();
        let Verdict { mode: Mode::Fenced | Mode::SelfOrdered, cause } = seen.verdict else {
            return;
        };
        let next = Chosen { verdict: Verdict { mode: Mode::Enforced, cause }, ..seen };
        if CHOICE.change(seen.to_word(), next.to_word()) {
            return;
        }
    }
}

/// Returns whether the kernel, according to its files, has left the counter that `chosen` relies
/// on.
pub(crate) fn kernel_left_counter(chosen: Chosen) -> bool {
    let words = &mut [0; CLOCKSOURCE_BYTES];
    let mut verdict = || kernel_verdict(&os::kernel_view(words), counter::CLOCKSOURCES);
    chosen.verdict.mode.reads_counter()
        && !chosen.forced
        && verdict() == Some(Cause::KernelAvoidsCounter)
}

/// Returns the choice, and makes it first if needed.
pub(crate) fn choose() -> Chosen {
    choose_after(&mut || ())
}

/// Chooses as [`choose`] does. If the counter may be read, calls `begin` before collecting the
/// evidence that takes long.
pub(crate) fn choose_after(begin: &mut dyn FnMut()) -> Chosen {
    if Undecided::get().is_some() {
        decide_now(begin);
    }
    chosen()
}

#[cold]
#[inline(never)]
fn decide_now(begin: &mut dyn FnMut()) {
    while let Some(undecided) = Undecided::get() {
        if try_choose(undecided, begin) {
            return;
        }
    }
}

/// Returns the verdict on this machine, without requests, if the kernel had stated `view`.
pub(crate) fn verdict_under(view: &KernelView<'_>) -> Verdict {
    weigh(wish(Request::default(), None, None), &mut || (), Some(view))
}

/// Returns the requests of the program and of the environment, as one.
fn wish(program: Request, source: Option<Source>, order: Option<Order>) -> Wish {
    let called = program.source.map(|source| (source, Cause::Call));
    Wish {
        source: called.or(source.map(|source| (source, Cause::Environment))),
        enforced: program.enforced || order == Some(Order::Enforced),
    }
}

/// Returns the verdict on this machine's counter. `stated`, if given, replaces the kernel's
/// statements. Collects no evidence about a counter that is not wanted.
fn weigh(wish: Wish, begin: &mut dyn FnMut(), stated: Option<&KernelView<'_>>) -> Verdict {
    let access = Access {
        has_counter: counter::CLOCKSOURCES.has_counter(),
        // Before any clock is read, since this also decides how clocks are read.
        counter_readable: os::counter_readable(),
        has_monotonic_clock: os::has_monotonic_clock(),
    };
    if let Some(verdict) = without_counter(access, wish) {
        return verdict;
    }
    begin();
    let words = &mut [0; CLOCKSOURCE_BYTES];
    let features = counter::features(os::cpu_capabilities());
    let view = stated.map_or_else(|| os::kernel_view(words), |view| *view);
    let verdict = decide(features, counter::CLOCKSOURCES, &view, wish);
    if verdict.mode.reads_counter() && counter::ticks_fenced() >= LAST_START {
        return Verdict { mode: Mode::Os, cause: Cause::CounterNearEnd };
    }
    verdict
}

/// A counter that has this value at the start is not read: ticks are signed numbers, and it could
/// pass the greatest one. A counter of 3 GHz takes 48 years from zero to this value, and as many
/// from this value to the greatest. (A hypervisor may start the counter at any value.)
const LAST_START: u64 = 1 << 62;

/// Makes the choice and returns `true`, unless another thread has made it or installed a
/// request meanwhile.
fn try_choose(undecided: Undecided, begin: &mut dyn FnMut()) -> bool {
    let (source, order) = (SOURCE.read(), ORDER.read());
    let wish = wish(undecided.0.unwrap_or_default(), source.get(), order.get());
    let verdict = weigh(wish, begin, None);
    let chosen = Chosen {
        verdict,
        forced: matches!(verdict.cause, Cause::Call | Cause::Environment),
        source_ignored: source.is_nonsense(),
        order_ignored: order.is_nonsense(),
        configured: undecided.0.is_some(),
        moves: 0,
        domain: 0,
    };
    if !CHOICE.change(undecided.to_word(), chosen.to_word()) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_holds_every_choice() {
        for mode in Mode::ALL {
            for (index, cause) in Cause::ALL.into_iter().enumerate() {
                assert_eq!(cause as usize, index);
                for (flags, moves, domain) in
                    [(0, 0, 0), (1, 7, 0), (2, 0, 7), (4, 1, 2), (8, 3, 1), (15, 6, 5)]
                {
                    let chosen = Chosen {
                        verdict: Verdict { mode, cause },
                        source_ignored: flags & 1 != 0,
                        order_ignored: flags & 2 != 0,
                        forced: flags & 4 != 0,
                        configured: flags & 8 != 0,
                        moves,
                        domain,
                    };
                    assert_eq!(Chosen::from_word(chosen.to_word()), chosen);
                }
            }
        }
    }

    #[test]
    fn a_word_before_the_choice_is_undecided_and_keeps_the_request() {
        let sources = [None, Some(Source::Counter), Some(Source::Os)];
        let with = |enforced| sources.map(|source| Some(Request { source, enforced }));
        let all = with(false).into_iter().chain(with(true)).chain([None]).map(Undecided);
        for undecided in all {
            assert_eq!(Undecided::from_word(undecided.to_word()), undecided);
            assert_eq!(undecided.to_word() >> Chosen::MODE_SHIFT, Mode::Undecided as u32);
        }
    }
}
