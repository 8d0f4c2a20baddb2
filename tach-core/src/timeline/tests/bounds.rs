//! Bounds on the distance from the OS clock, where they are hard to get.

use super::simulation::{Driven, Machine, NS_PER_S, Process, timeline};
use crate::timeline::*;

/// Creates a process that has converted once a second for a minute.
fn busy(machine: Machine) -> Process {
    let process = Process::new(machine, BackwardStep::Follow);
    for _ in 0..60 {
        process.machine.pass_ns(NS_PER_S);
        process.ns_at(process.read());
    }
    process
}

fn calm(seed: u64) -> Machine {
    Machine { interrupted_one_in: 0, ..Machine::new(seed) }
}

#[test]
fn in_calm_a_bound_costs_one_bracket() {
    let (machine, timeline) = (calm(31), timeline(BackwardStep::Follow));
    timeline.ns_at(machine.ticks(), &machine);
    for _ in 0..100 {
        machine.pass_ns(NS_PER_S);
        timeline.ns_at(machine.ticks(), &machine);
        let before = machine.tick.get();
        let (_, bound_ns) = timeline.bound(&machine);
        // Each read of the counter takes 50 ticks or a few more, and one of the clock takes 60.
        let spent_ticks = machine.tick.get() - before;
        assert!(spent_ticks < 200, "{spent_ticks} ticks");
        assert!(bound_ns < 100, "{bound_ns}");
    }
}

#[test]
fn an_interrupted_bracket_is_taken_again() {
    let process = busy(Machine { interrupted_one_in: 6, ..Machine::new(32) });
    for _ in 0..100 {
        process.machine.pass_ns(1_000_000);
        process.read();
        let bounds = [0, 1].map(|timeline| process.bound(timeline).1);
        assert!(bounds.iter().all(|&bound_ns| bound_ns < 2_000), "{bounds:?}");
    }
}

#[test]
fn the_offset_to_a_clock_that_jumped_is_no_error() {
    for jump_ns in [3_000_000_000, -3_000_000_000] {
        let process = busy(calm(33));
        process.machine.step(jump_ns);
        process.set_realtime(-jump_ns);
        for _ in 0..20 {
            process.machine.pass_ns(NS_PER_S);
            process.ns_at(process.read());
        }
        let (_, bound_ns) = process.bound(0);
        assert!(bound_ns < 1_000, "{bound_ns}");
    }
}

#[test]
fn nor_is_it_if_the_bound_finds_the_jump() {
    for jump_ns in [3_000_000_000, -3_000_000_000] {
        let process = busy(calm(34));
        // The first read lies within the horizon, and the sample after it does not.
        let (id, record) = process.monotonic.newest_with_id().unwrap();
        let until = process.monotonic.reach(id, &record).unwrap().until;
        process.machine.tick.set(until - 60);
        process.machine.step(jump_ns);
        process.set_realtime(-jump_ns);
        let (_, bound_ns) = process.bound(0);
        assert_ne!(process.monotonic.offset_ns(), 0, "the jump was not found");
        assert!(bound_ns < 1_000, "{bound_ns}");
    }
}

#[test]
fn a_counter_that_went_back_on_the_line_in_use_is_found() {
    for index in [0, 1] {
        let process = busy(calm(35));
        let timelines = [&process.monotonic, &process.realtime];
        let ticks = process.tick() - timelines[index].newest().unwrap().piece.knee().tick;
        process.machine.displaced_ticks.set(-i64::try_from(ticks / 2).unwrap());
        assert!(timelines[index].current.ns_at(process.tick()).is_some());
        process.bound(index);
        assert_eq!(process.failures.borrow()[..], [CounterFailure::Regressed]);
    }
}

#[test]
fn a_clock_that_is_ahead_like_another_is_disturbed_and_one_that_is_off_by_less_is_not() {
    for (step_ns, is_undisturbed) in [
        (0, true),
        (400_000_000, true),
        (-400_000_000, true),
        (600_000_000, false),
        (1_000_000_000, false),
    ] {
        let (machine, timeline) = (calm(36), timeline(BackwardStep::Follow));
        for _ in 0..60 {
            machine.pass_ns(NS_PER_S);
            timeline.ns_at(machine.ticks(), &machine);
        }
        machine.step(step_ns);
        let round = &Round { clocks: &machine, answers: &Answers::NONE };
        let found = timeline.try_is_undisturbed(0, NS_PER_S, Rate::UNKNOWN, round);
        assert_eq!(found, Ok(is_undisturbed), "{step_ns} ns");
    }
}
