//! When a timeline looks at the OS clock, and at what cost.

use core::cell::Cell;

use super::simulation::{Driven, Machine, NS_PER_S, timeline};
use crate::system::Witness;
use crate::timeline::record::SPIN_NS;
use crate::timeline::*;

fn calm(seed: u64) -> Machine {
    Machine { interrupted_one_in: 0, ..Machine::new(seed) }
}

/// Returns the time that `action` takes, which is 0 if it reads no clock.
fn spent_ns(machine: &Machine, action: impl FnOnce()) -> u64 {
    let before = machine.tick.get();
    action();
    machine.os.get().rate.ns(machine.tick.get() - before)
}

#[test]
fn a_conversion_spares_the_next_one_a_look() {
    let (machine, timeline) = (calm(21), timeline(BackwardStep::Follow));
    for pause_ns in [0, 1_000, 10_000_000, 200_000_000, 2 * NS_PER_S, 3600 * NS_PER_S] {
        machine.pass_ns(pause_ns);
        let first = machine.ticks();
        timeline.ns_at(first, &machine);
        assert!(timeline.newest().unwrap().has_rate(), "a conversion publishes the rate");
        let next = machine.ticks();
        let conversions = || {
            timeline.ns_at(next, &machine);
            timeline.ns_between(first, next, &machine);
        };
        assert_eq!(spent_ns(&machine, conversions), 0, "after {pause_ns} ns");
        let current = &timeline.current;
        assert!(current.expects(next));
        assert_eq!(current.ns_at(next), Some(timeline.ns_at(next, &machine)));
    }
}

#[test]
fn no_read_waits_for_the_first_rate() {
    let (machine, timeline) = (calm(22), timeline(BackwardStep::Follow));
    timeline.begin(None, &machine);
    let look = || timeline.look(machine.ticks(), &machine);
    assert!(spent_ns(&machine, look) < 1_000);
    assert!(!timeline.newest().unwrap().has_rate());
    machine.pass_ns(SPIN_NS);
    assert!(spent_ns(&machine, look) < 2_000);
    assert!(timeline.newest().unwrap().has_rate());
}

#[test]
fn a_clock_of_long_steps_is_watched_for_two_of_them() {
    let machine = Machine { resolution_ns: 50_000, ..calm(23) };
    let timeline = timeline(BackwardStep::Follow);
    timeline.begin(None, &machine);
    let began_ns = timeline.newest().unwrap().estimate.ns;
    timeline.ns_at(machine.ticks(), &machine);
    assert!(timeline.newest().unwrap().estimate.ns - began_ns >= 2 * machine.resolution_ns);
}

#[test]
fn an_event_is_reported_once() {
    let (machine, timeline) = (calm(24), timeline(BackwardStep::Follow));
    let run = || {
        for _ in 0..20 {
            machine.pass_ns(NS_PER_S);
            timeline.ns_at(machine.ticks(), &machine);
        }
    };
    run();
    assert!(!timeline.take_counted_event(), "nothing happened");
    machine.step(7_000_000_000);
    run();
    assert!(timeline.take_counted_event());
    assert!(!timeline.take_counted_event());
}

#[test]
fn a_slow_counter_does_not_stand() {
    // 1 MHz: some forty reads in a row return the same tick.
    let slow =
        Machine { interrupted_one_in: 0, ..Machine::with_rate(25, Rate::from_slope(1_000, 1)) };
    assert!((0..1_000).all(|_| !counter_stands(&slow)));
    slow.stopped_at.set(Some(slow.counter()));
    assert!(counter_stands(&slow));
}

#[test]
fn a_clock_that_stands_still_is_not_watched_for_ever() {
    struct Still(Cell<u64>);
    impl Witness for Still {}

    impl ClockPair for Still {
        fn ticks(&self) -> u64 {
            self.0.get()
        }
        fn os_ns(&self) -> Option<u64> {
            self.0.set(self.0.get() + 1);
            Some(42)
        }
    }
    let still = Still(Cell::new(0));
    timeline(BackwardStep::Hold).ns_at(0, &still);
    // The spin's reads, and some for samples.
    assert!(still.0.get() < 10_000, "{} reads", still.0.get());
}

#[test]
fn the_os_clock_itself_is_served_in_stretches_of_the_present() {
    struct OsClock {
        tick: Cell<u64>,
        /// How far the clock is behind the ticks.
        behind_ns: Cell<u64>,
        reads: Cell<u32>,
    }
    impl Witness for OsClock {}

    impl ClockPair for OsClock {
        fn ticks(&self) -> u64 {
            self.tick.get()
        }
        fn os_ns(&self) -> Option<u64> {
            self.reads.set(self.reads.get() + 1);
            Some(self.tick.get() - self.behind_ns.get())
        }
        fn is_identity(&self) -> bool {
            self.behind_ns.get() == 0
        }
        fn keeps_offset(&self) -> bool {
            true
        }
    }
    let clocks =
        OsClock { tick: Cell::new(77), behind_ns: Cell::default(), reads: Cell::default() };
    let timeline = timeline(BackwardStep::Follow);
    for now in [77, NS_PER_S, (1 << 40) + 12_345, (1 << 40) + (1 << 33) - 1, (1 << 50) + 1] {
        clocks.tick.set(now);
        let (current, future) = (&timeline.current, now + 3600 * NS_PER_S);
        assert_eq!(timeline.ns_at(future, &clocks), future);
        assert_eq!(timeline.ns_at(now, &clocks), now);
        assert_eq!(current.ns_at(now), Some(now), "a future tick left no line for the present");
        // Intervals that began in the same stretch need no other line, but a look is soon due.
        let began = now - now % FAST_NS;
        assert_eq!(current.ns_since(began, now), (began < now).then_some(now - began));
        assert_eq!(current.ns_at(now + LOOK_NS), None);
        timeline.sync(&clocks);
        assert_eq!(timeline.bound(&clocks), (now, 0));
    }
    assert_eq!(timeline.newest().unwrap().counts.syncs, 0, "there is nothing to sample");
    // The clock went back, but the ticks continue.
    clocks.behind_ns.set(1 << 49);
    clocks.tick.set((1 << 50) + NS_PER_S);
    timeline.look(clocks.ticks(), &clocks);
    assert!(timeline.current.expects(clocks.ticks()), "each read needs a look");
    let reads = clocks.reads.get();
    assert_eq!(timeline.ns_between(5, NS_PER_S, &clocks), NS_PER_S - 5);
    assert_eq!(clocks.reads.get(), reads, "old ticks need no look");
}
