//! The real timeline with one fault at a time.

use core::cell::{Cell, RefCell};
use std::collections::VecDeque;

use super::simulation::{Driven, Driver, Machine, NS_PER_S, timeline};
use crate::line::Direction;
use crate::system::Witness;
use crate::timeline::*;

fn steps(timeline: &Timeline) -> u32 {
    let counts = timeline.newest().unwrap().counts;
    counts.forward_steps + counts.backward_steps
}

/// A conversion of ticks, so that the same test can run on a naive clock.
type Convert<'a> = &'a dyn Fn(u64, &Machine) -> u64;

/// Runs a random load with sleeps of up to two seconds. Returns the worst error in ns, or the
/// violation.
fn violations(seed: u64, convert: Convert<'_>) -> Result<u64, String> {
    let machine = Machine::new(seed);
    machine.set_drift(i64::try_from(machine.random.below(100_000)).unwrap() - 50_000);
    let mut recent: VecDeque<(u64, u64)> = VecDeque::new();
    let (mut last, mut worst) = ((0, 0), 0);
    for _ in 0..3000 {
        machine.pass_ns(machine.random.magnitude(2 * NS_PER_S));
        let tick = machine.ticks();
        let truth = machine.os_ns_at(tick);
        let ns = convert(tick, &machine);
        worst = worst.max(ns.abs_diff(truth));
        if ns < last.1 {
            return Err(format!("tick {tick} is {ns}, after {last:?}"));
        }
        last = (tick, ns);
        recent.push_back(last);
        if recent.len() > 16 {
            recent.pop_front();
        }
        let (tick, ns) =
            recent[usize::try_from(machine.random.below(recent.len() as u64)).unwrap()];
        let again = convert(tick, &machine);
        if again != ns {
            return Err(format!("tick {tick} was {ns} and became {again}"));
        }
    }
    Ok(worst)
}

#[test]
fn it_is_true_pure_and_monotone_under_random_load() {
    for seed in 0..100 {
        let timeline = timeline(BackwardStep::Hold);
        let worst = violations(seed, &|tick, machine| timeline.ns_at(tick, machine));
        let worst = worst.unwrap_or_else(|violation| panic!("seed {seed}: {violation}"));
        assert!(worst <= 100, "seed {seed}: off by {worst} ns");
    }
}

#[test]
fn the_same_test_catches_a_clock_that_is_never_disciplined() {
    for seed in 0..20 {
        let frozen = RefCell::new(None);
        let worst = violations(seed, &|tick, machine| {
            let line = *frozen.borrow_mut().get_or_insert_with(|| {
                let (start_tick, start_ns) = (tick, machine.os_ns_at(tick));
                // The clock is calibrated once, to 1 ppm.
                let rate = machine.os.get().rate.changed_by(1000 << 16, NS_PER_S);
                Line { start_tick, start_ns, rate }
            });
            line.ns_at(tick)
        });
        assert!(worst.unwrap() > 100, "seed {seed} does not show the drift");
    }
}

#[test]
fn the_same_test_catches_a_clock_that_jumps_to_every_sample() {
    let violation = violations(1, &|tick, machine| {
        let sample = Sample::take(machine, 0);
        machine.os.get().ns_at(tick) + sample.unwrap().width_ticks % 7
    });
    assert!(violation.is_err(), "a clock that is neither pure nor monotone passed");
}

#[test]
fn it_is_ready_after_a_short_spin() {
    let machine = Machine { interrupted_one_in: 0, ..Machine::new(1) };
    let timeline = timeline(BackwardStep::Hold);
    timeline.begin(None, &machine);
    let before = machine.tick.get();
    let tick = machine.ticks();
    assert!(timeline.ns_at(tick, &machine).abs_diff(machine.os_ns_at(tick)) <= 100);
    let spent_ns = machine.os.get().rate.ns(machine.tick.get() - before);
    assert!(spent_ns < 60_000, "the first conversion took {spent_ns} ns");
}

#[test]
fn ticks_read_before_the_first_conversion_lie_between_two_known_points() {
    let machine = Machine { interrupted_one_in: 0, ..Machine::new(1) };
    let timeline = timeline(BackwardStep::Hold);
    timeline.begin(None, &machine);
    let ticks: Vec<u64> = (0..100)
        .map(|_| {
            machine.pass_ns(NS_PER_S);
            machine.ticks()
        })
        .collect();
    for tick in ticks {
        let error = timeline.ns_at(tick, &machine).abs_diff(machine.os_ns_at(tick));
        assert!(error <= 50, "off by {error} ns");
    }
}

#[test]
fn an_idle_hour_is_interpolated() {
    let machine = Machine::new(3);
    let timeline = timeline(BackwardStep::Hold);
    timeline.ns_at(machine.ticks(), &machine);
    machine.pass_ns(3600 * NS_PER_S);
    let middle = machine.ticks();
    machine.pass_ns(3600 * NS_PER_S);
    let end = machine.ticks();
    for tick in [end, middle] {
        let error = timeline.ns_at(tick, &machine).abs_diff(machine.os_ns_at(tick));
        assert!(error <= 50, "off by {error} ns");
    }
}

#[test]
fn ticks_older_than_the_records_convert_by_the_origin() {
    let machine = Machine::new(4);
    let timeline = timeline(BackwardStep::Hold);
    let first = machine.ticks();
    timeline.ns_at(first, &machine);
    let old = machine.ticks();
    for _ in 0..100 {
        machine.pass_ns(10 * NS_PER_S);
        timeline.ns_at(machine.ticks(), &machine);
    }
    for tick in [old, old + 1_000_000_000] {
        let error = timeline.ns_at(tick, &machine).abs_diff(machine.os_ns_at(tick));
        assert!(error <= 1000, "off by {error} ns");
    }
    // Before the origin nothing is known: the timeline extends its first line, and keeps its
    // promises.
    let before = timeline.ns_at(first - 2_700_000_000, &machine);
    assert!((timeline.ns_at(first, &machine) - before).abs_diff(NS_PER_S) < 100_000);
    assert!(timeline.ns_at(0, &machine) < before);
}

#[test]
fn the_gaps_of_a_busy_process_are_no_longer_than_its_pauses() {
    let machine = Machine { interrupted_one_in: 0, ..Machine::new(5) };
    let timeline = timeline(BackwardStep::Hold);
    timeline.ns_at(machine.ticks(), &machine);
    let mut last = timeline.newest().unwrap();
    while last.counts.syncs < 40 {
        let length_ticks = last.end_tick - last.piece.knee().tick;
        machine.pass_ticks(length_ticks / 100 + 1);
        timeline.ns_at(machine.ticks(), &machine);
        let newest = timeline.newest().unwrap();
        if newest != last {
            let gap_ticks = newest.piece.knee().tick - newest.piece.start().tick;
            assert!(gap_ticks <= length_ticks / 100 + 1_000, "{gap_ticks} of {length_ticks}");
            last = newest;
        }
    }
}

#[test]
fn records_double_up_to_four_seconds() {
    let machine = Machine { interrupted_one_in: 0, ..Machine::new(6) };
    let timeline = timeline(BackwardStep::Hold);
    let mut lengths = vec![100_000];
    for _ in 0..1000 {
        machine.pass_ns(lengths.last().unwrap() / 50);
        timeline.ns_at(machine.ticks(), &machine);
        let newest = timeline.newest().unwrap();
        let length = newest.piece.main.rate.ns(newest.end_tick - newest.piece.knee().tick);
        if lengths.last().unwrap().abs_diff(length) > 1000 {
            lengths.push(length);
        }
    }
    assert!(lengths.len() > 10, "{lengths:?}");
    let doubled = lengths.iter().zip(&lengths[1..]).take(10);
    assert!(doubled.clone().all(|(a, b)| b.abs_diff(2 * a) < 1000), "{lengths:?}");
    assert!(lengths.iter().all(|&ns| ns <= 4_001_000_000));
}

/// Returns the worst error in ns while an OS clock is slewed for ten seconds, and from a second
/// after the slew's end, with a conversion every millisecond.
fn errors_by_slew(ppb: i64, keep_sampling: bool) -> (u64, u64) {
    let machine = Machine { interrupted_one_in: 0, ..Machine::new(7) };
    let timeline = timeline(BackwardStep::Follow);
    let mut frozen = None;
    let mut run = |milliseconds: u64| {
        let mut worst = 0;
        for _ in 0..milliseconds {
            machine.pass_ns(1_000_000);
            let tick = machine.ticks();
            let line = machine.settle(|round| timeline.find(tick, round));
            let line = if keep_sampling { line } else { frozen.unwrap_or(line) };
            worst = worst.max(line.ns_at(tick).abs_diff(machine.os_ns_at(tick)));
        }
        frozen = Some(timeline.newest().unwrap().piece.main);
        worst
    };
    run(60_000);
    machine.set_drift(ppb);
    let during = run(10_000);
    machine.set_drift(0);
    run(1_000);
    (during, run(5_000))
}

#[test]
fn a_slew_is_followed_within_a_look() {
    for (ppb, allowed) in [(1_000, 1_000), (100_000, 15_000), (500_000, 60_000)] {
        for ppb in [ppb, -ppb] {
            let (during, after) = errors_by_slew(ppb, true);
            assert!(during <= allowed && after <= 1_000, "{ppb} ppb: {during} and {after} ns off");
        }
    }
    // The control uses one line for the whole slew.
    assert!(errors_by_slew(100_000, false).0 > 900_000);
}

#[test]
fn a_clock_that_is_set_is_followed_at_once_and_counted() {
    for step in [3600, -3600] {
        let machine = Machine::new(8);
        let timeline = timeline(BackwardStep::Follow);
        machine.step(7200 * i64::try_from(NS_PER_S).unwrap());
        for _ in 0..100 {
            machine.pass_ns(50_000_000);
            timeline.ns_at(machine.ticks(), &machine);
        }
        machine.step(step * i64::try_from(NS_PER_S).unwrap());
        machine.pass_ns(5 * NS_PER_S);
        timeline.ns_at(machine.ticks(), &machine);
        machine.pass_ns(1_000_000);
        let tick = machine.ticks();
        assert!(timeline.ns_at(tick, &machine).abs_diff(machine.os_ns_at(tick)) <= 100);
        assert_eq!(steps(&timeline), 1);
    }
}

/// A machine whose rate is known from elsewhere, like the real-time clock's.
struct Seeded<'a>(&'a Machine);

impl Witness for Seeded<'_> {
    fn known_rate(&self) -> Option<(Rate, u32)> {
        Some((self.0.os.get().rate, 100))
    }
}

impl ClockPair for Seeded<'_> {
    fn ticks(&self) -> u64 {
        self.0.ticks()
    }

    fn os_ns(&self) -> Option<u64> {
        self.0.os_ns()
    }
}

#[test]
fn a_clock_that_is_set_before_the_first_conversion_is_no_rate() {
    for step in [3600, -3600] {
        let machine = Machine::new(16);
        let timeline = timeline(BackwardStep::Follow);
        timeline.begin(None, &Seeded(&machine));
        machine.pass_ns(NS_PER_S);
        machine.step(step * i64::try_from(NS_PER_S).unwrap());
        for _ in 0..20 {
            machine.pass_ns(NS_PER_S);
            let tick = machine.ticks();
            let error = timeline.ns_at(tick, &Seeded(&machine)).abs_diff(machine.os_ns_at(tick));
            assert!(error <= 100, "off by {error} ns");
        }
        assert_eq!(steps(&timeline), 1);
    }
}

#[test]
fn the_conversion_that_finds_a_step_has_the_new_time() {
    for step in [3600, -3600] {
        let machine = Machine::new(17);
        let timeline = timeline(BackwardStep::Follow);
        for _ in 0..100 {
            machine.pass_ns(50_000_000);
            timeline.ns_at(machine.ticks(), &machine);
        }
        machine.pass_ns(7200 * NS_PER_S);
        machine.step(step * i64::try_from(NS_PER_S).unwrap());
        let tick = machine.ticks();
        let error = timeline.ns_at(tick, &machine).abs_diff(machine.os_ns_at(tick));
        assert!(error <= 100, "off by {error} ns");
    }
}

#[test]
fn a_rate_that_jumps_is_learned() {
    for ppb in [-70_000_000, 70_000_000] {
        let machine = Machine::new(18);
        let timeline = timeline(BackwardStep::Follow);
        let run = |times: u32| {
            let mut error = 0;
            for _ in 0..times {
                machine.pass_ns(2 * NS_PER_S);
                let tick = machine.ticks();
                error = timeline.ns_at(tick, &machine).abs_diff(machine.os_ns_at(tick));
            }
            error
        };
        run(20);
        machine.set_drift(ppb);
        assert!(run(10) <= 100, "{} steps", steps(&timeline));
        assert!(steps(&timeline) <= 2);
    }
}

#[test]
fn the_monotonic_timeline_holds_when_its_clock_is_set_back() {
    let machine = Machine::new(9);
    let timeline = timeline(BackwardStep::Hold);
    let mut last = 0;
    for round in 0..2000 {
        if round == 1000 {
            machine.step(-2_000_000);
        }
        machine.pass_ns(20_000_000);
        let ns = timeline.ns_at(machine.ticks(), &machine);
        assert!(ns >= last);
        last = ns;
    }
    let tick = machine.ticks();
    assert!(timeline.ns_at(tick, &machine).abs_diff(machine.os_ns_at(tick)) <= 100);
}

#[test]
fn a_suspend_stretches_the_gap_only() {
    // The counter continued for an hour while the monotonic clock stood still.
    let machine = Machine::new(10);
    let timeline = timeline(BackwardStep::Hold);
    let before = timeline.ns_at(machine.ticks(), &machine);
    machine.pass_ns(3600 * NS_PER_S);
    machine.step(-3599 * i64::try_from(NS_PER_S).unwrap());
    let tick = machine.ticks();
    let after = timeline.ns_at(tick, &machine);
    assert!(after > before);
    assert!(after.abs_diff(machine.os_ns_at(tick)) <= 100);
}

#[test]
fn the_identity_never_syncs() {
    struct OsClock;
    impl Witness for OsClock {}

    impl ClockPair for OsClock {
        fn ticks(&self) -> u64 {
            77
        }
        fn os_ns(&self) -> Option<u64> {
            Some(77)
        }
        fn is_identity(&self) -> bool {
            true
        }
    }
    let timeline = timeline(BackwardStep::Hold);
    let machine = OsClock;
    for tick in [0, 1, 77, 1 << 32, (1 << 40) + 5, (1 << 40) + (1 << 32), u64::MAX / 2, 3] {
        // The first conversion uses the record and installs its line, which the second one uses.
        assert_eq!(timeline.ns_at(tick, &machine), tick);
        assert_eq!(timeline.ns_at(tick, &machine), tick);
        assert_eq!(timeline.ns_between(1, tick, &machine), tick.saturating_sub(1));
    }
    let newest = timeline.newest().unwrap();
    assert_eq!((newest.counts.syncs, timeline.origin_ns()), (0, Some(77)));
}

/// Converting an old instant asks no question, since a question would read the clock.
#[test]
fn the_identity_is_known_at_every_age() {
    struct OsClock(Cell<u64>);
    impl Witness for OsClock {}

    impl ClockPair for OsClock {
        fn ticks(&self) -> u64 {
            self.0.get()
        }
        fn os_ns(&self) -> Option<u64> {
            Some(self.0.get())
        }
        fn is_identity(&self) -> bool {
            true
        }
    }
    let timeline = timeline(BackwardStep::Hold);
    let first = 10 * NS_PER_S + 77;
    for age_s in [0, 1, 5, 60, 3600] {
        let now = first + age_s * NS_PER_S;
        let machine = OsClock(Cell::new(now));
        timeline.look(now, &machine);
        timeline.ns_at(now, &machine);
        // Intervals that begin before the first record, and one between two old ticks, are tried
        // too.
        for (earlier, later) in [(first, now + 1), (5, now + 1), (first, first + 9), (5, 9)] {
            let ns = later - earlier;
            assert_eq!(timeline.known_ns_between(earlier, later), Some(ns), "{age_s} s");
            assert_eq!(timeline.known_sum(earlier, ns, Direction::After), Some(later));
            assert_eq!(timeline.known_sum(later, ns, Direction::Before), Some(earlier));
        }
    }
}

#[test]
fn an_os_clock_that_stands_still_hangs_nobody() {
    struct Still(Cell<u64>);
    impl Witness for Still {}

    impl ClockPair for Still {
        fn ticks(&self) -> u64 {
            self.0.set(self.0.get() + 30);
            self.0.get()
        }
        fn os_ns(&self) -> Option<u64> {
            Some(42)
        }
    }
    let machine = Still(Cell::new(0));
    let timeline = timeline(BackwardStep::Hold);
    let mut last = timeline.ns_at(machine.ticks(), &machine);
    for pause in [1 << 40, 100_000, 1_000_000].repeat(200) {
        machine.0.set(machine.0.get() + pause);
        let ns = timeline.ns_at(machine.ticks(), &machine);
        assert!(ns >= last);
        last = ns;
    }
}

#[test]
fn an_os_clock_that_stands_still_costs_a_conversion_less_than_a_millisecond() {
    /// An OS clock that stands still and takes 2 us to read, beside a counter that may stand still
    /// too.
    struct Still {
        ns: Cell<u64>,
        counter_stands: bool,
        cost_ns: u64,
    }
    impl Witness for Still {}

    impl ClockPair for Still {
        fn ticks(&self) -> u64 {
            self.ns.set(self.ns.get() + 20);
            if self.counter_stands { 1000 } else { self.ns.get() }
        }
        fn os_ns(&self) -> Option<u64> {
            self.ns.set(self.ns.get() + self.cost_ns);
            Some(42)
        }
    }
    for (counter_stands, cost_ns) in [(false, 2_000), (true, 2_000), (false, 25), (true, 25)] {
        let machine = Still { ns: Cell::new(1000), counter_stands, cost_ns };
        let timeline = timeline(BackwardStep::Hold);
        for pause in [0, 1 << 40, 100_000, 1_000_000].repeat(50) {
            machine.ns.set(machine.ns.get() + pause);
            let before = machine.ns.get();
            timeline.ns_at(machine.ticks(), &machine);
            let took_ns = machine.ns.get() - before;
            // A first conversion of Unix time adds the other timeline's samples: 0.3 ms.
            assert!(took_ns < 600_000, "{took_ns} ns, counter stands: {counter_stands}");
        }
    }
}

#[test]
fn a_counter_that_stands_still_hangs_nobody() {
    struct Still(Cell<u64>);
    impl Witness for Still {}

    impl ClockPair for Still {
        fn ticks(&self) -> u64 {
            1000
        }
        fn os_ns(&self) -> Option<u64> {
            self.0.set(self.0.get() + 30);
            Some(self.0.get())
        }
    }
    let machine = Still(Cell::new(0));
    let timeline = timeline(BackwardStep::Hold);
    let first = timeline.ns_at(1000, &machine);
    for _ in 0..1000 {
        assert!(timeline.ns_at(1000, &machine) >= first);
    }
}

/// A machine with two faults: the second comes while the questions about the first are answered.
struct Twice<'a> {
    machine: Machine,
    timeline: &'a Timeline,
    /// Whether reading the OS clock takes as long as a system call.
    is_slow: Cell<bool>,
    /// Whether every read takes long, as on a CPU that the host slows down.
    is_throttled: Cell<bool>,
    second_jump_ns: Cell<i64>,
    failures: RefCell<Vec<CounterFailure>>,
    /// The ticks of the questions about a jump.
    jumps: RefCell<Vec<u64>>,
}

impl<'a> Twice<'a> {
    /// Creates a machine whose timeline has been in use for ten seconds.
    fn new(timeline: &'a Timeline) -> Self {
        let clocks = Self {
            machine: Machine { interrupted_one_in: 0, ..Machine::new(5) },
            timeline,
            is_slow: Cell::new(false),
            is_throttled: Cell::new(false),
            second_jump_ns: Cell::new(2_000_000_000),
            failures: RefCell::default(),
            jumps: RefCell::default(),
        };
        for _ in 0..100 {
            clocks.machine.pass_ns(NS_PER_S / 10);
            timeline.sync(&clocks);
        }
        clocks
    }
}

impl ClockPair for Twice<'_> {
    fn ticks(&self) -> u64 {
        if self.is_throttled.get() {
            self.machine.pass_ns(300);
        }
        self.machine.ticks()
    }

    fn os_ns(&self) -> Option<u64> {
        if self.is_slow.get() {
            self.machine.pass_ns(10_000);
        }
        if self.is_throttled.get() {
            self.machine.pass_ns(500);
        }
        // The clock jumps again as soon as its first jump is in a record.
        if self.timeline.newest().is_some_and(|record| record.counts.forward_steps == 1) {
            self.machine.step(self.second_jump_ns.take());
        }
        self.machine.os_ns()
    }

    fn keeps_offset(&self) -> bool {
        true
    }
}

impl Witness for Twice<'_> {
    /// Keeps a counter that is not trusted, which then goes back. Corrects a counter that went
    /// back.
    fn counter_failed(&self, failure: CounterFailure) {
        self.failures.borrow_mut().push(failure);
        self.is_slow.set(false);
        let is_back = failure == CounterFailure::Regressed;
        self.machine.displaced_ticks.set(if is_back { 0 } else { -(1 << 34) });
    }

    /// Returns that the first jump was one of the clock alone, and the second was not.
    fn has_clock_jumped(&self, _ahead_ns: u64, _rate: Rate, since: u64) -> bool {
        self.jumps.borrow_mut().push(since);
        self.jumps.borrow().len() == 1
    }
}

#[test]
fn a_cpu_that_is_slow_is_no_slow_clock() {
    let timeline = Timeline::new();
    let clocks = Twice::new(&timeline);
    clocks.is_throttled.set(true);
    for _ in 0..10 {
        clocks.machine.pass_ns(NS_PER_S);
        timeline.sync(&clocks);
    }
    assert_eq!(clocks.failures.take(), []);
    // A control: a clock that is slow in itself is noticed here too.
    clocks.second_jump_ns.set(0);
    clocks.is_slow.set(true);
    timeline.sync(&clocks);
    assert_eq!(clocks.failures.take()[0], CounterFailure::Untrusted);
}

#[test]
fn a_decision_about_one_failure_decides_no_other() {
    let timeline = Timeline::new();
    let clocks = Twice::new(&timeline);
    clocks.machine.pass_ns(NS_PER_S);
    clocks.is_slow.set(true);
    timeline.sync(&clocks);
    let failures = clocks.failures.take();
    assert_eq!(failures, [CounterFailure::Untrusted, CounterFailure::Regressed]);
    assert_eq!(timeline.newest().unwrap().counts.events(), 0);
}

#[test]
fn each_jump_of_the_clock_is_asked_about() {
    let timeline = Timeline::new();
    let clocks = Twice::new(&timeline);
    clocks.machine.pass_ns(NS_PER_S);
    clocks.machine.step(3_000_000_000);
    timeline.sync(&clocks);
    let jumps = clocks.jumps.take();
    assert!(jumps.len() == 2 && jumps[0] < jumps[1], "{jumps:?}");
    // Only the first jump changed the timeline's offset.
    assert!(timeline.offset_ns().wrapping_neg().abs_diff(3_000_000_000) < 1_000);
}
