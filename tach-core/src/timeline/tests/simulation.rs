//! A simulated machine: a counter, two OS clocks, and their faults.

use core::cell::{Cell, RefCell};
use core::time::Duration;

use crate::line::{Direction, Line, Rate};
use crate::sample::{ClockPair, CounterFailure};
use crate::source::{Mode, after_failure};
use crate::system::{Witness, settle};
use crate::timeline::{BackwardStep, Question, Round, Timeline};

pub(super) const NS_PER_S: u64 = 1_000_000_000;

/// A small generator (`SplitMix64`), whose seed replays a run.
pub(super) struct Random(pub(super) Cell<u64>);

impl Random {
    fn next(&self) -> u64 {
        self.0.set(self.0.get().wrapping_add(0x9e37_79b9_7f4a_7c15));
        let mixed = (self.0.get() ^ self.0.get() >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    pub(super) fn below(&self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// Returns a number from `-limit` to `limit`.
    pub(super) fn within(&self, limit: u64) -> i64 {
        let signed = |value| i64::try_from(value).unwrap();
        signed(self.below(2 * limit + 1)) - signed(limit)
    }

    /// Returns a number up to `limit`, each order of magnitude equally likely.
    pub(super) fn magnitude(&self, limit: u64) -> u64 {
        let bits = self.below(u64::from(limit.ilog2()) + 1);
        (1 << bits) + self.below(1 << bits)
    }

    pub(super) fn one_in(&self, times: u64) -> bool {
        times != 0 && self.below(times) == 0
    }

    pub(super) fn pick<T: Copy>(&self, choices: &[T]) -> T {
        choices[usize::try_from(self.below(choices.len() as u64)).unwrap()]
    }
}

/// A counter of about 2.7 GHz and an OS clock; reads of both take time.
pub(super) struct Machine {
    /// The correct counter, the measure of all simulated time.
    pub(super) tick: Cell<u64>,
    pub(super) os: Cell<Line>,
    pub(super) random: Random,
    /// One read in this many is interrupted; 0 for none.
    pub(super) interrupted_one_in: u64,
    /// The longest interruption.
    pub(super) interruption_ns: u64,
    /// The step of the OS clocks.
    pub(super) resolution_ns: u64,
    /// Whether the system states that step, or 1 ns.
    pub(super) states_steps: bool,
    /// The skew of the current core's counter.
    pub(super) skew_ticks: Cell<i64>,
    /// The displacement of the counter from its correct value: it jumped or went back.
    pub(super) displaced_ticks: Cell<i64>,
    /// The counter goes back by these ticks after this many more reads.
    pub(super) goes_back: Cell<Option<(u32, i64)>>,
    /// The tick at which the counter stands still.
    pub(super) stopped_at: Cell<Option<u64>>,
    pub(super) nominal: Rate,
    /// The frequency that the CPU declares.
    pub(super) declared_hz: Option<u64>,
}

impl Machine {
    pub(super) fn new(seed: u64) -> Self {
        Self::with_rate(seed, Rate::from_slope(10 * NS_PER_S, 27_000_000_000))
    }

    pub(super) fn with_rate(seed: u64, nominal: Rate) -> Self {
        let os = Line { start_tick: 1 << 40, start_ns: 10_000 * NS_PER_S, rate: nominal };
        Self {
            tick: Cell::new(os.start_tick),
            os: Cell::new(os),
            random: Random(Cell::new(seed)),
            interrupted_one_in: 20,
            interruption_ns: 50_000,
            resolution_ns: 1,
            states_steps: true,
            skew_ticks: Cell::new(0),
            displaced_ticks: Cell::new(0),
            goes_back: Cell::new(None),
            stopped_at: Cell::new(None),
            nominal,
            declared_hz: None,
        }
    }

    pub(super) fn pass_ticks(&self, ticks: u64) {
        self.tick.set(self.tick.get() + ticks);
    }

    /// Returns the time since the counter was 0, which no clock shows: it goes on in a suspend.
    pub(super) fn passed_ns(&self) -> u64 {
        self.nominal.ns(self.tick.get())
    }

    pub(super) fn pass_ns(&self, ns: u64) {
        self.pass_ticks(self.os.get().rate.ticks(ns).unwrap());
    }

    pub(super) fn os_ns_at(&self, tick: u64) -> u64 {
        self.os.get().ns_at(tick)
    }

    /// Makes the OS clock run `ppb` faster than the machine's nominal rate from now on.
    pub(super) fn set_drift(&self, ppb: i64) {
        let (tick, ns) = (self.tick.get(), self.os_ns_at(self.tick.get()));
        let rate = self.nominal.changed_by(i128::from(ppb) << 16, NS_PER_S);
        // Restarting a line truncates its fractional nanosecond. Restart it only if the rate
        // changed.
        if rate != self.os.get().rate {
            self.os.set(Line { start_tick: tick, start_ns: ns, rate });
        }
    }

    pub(super) fn step(&self, by_ns: i64) {
        let (tick, ns) = (self.tick.get(), self.os_ns_at(self.tick.get()));
        let start_ns = ns.checked_add_signed(by_ns).unwrap();
        self.os.set(Line { start_tick: tick, start_ns, ..self.os.get() });
    }

    /// Returns the counter of the current core.
    pub(super) fn counter(&self) -> u64 {
        let displaced = self.displaced_ticks.get() + self.skew_ticks.get();
        self.stopped_at
            .get()
            .unwrap_or_else(|| self.tick.get().checked_add_signed(displaced).unwrap())
    }

    fn count_read(&self) {
        match self.goes_back.get() {
            Some((0, ticks)) => {
                self.displaced_ticks.set(self.displaced_ticks.get() - ticks);
                self.goes_back.set(None);
            }
            Some((reads, ticks)) => self.goes_back.set(Some((reads - 1, ticks))),
            None => {}
        }
    }

    /// Reads the OS clock, which takes time, before the clock's steps are applied.
    fn read_os_ns(&self) -> u64 {
        self.a_read_takes(30);
        let ns = self.os_ns_at(self.tick.get());
        self.a_read_takes(30);
        ns
    }

    /// Passes the time of a read that takes this many ticks of a counter of 2.7 GHz. A slower
    /// counter does not move at every read.
    fn a_read_takes(&self, ticks: u64) {
        let thousandths = (ticks + self.random.below(4)) * (self.nominal.hz() / 1000) / 2_700;
        self.pass_ticks((thousandths + self.random.below(1000)) / 1000);
        if self.random.one_in(self.interrupted_one_in) {
            self.pass_ns(self.random.below(self.interruption_ns));
        }
    }
}

impl ClockPair for Machine {
    fn ticks(&self) -> u64 {
        self.a_read_takes(25);
        let tick = self.counter();
        self.a_read_takes(25);
        tick
    }

    fn os_ns(&self) -> Option<u64> {
        let ns = self.read_os_ns();
        Some(ns - ns % self.resolution_ns)
    }

    fn resolution_ns(&self) -> u64 {
        if self.states_steps { self.resolution_ns } else { 1 }
    }

    fn declared_hz(&self) -> Option<u64> {
        self.declared_hz
    }
}

impl Witness for Machine {}

/// Clocks that answer a timeline's questions about them.
pub(super) trait Driver: ClockPair + Witness + Sized {
    /// Repeats `attempt` until no question is left. Each question comes once: at most one about the
    /// rate, three about failures and three about jumps.
    fn settle<T>(&self, mut attempt: impl FnMut(&Round<'_>) -> Result<T, Question>) -> T {
        let mut attempts = 0;
        settle(self, self, |round| {
            attempts += 1;
            assert!(attempts <= 8, "a question was asked twice: {:?}", round.answers);
            attempt(round)
        })
    }
}

impl<T: ClockPair + Witness> Driver for T {}

/// A timeline whose questions are answered by the driver of its clocks.
pub(super) trait Driven {
    fn ns_at(&self, tick: u64, clocks: &impl Driver) -> u64;
    fn ns_between(&self, earlier: u64, later: u64, clocks: &impl Driver) -> u64;
    fn sum(&self, tick: u64, ns: u64, direction: Direction, clocks: &impl Driver) -> Option<u64>;

    fn tick_after(&self, tick: u64, ns: u64, clocks: &impl Driver) -> Option<u64> {
        self.sum(tick, ns, Direction::After, clocks)
    }

    fn tick_before(&self, tick: u64, ns: u64, clocks: &impl Driver) -> Option<u64> {
        self.sum(tick, ns, Direction::Before, clocks)
    }

    fn look(&self, tick: u64, clocks: &impl Driver);
    fn sync(&self, clocks: &impl Driver);
    fn bound(&self, clocks: &impl Driver) -> (u64, u64);
}

impl Driven for Timeline {
    fn ns_at(&self, tick: u64, clocks: &impl Driver) -> u64 {
        let elsewhere = || clocks.settle(|round| self.try_ns_at(tick, round));
        self.current.ns_at(tick).unwrap_or_else(elsewhere)
    }

    fn ns_between(&self, earlier: u64, later: u64, clocks: &impl Driver) -> u64 {
        let near = self.current.ns_between(earlier, later);
        let known = near.or_else(|| self.current.ns_to_future(earlier, later));
        known
            .or_else(|| self.known_ns_between(earlier, later))
            .unwrap_or_else(|| clocks.settle(|round| self.try_ns_between(earlier, later, round)))
    }

    fn sum(&self, tick: u64, ns: u64, direction: Direction, clocks: &impl Driver) -> Option<u64> {
        let duration = Duration::from_nanos(ns);
        let near = self.current.near_sum(tick, duration, direction);
        let is_after = direction == Direction::After;
        let future = || is_after.then(|| self.current.future_sum(tick, duration)).flatten();
        let elsewhere = || clocks.settle(|round| self.try_sum(tick, ns, direction, round));
        let known = || self.known_sum(tick, ns, direction);
        near.or_else(future).or_else(known).or_else(elsewhere)
    }

    fn look(&self, tick: u64, clocks: &impl Driver) {
        clocks.settle(|round| self.try_look(tick, round));
    }

    fn sync(&self, clocks: &impl Driver) {
        clocks.settle(|round| self.try_sync(round));
    }

    fn bound(&self, clocks: &impl Driver) -> (u64, u64) {
        clocks.settle(|round| self.try_bound(round))
    }
}

/// Creates a timeline with this reaction to a clock that is set back.
pub(super) fn timeline(backward: BackwardStep) -> Timeline {
    let timeline = Timeline::new();
    timeline.set_backward_step(backward);
    timeline
}

/// A process on a machine: both timelines, and ticks that continue when the counter fails.
pub(super) struct Process {
    pub(super) machine: Machine,
    pub(super) monotonic: Timeline,
    pub(super) realtime: Timeline,
    /// The real-time clock minus the monotonic one.
    realtime_offset_ns: Cell<i64>,
    /// The error of the OS clock that the timelines see and the test does not: the broken control.
    pub(super) lie_ns: Cell<i64>,
    pub(super) mode: Cell<Mode>,
    /// Whether the monotonic and the real-time clock can't be read.
    pub(super) unread: Cell<[bool; 2]>,
    pub(super) failures: RefCell<Vec<CounterFailure>>,
    /// The lines from raw readings to ticks, one for each time that ticks were moved or replaced.
    domains: RefCell<Vec<Line>>,
}

impl Process {
    pub(super) fn new(machine: Machine, backward: BackwardStep) -> Self {
        Self::reading(Mode::Enforced, machine, backward)
    }

    /// Creates a process that begins with this way to read ticks.
    pub(super) fn reading(mode: Mode, machine: Machine, backward: BackwardStep) -> Self {
        let process = Self::before_first_read(mode, machine, backward);
        process.begin();
        process
    }

    /// Creates a process that has not read its clocks yet.
    pub(super) fn before_first_read(mode: Mode, machine: Machine, backward: BackwardStep) -> Self {
        Self {
            machine,
            monotonic: Timeline::new(),
            realtime: timeline(backward),
            realtime_offset_ns: Cell::new(1_000_000_000 * 1_000_000_000),
            lie_ns: Cell::new(0),
            mode: Cell::new(mode),
            unread: Cell::default(),
            failures: RefCell::default(),
            domains: RefCell::default(),
        }
    }

    /// Begins both timelines, if their clocks can be read.
    fn begin(&self) {
        self.monotonic.begin(None, &MonotonicClock(self));
        self.realtime.begin(None, &RealtimeClock(self));
    }

    /// Reads one of the OS clocks, which is `offset_ns` ahead of the machine's.
    fn read_clock(&self, index: usize, offset_ns: i64) -> Option<u64> {
        let ns = self.machine.read_os_ns().checked_add_signed(offset_ns).unwrap();
        (!self.unread.get()[index]).then(|| ns - ns % self.machine.resolution_ns)
    }

    /// Returns the tick of a reading that takes no time.
    pub(super) fn tick(&self) -> u64 {
        let raw = match self.mode.get() {
            Mode::Os => self.os_ns() - self.os_ns() % self.machine.resolution_ns,
            // Leave out the clock's steps: each look would wait for one.
            Mode::Replaced => self.os_ns(),
            _ => self.machine.counter(),
        };
        self.domains.borrow().last().map_or(raw, |line| line.ns_at(raw))
    }

    /// Returns the exact monotonic clock plus the timeline's offset, and the exact real-time clock.
    pub(super) fn truth_ns(&self) -> (u64, u64) {
        let os_ns = self.os_ns();
        let monotonic_ns = os_ns.wrapping_add(self.monotonic.offset_ns());
        (monotonic_ns, os_ns.checked_add_signed(self.realtime_offset_ns.get()).unwrap())
    }

    /// Returns the exact monotonic clock.
    pub(super) fn os_ns(&self) -> u64 {
        self.machine.os_ns_at(self.machine.tick.get())
    }

    pub(super) fn set_realtime(&self, by_ns: i64) {
        self.realtime_offset_ns.set(self.realtime_offset_ns.get() + by_ns);
    }

    /// Returns the tick of a read, after a look if one is due.
    pub(super) fn read(&self) -> u64 {
        let tick = self.tick();
        if !self.monotonic.current.expects(tick) {
            self.monotonic.look(tick, &MonotonicClock(self));
        }
        if !self.realtime.current.expects(tick) {
            self.realtime.look(tick, &RealtimeClock(self));
        }
        self.tick()
    }

    /// Returns the present tick, and how far one of the timelines (0: the monotonic one) may be
    /// from its clock there.
    pub(super) fn bound(&self, index: usize) -> (u64, u64) {
        match index {
            0 => self.monotonic.bound(&MonotonicClock(self)),
            _ => self.realtime.bound(&RealtimeClock(self)),
        }
    }

    /// Returns the times of both timelines at `tick`.
    pub(super) fn ns_at(&self, tick: u64) -> (u64, u64) {
        let monotonic_ns = self.monotonic.ns_at(tick, &MonotonicClock(self));
        (monotonic_ns, self.realtime.ns_at(tick, &RealtimeClock(self)))
    }

    /// Returns the monotonic time from `earlier` to `later`.
    pub(super) fn between(&self, earlier: u64, later: u64) -> u64 {
        self.monotonic.ns_between(earlier, later, &MonotonicClock(self))
    }

    pub(super) fn sync(&self) {
        self.monotonic.sync(&MonotonicClock(self));
        self.realtime.sync(&RealtimeClock(self));
    }
}

struct MonotonicClock<'a>(&'a Process);
struct RealtimeClock<'a>(&'a Process);

impl ClockPair for MonotonicClock<'_> {
    fn ticks(&self) -> u64 {
        self.0.machine.a_read_takes(25);
        self.0.machine.count_read();
        let tick = self.0.tick();
        self.0.machine.a_read_takes(25);
        tick
    }

    fn keeps_offset(&self) -> bool {
        true
    }

    fn os_ns(&self) -> Option<u64> {
        self.0.read_clock(0, self.0.lie_ns.get())
    }

    fn resolution_ns(&self) -> u64 {
        self.0.machine.resolution_ns()
    }

    fn declared_hz(&self) -> Option<u64> {
        self.0.machine.declared_hz
    }
}

impl Witness for MonotonicClock<'_> {
    fn counter_failed(&self, failure: CounterFailure) {
        if failure == CounterFailure::Untrusted || !self.0.mode.get().reads_counter() {
            return;
        }
        let Some(os_ns) = self.os_ns() else { return };
        let Some(expected) = self.0.monotonic.expected(os_ns, Rate::ONE) else { return };
        let mut failures = self.0.failures.borrow_mut();
        let moves = failures.len();
        let raw = self.0.machine.counter();
        let (mode, line) = after_failure(failure, moves as u64, raw, os_ns, expected);
        self.0.domains.borrow_mut().push(line);
        failures.push(failure);
        self.0.mode.set(mode);
    }

    fn has_clock_jumped(&self, ahead_ns: u64, rate: Rate, since: u64) -> bool {
        let (witness, clocks) = (&self.0.realtime, &RealtimeClock(self.0));
        clocks.settle(|round| witness.try_is_undisturbed(since, ahead_ns, rate, round))
    }
}

impl ClockPair for RealtimeClock<'_> {
    fn ticks(&self) -> u64 {
        MonotonicClock(self.0).ticks()
    }

    fn os_ns(&self) -> Option<u64> {
        self.0.read_clock(1, self.0.realtime_offset_ns.get() + self.0.lie_ns.get())
    }

    fn resolution_ns(&self) -> u64 {
        self.0.machine.resolution_ns()
    }
}

impl Witness for RealtimeClock<'_> {
    fn counter_failed(&self, failure: CounterFailure) {
        MonotonicClock(self.0).counter_failed(failure);
    }

    fn known_rate(&self) -> Option<(Rate, u32)> {
        let (timeline, clocks) = (&self.0.monotonic, &MonotonicClock(self.0));
        clocks.settle(|round| timeline.try_rate(round))
    }
}
