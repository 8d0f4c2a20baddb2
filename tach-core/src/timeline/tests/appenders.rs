//! Several appenders at once: threads, signal handlers, appenders that were stopped in the middle.

use core::cell::{Cell, RefCell};
use std::thread;

use super::simulation::{Driven, Machine, NS_PER_S, Random, timeline};
use crate::sync::AtomicU64;
use crate::system::Witness;
use crate::timeline::*;

/// Returns the number of records so far.
fn generation(timeline: &Timeline) -> u64 {
    timeline.history.head() >> 8
}

/// A machine on which a signal arrives in the middle of a sample and its handler converts.
struct Interrupted<'a> {
    machine: &'a Machine,
    timeline: &'a Timeline,
    depth: Cell<u32>,
    handled: RefCell<Vec<(u64, u64)>>,
}

impl Witness for Interrupted<'_> {}

impl ClockPair for Interrupted<'_> {
    fn ticks(&self) -> u64 {
        self.machine.ticks()
    }

    fn os_ns(&self) -> Option<u64> {
        if self.depth.get() > 0 {
            self.depth.set(self.depth.get() - 1);
            let tick = self.machine.ticks();
            let ns = self.timeline.ns_at(tick, self);
            self.handled.borrow_mut().push((tick, ns));
        }
        self.machine.os_ns()
    }
}

#[test]
fn a_signal_handler_that_interrupts_an_appender_converts_and_all_agree() {
    for seed in 0..50 {
        let machine = Machine::new(seed);
        let timeline = timeline(BackwardStep::Hold);
        let mut all = Vec::new();
        for depth in 0..40 {
            machine.pass_ns(machine.random.magnitude(5 * NS_PER_S));
            let interrupted = Interrupted {
                machine: &machine,
                timeline: &timeline,
                depth: Cell::new(depth % 20),
                handled: RefCell::default(),
            };
            let tick = machine.ticks();
            let ns = timeline.ns_at(tick, &interrupted);
            all.push((tick, ns));
            all.extend(interrupted.handled.take());
        }
        all.sort_unstable();
        assert!(all.iter().zip(&all[1..]).all(|(a, b)| a.1 <= b.1), "seed {seed}: {all:?}");
    }
}

#[test]
fn appenders_that_were_all_stopped_do_not_stop_the_next() {
    let machine = Machine::new(13);
    let timeline = timeline(BackwardStep::Hold);
    timeline.ns_at(machine.ticks(), &machine);
    let stopped = (0..SLOTS).filter(|&index| timeline.history.stall(index)).count();
    assert!(stopped > SLOTS - 4, "{stopped}");
    let head = timeline.history.head();
    for _ in 0..10 {
        machine.pass_ns(NS_PER_S);
        let tick = machine.ticks();
        let error = timeline.ns_at(tick, &machine).abs_diff(machine.os_ns_at(tick));
        assert!(error <= 100, "off by {error} ns");
    }
    assert_eq!(timeline.history.head(), head, "there was no slot to publish in");
}

#[test]
fn appenders_that_were_stopped_before_the_first_record_leave_a_line_to_each_conversion() {
    let machine = Machine::new(18);
    let timeline = timeline(BackwardStep::Hold);
    for index in 0..SLOTS {
        timeline.history.stall(index);
    }
    for _ in 0..10 {
        machine.pass_ns(NS_PER_S);
        let tick = machine.ticks();
        let error = timeline.ns_at(tick, &machine).abs_diff(machine.os_ns_at(tick));
        assert!(error <= 1_000, "off by {error} ns");
    }
    assert_eq!(timeline.newest(), None, "there was a slot to publish in");
}

#[test]
fn an_appender_that_was_stopped_costs_one_slot() {
    let machine = Machine::new(14);
    let timeline = timeline(BackwardStep::Hold);
    timeline.ns_at(machine.ticks(), &machine);
    assert!(timeline.history.stall(7));
    timeline.current.stall();
    for _ in 0..1000 {
        machine.pass_ns(NS_PER_S);
        let tick = machine.ticks();
        let error = timeline.ns_at(tick, &machine).abs_diff(machine.os_ns_at(tick));
        assert!(error <= 100, "off by {error} ns");
    }
    assert!(generation(&timeline) > 3 * SLOTS as u64, "appending has stopped");
}

/// The slots of the records that are given up may all share the newest record's slot for knowledge.
#[test]
fn an_appender_that_is_alone_publishes_every_record() {
    for seed in 0..40 {
        let machine = Machine::new(seed);
        let timeline = timeline(BackwardStep::Hold);
        for _ in 0..1_000 {
            machine.set_drift(machine.random.within(500_000));
            machine.pass_ns(machine.random.magnitude(4 * NS_PER_S));
            timeline.ns_at(machine.ticks(), &machine);
            let (id, record) = timeline.newest_with_id().unwrap();
            let reach = timeline.history.reach(id, record.piece.knee().tick).unwrap();
            assert!(!reach.is_closed(), "seed {seed}: {id:#x} has no successor");
        }
    }
}

/// A machine for several threads: every read moves the counter on.
struct Shared(AtomicU64);

impl Shared {
    const RATE: Rate = Rate::from_q48((1 << 48) * 10 / 27);

    fn pass(&self, ticks: u64) -> u64 {
        self.0.fetch_add(ticks, Ordering::SeqCst) + ticks
    }
}

impl Witness for Shared {}

impl ClockPair for Shared {
    fn ticks(&self) -> u64 {
        self.pass(30)
    }

    fn os_ns(&self) -> Option<u64> {
        Some(Self::RATE.ns(self.pass(30)))
    }
}

#[test]
#[cfg_attr(target_family = "wasm", ignore = "there are no threads")]
fn threads_that_wake_together_from_idle_gaps_agree() {
    let machine = Shared(AtomicU64::new(1 << 40));
    let timeline = timeline(BackwardStep::Hold);
    let mut all: Vec<(u64, u64)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|number| {
                let (machine, timeline) = (&machine, &timeline);
                scope.spawn(move || {
                    let random = Random(Cell::new(number));
                    let mut seen = Vec::new();
                    for round in 0..5_000 {
                        // The threads share one simulated clock: an idle gap of up to six seconds
                        // in one of them is a gap for all.
                        let idle = if round % 4 == 0 { random.magnitude(1 << 34) } else { 0 };
                        let before = generation(timeline);
                        let tick = machine.pass(idle + 30);
                        let ns = timeline.ns_at(tick, machine);
                        // A thread that was stopped here while the others continued for simulated
                        // minutes converts a tick whose record may be gone.
                        if generation(timeline) - before < SLOTS as u64 / 2 {
                            seen.push((tick, ns));
                        }
                    }
                    seen
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    all.sort_unstable();
    let inversion = all.iter().zip(&all[1..]).find(|(a, b)| a.1 > b.1);
    assert_eq!(inversion, None);
    assert!(all.len() > 10_000, "the threads were hardly ever within the kept records");
    assert!(generation(&timeline) > 300, "the threads hardly ever appended");
}

#[test]
fn an_appender_that_closed_the_horizon_and_was_stopped_costs_the_next_one_sample() {
    let machine = Machine { interrupted_one_in: 0, ..Machine::new(15) };
    let timeline = timeline(BackwardStep::Hold);
    for _ in 0..1_000 {
        machine.pass_ns(10_000_000);
        timeline.ns_at(machine.ticks(), &machine);
    }
    let (id, record) = timeline.newest_with_id().unwrap();
    timeline.history.close(id, record.piece.knee().tick);
    machine.pass_ns(60_000_000);
    let before = machine.tick.get();
    timeline.ns_at(machine.ticks(), &machine);
    let spent_ns = machine.os.get().rate.ns(machine.tick.get() - before);
    assert!(spent_ns < 10_000, "the conversion took {spent_ns} ns");
    assert_ne!(timeline.history.head(), id, "there is no successor");
}
