//! The choice of the source, published as one word.

use super::domain::{DOMAINS, WORDS, line_of, to_words};
use super::request::{ORDER, SOURCE};
use super::verdict::{Access, Mode, Verdict, Wish, decide, kernel_verdict, without_counter};
use super::{Cause, Source};
use crate::counter;
use crate::error::Error;
use crate::line::Line;
use crate::os::{self, CLOCKSOURCE_BYTES, KernelView};
use crate::sync::{Succession, generation};

/// The choice of a process's source, or the program's request before the choice is made. The
/// entries are the domains: the lines from readings to ticks, once ticks have been moved or
/// replaced.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Choice {
    pub(crate) word: Succession<WORDS, DOMAINS>,
}

/// The choice at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chosen {
    word: u64,
    line: Option<Line>,
}

// The fields of the word. The mode and the cause are zero before the choice.
const MODE: u64 = 0xf;
const CAUSE_SHIFT: u32 = 4;
const CAUSE: u64 = 0x1f << CAUSE_SHIFT;
/// `TACH_SOURCE` had an unknown value.
const SOURCE_IGNORED: u64 = 1 << 9;
/// `TACH_ORDER` had an unknown value.
const ORDER_IGNORED: u64 = 1 << 10;
/// The program installed a [`Config`](crate::Config).
const CONFIGURED: u64 = 1 << 11;
/// The program or the environment requested enforced order.
const ENFORCED: u64 = 1 << 12;
/// The source that the program requested.
const CALLED_SHIFT: u32 = 13;
/// The source that the environment requested.
const ENVIRONMENT_SHIFT: u32 = 15;
/// A bare read is one instruction: the counter's.
pub(crate) const BARE: u64 = 1 << 17;
/// An ordered read is one instruction, of a trusted counter.
pub(crate) const ORDERED: u64 = 1 << 18;
/// A thread may read a manual clock in place of this one: no read is one instruction.
const IN_PLACE: u64 = 1 << 19;

const fn flag(is_set: bool, bit: u64) -> u64 {
    if is_set { bit } else { 0 }
}

/// Returns the two bits of a requested source.
fn source_bits(source: Option<Source>) -> u64 {
    source.map_or(0, |source| if source == Source::Counter { 1 } else { 2 })
}

fn source_at(word: u64, shift: u32) -> Option<Source> {
    match word >> shift & 3 {
        1 => Some(Source::Counter),
        2 => Some(Source::Os),
        _ => None,
    }
}

/// Replaces the verdict in a word. Once a manual clock may stand in place of this one, no mode's
/// read is one instruction.
fn with_verdict(word: u64, Verdict { mode, cause }: Verdict) -> u64 {
    let reads = match mode {
        _ if word & IN_PLACE != 0 => 0,
        Mode::SelfOrdered => BARE | ORDERED,
        Mode::Fenced | Mode::Enforced => BARE,
        _ => 0,
    };
    let rest = word & !(MODE | CAUSE | BARE | ORDERED);
    rest | reads | mode as u64 | (cause as u64) << CAUSE_SHIFT
}

impl Chosen {
    /// Returns the mode: [`Mode::Undecided`] before the choice.
    pub(crate) fn mode(self) -> Mode {
        Mode::of(self.word & MODE)
    }

    pub(crate) fn cause(self) -> Cause {
        Cause::ALL[((self.word & CAUSE) >> CAUSE_SHIFT) as usize]
    }

    pub(crate) fn ignored_source(self) -> bool {
        self.word & SOURCE_IGNORED != 0
    }

    pub(crate) fn ignored_order(self) -> bool {
        self.word & ORDER_IGNORED != 0
    }

    /// Returns the number of times that ticks have been moved or replaced.
    pub(crate) fn moves(self) -> u64 {
        generation(self.word)
    }

    /// Returns whether the user requested the counter, so that the kernel's opinion does not count.
    pub(crate) fn is_forced(self) -> bool {
        matches!(wish(self.word).source, Some((Source::Counter, _)))
    }

    /// Returns whether the program or the environment requested a source other than the one in use.
    pub(crate) fn refused_source(self) -> bool {
        let requests = [CALLED_SHIFT, ENVIRONMENT_SHIFT].map(|shift| source_at(self.word, shift));
        requests.into_iter().flatten().any(|source| source != self.mode().source())
    }

    /// Returns the tick at a reading of the counter or the OS clock.
    pub(crate) fn tick_at(self, raw: u64) -> u64 {
        self.line.map_or(raw, |line| line.ns_at(raw))
    }

    /// Returns whether the kernel, according to its files, has left the counter in use.
    pub(crate) fn kernel_left_counter(self) -> bool {
        let words = &mut [0; CLOCKSOURCE_BYTES];
        let mut verdict = || kernel_verdict(&os::kernel_view(words), counter::CLOCKSOURCES);
        self.mode().reads_counter()
            && !self.is_forced()
            && verdict() == Some(Cause::KernelAvoidsCounter)
    }
}

/// The requests of the program's [`Config`](crate::Config).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Request {
    pub(crate) source: Option<Source>,
    pub(crate) enforced: bool,
}

impl Choice {
    pub(crate) const fn new() -> Self {
        Self { word: Succession::new() }
    }

    /// Installs the request, for [`choose_after`](Self::choose_after) to weigh, unless another one
    /// was installed before or the choice is made.
    pub(crate) fn install(&self, request: Request) -> Result<(), Error> {
        let source = source_bits(request.source) << CALLED_SHIFT;
        if self.word.change(0, CONFIGURED | flag(request.enforced, ENFORCED) | source) {
            return Ok(());
        }
        let is_configured = self.word.has(CONFIGURED);
        Err(if is_configured { Error::CONFIGURED } else { Error::CLOCK_READ })
    }

    /// Returns the mode, for callers that need no domain.
    #[inline]
    pub(crate) fn mode(&self) -> Mode {
        Mode::of(self.word.word() & MODE)
    }

    /// Returns the choice, with its domain.
    #[inline(never)]
    pub(crate) fn get(&self) -> Chosen {
        let (word, domain) = self.word.get();
        Chosen { word, line: domain.map(line_of) }
    }

    /// Converts readings to ticks by `line` from now on, unless `seen` is no longer the choice.
    pub(crate) fn replace(&self, seen: Chosen, verdict: Verdict, line: Line) {
        self.word.replace(seen.word, with_verdict(seen.word, verdict), &to_words(line));
    }

    /// Makes no read a single instruction from now on: each read first looks for a manual clock.
    #[allow(dead_code, reason = "for manual clocks, which are not everywhere")]
    pub(crate) fn read_in_place(&self) {
        let mut seen = self.word.word();
        while seen & IN_PLACE == 0 {
            self.word.change(seen, (seen | IN_PLACE) & !(BARE | ORDERED));
            seen = self.word.word();
        }
    }

    /// Enforces strict order from now on, where an ordered read kept it.
    pub(crate) fn enforce_order(&self) {
        loop {
            let seen = self.get();
            if !matches!(seen.mode(), Mode::Fenced | Mode::SelfOrdered) {
                return;
            }
            let verdict = Verdict { mode: Mode::Enforced, cause: seen.cause() };
            if self.word.change(seen.word, with_verdict(seen.word, verdict)) {
                return;
            }
        }
    }

    /// Makes the choice, unless it is made. If the counter may be read, calls `begin` before
    /// collecting the evidence that takes time.
    pub(crate) fn choose_after(&self, begin: &mut dyn FnMut()) {
        // Read with `get`, not with `mode`: only its Acquire makes visible what was found out
        // before the choice.
        loop {
            let seen = self.get();
            if seen.mode() != Mode::Undecided {
                return;
            }
            self.try_choose(seen.word, begin);
        }
    }

    /// Makes the choice, unless another thread has made it or installed a request since `seen`.
    #[cold]
    #[inline(never)]
    fn try_choose(&self, seen: u64, begin: &mut dyn FnMut()) {
        let (source, order) = (SOURCE.read(), ORDER.read());
        let word = seen
            | source_bits(source.ok().flatten()) << ENVIRONMENT_SHIFT
            | flag(matches!(order, Ok(Some(_))), ENFORCED)
            | flag(source.is_err(), SOURCE_IGNORED)
            | flag(order.is_err(), ORDER_IGNORED);
        let verdict = weigh(wish(word), begin, None);
        if !self.word.change(seen, with_verdict(word, verdict)) {
            return;
        }
        if source.is_err() {
            os::report(SOURCE.complaint);
        }
        if order.is_err() {
            os::report(ORDER.complaint);
        }
    }
}

/// Returns the verdict on this machine, without requests, if the kernel had stated `view`.
pub(crate) fn verdict_under(view: &KernelView<'_>) -> Verdict {
    weigh(wish(0), &mut || (), Some(view))
}

/// Returns the requests in a word. The program's has priority.
fn wish(word: u64) -> Wish {
    let by = |shift, cause| source_at(word, shift).map(|source| (source, cause));
    Wish {
        source: by(CALLED_SHIFT, Cause::Call).or(by(ENVIRONMENT_SHIFT, Cause::Environment)),
        enforced: word & ENFORCED != 0,
    }
}

/// Returns the verdict on this machine's counter. `stated`, if given, replaces the kernel's
/// statements. Collects no evidence about a counter that is not wanted: a process may be allowed to
/// read the OS clock and nothing else.
fn weigh(wish: Wish, begin: &mut dyn FnMut(), stated: Option<&KernelView<'_>>) -> Verdict {
    let wants_os_clock = cfg!(tach_source = "os") || matches!(wish.source, Some((Source::Os, _)));
    let access = Access {
        has_counter: counter::CLOCKSOURCES.has_counter(),
        // This must precede the first read of a clock: `counter_readable` also decides whether
        // clocks are read by system call.
        counter_readable: !wants_os_clock && os::counter_readable(),
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

/// A counter that starts at this value or above is not used: ticks are signed numbers, and the
/// counter could pass the greatest one. A counter of 3 GHz takes 48 years from zero to this value,
/// and as many from this value to the greatest. (A hypervisor may start the counter at any value.)
const LAST_START: u64 = 1 << 62;

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(choice: &Choice, mode: Mode, cause: Cause) -> Chosen {
        let seen = choice.get();
        assert!(choice.word.change(seen.word, with_verdict(seen.word, Verdict { mode, cause })));
        choice.get()
    }

    #[test]
    fn the_word_holds_every_verdict_and_keeps_the_rest() {
        let choice = Choice::new();
        assert_eq!((choice.mode(), choice.get().moves()), (Mode::Undecided, 0));
        let request = Request { source: Some(Source::Os), enforced: true };
        choice.install(request).expect("the first");
        for mode in Mode::ALL {
            for (index, cause) in Cause::ALL.into_iter().enumerate() {
                assert_eq!(cause as usize, index);
                let chosen = chosen(&choice, mode, cause);
                assert_eq!((chosen.mode(), choice.mode(), chosen.cause()), (mode, mode, cause));
                assert_eq!(choice.word.has(BARE), mode >= Mode::Enforced, "{mode:?}");
                assert_eq!(choice.word.has(ORDERED), mode == Mode::SelfOrdered);
                let Wish { source, enforced } = wish(chosen.word);
                assert_eq!((source, enforced), (Some((Source::Os, Cause::Call)), true));
                assert!(!chosen.ignored_source() && !chosen.ignored_order());
            }
        }
    }

    #[test]
    fn with_a_clock_in_place_no_read_is_one_instruction_in_any_mode() {
        let choice = Choice::new();
        for (before, after) in Mode::ALL.into_iter().flat_map(|a| Mode::ALL.map(|b| (a, b))) {
            let of = |choice: &Choice, mode| chosen(choice, mode, Cause::NoCounter).mode();
            assert_eq!(of(&choice, before), before);
            choice.read_in_place();
            assert_eq!((choice.mode(), of(&choice, after)), (before, after));
            assert!(!choice.word.has(BARE | ORDERED), "{after:?}");
        }
    }

    #[test]
    fn each_source_can_be_requested_and_refused() {
        use Source::{Counter, Os};
        let cases = [
            (None, None, Mode::Os, false),
            (Some(Counter), None, Mode::SelfOrdered, false),
            (Some(Counter), None, Mode::Replaced, true),
            (Some(Os), None, Mode::Os, false),
            (None, Some(Counter), Mode::Os, true),
            (None, Some(Counter), Mode::Moved, false),
            // The program's call takes precedence over the environment.
            (Some(Counter), Some(Os), Mode::Enforced, true),
            (Some(Os), Some(Os), Mode::Os, false),
        ];
        for (called, environment, mode, refused) in cases {
            let choice = Choice::new();
            choice.install(Request { source: called, enforced: false }).expect("the first");
            let requested = choice.word.word() | source_bits(environment) << ENVIRONMENT_SHIFT;
            assert!(choice.word.change(choice.word.word(), requested));
            let found = chosen(&choice, mode, Cause::NoCounter);
            assert_eq!(found.refused_source(), refused, "{called:?} {environment:?} {mode:?}");
            let forced = called.or(environment) == Some(Counter);
            assert_eq!(found.is_forced(), forced, "{called:?} {environment:?}");
        }
    }

    #[test]
    fn a_request_is_installed_once_and_before_the_choice() {
        for request in [Request::default(), Request { source: Some(Source::Os), enforced: true }] {
            let choice = Choice::new();
            choice.install(request).expect("the first");
            assert_eq!(choice.mode(), Mode::Undecided);
            assert_eq!(choice.install(request), Err(Error::CONFIGURED));
        }
        let choice = Choice::new();
        chosen(&choice, Mode::Os, Cause::NoCounter);
        assert_eq!(choice.install(Request::default()), Err(Error::CLOCK_READ));
    }

    #[test]
    fn ticks_are_moved_without_end() {
        let choice = Choice::new();
        let verdict = Verdict { mode: Mode::Replaced, cause: Cause::OsClockRegressed };
        let first = chosen(&choice, Mode::Os, Cause::Environment);
        assert_eq!(first.tick_at(1), 1);
        for n in 1..2_000 {
            let line = Line { start_tick: 0, start_ns: n, rate: crate::line::Rate::ONE };
            choice.replace(choice.get(), verdict, line);
            // `first` is no longer the choice, so this call must change nothing.
            choice.replace(first, verdict, Line { start_ns: 0, ..line });
            let now = choice.get();
            assert_eq!((now.moves(), now.tick_at(1), now.mode()), (n, n + 1, Mode::Replaced));
        }
    }
}
