//! OS clocks that can't be read for a time.

use super::simulation::{Machine, NS_PER_S, Process};
use crate::source::Mode;
use crate::timeline::*;

const MODES: [Mode; 3] = [Mode::Enforced, Mode::Replaced, Mode::Os];

/// Returns a process that has read its clocks for a minute.
fn busy(mode: Mode, seed: u64) -> Process {
    let process = Process::reading(mode, Machine::new(seed), BackwardStep::Follow);
    for _ in 0..6_000 {
        process.machine.pass_ns(10_000_000);
        process.ns_at(process.read());
    }
    process
}

/// Converts the present tick after each of these times. Returns the ticks with their times.
fn read_after(process: &Process, pauses_ns: impl Iterator<Item = u64>) -> Vec<(u64, (u64, u64))> {
    let read = |ns| {
        process.machine.pass_ns(ns);
        let tick = process.read();
        (tick, process.ns_at(tick))
    };
    pauses_ns.map(read).collect()
}

fn off_ns(process: &Process) -> u64 {
    let (found, truth) = (process.ns_at(process.tick()), process.truth_ns());
    found.0.abs_diff(truth.0).max(found.1.abs_diff(truth.1))
}

#[test]
fn an_outage_leaves_every_time_as_it_was_and_the_bound_grows() {
    for (seed, mode) in (0..20).flat_map(|seed| MODES.map(|mode| (seed, mode))) {
        let process = busy(mode, seed);
        process.unread.set([true; 2]);
        let mut seen = Vec::new();
        let mut last_ns = [0; 2];
        for _ in 0..20 {
            let pauses = (0..50).map(|_| process.machine.random.magnitude(100_000_000));
            seen.extend(read_after(&process, pauses));
            assert!(off_ns(&process) < 500, "seed {seed}, {mode:?}: {}", off_ns(&process));
            let bounds = [0, 1].map(|index| process.bound(index).1);
            assert!(bounds.iter().zip(last_ns).all(|(&bound_ns, last)| bound_ns >= last));
            last_ns = bounds;
        }
        assert!(last_ns.iter().all(|&bound_ns| bound_ns > 10_000), "{last_ns:?}");
        process.unread.set([false; 2]);
        seen.extend(read_after(&process, (0..50).map(|_| 10_000_000)));
        assert!(off_ns(&process) < 500, "seed {seed}, {mode:?}: {}", off_ns(&process));
        assert!(seen.is_sorted(), "seed {seed}, {mode:?}");
        for (tick, times) in seen.into_iter().rev().take(600) {
            assert_eq!(process.ns_at(tick), times, "seed {seed}, {mode:?}");
        }
        let outages = [&process.monotonic, &process.realtime].map(|one| one.outages.count());
        assert_eq!(outages, [1; 2], "seed {seed}, {mode:?}");
    }
}

#[test]
fn a_slew_in_an_outage_is_within_the_bound_and_then_followed() {
    for (seed, ppb) in (0..10).flat_map(|seed| [(seed, 500_000), (seed, -500_000)]) {
        let process = busy(Mode::Enforced, seed);
        process.unread.set([true; 2]);
        process.machine.set_drift(ppb);
        for _ in 0..30 {
            read_after(&process, [NS_PER_S].into_iter());
            for index in [0, 1] {
                let (tick, bound_ns) = process.bound(index);
                let (found, truth) = (process.ns_at(tick), process.truth_ns());
                let off_ns = [found.0.abs_diff(truth.0), found.1.abs_diff(truth.1)][index];
                assert!(off_ns <= bound_ns, "seed {seed}: {off_ns} is more than {bound_ns}");
            }
        }
        process.unread.set([false; 2]);
        let seen = read_after(&process, (0..400).map(|_| 1_000_000));
        assert!(seen.is_sorted_by_key(|&(tick, (monotonic_ns, _))| (tick, monotonic_ns)));
        let late_ns = process.truth_ns().1.abs_diff(process.ns_at(process.tick()).1);
        assert!(late_ns < 1_000, "seed {seed}: {late_ns}");
    }
}

#[test]
fn without_a_clock_at_the_start_ticks_have_the_declared_rate_and_unix_time_is_unknown() {
    for (declared_hz, second_ns) in [(Some(2_700_000_000), NS_PER_S), (None, 270_000_000)] {
        // The clock fails before the first sample, or after it.
        for begins in [false, true] {
            let machine = Machine { declared_hz, interrupted_one_in: 0, ..Machine::new(5) };
            let (mode, backward) = (Mode::Enforced, BackwardStep::Follow);
            let process = if begins {
                Process::reading(mode, machine, backward)
            } else {
                Process::before_first_read(mode, machine, backward)
            };
            process.unread.set([true; 2]);
            for _ in 0..10 {
                let start = process.read();
                process.machine.pass_ns(NS_PER_S);
                let found_ns = process.between(start, process.read());
                assert!(found_ns.abs_diff(second_ns) < 1_000, "{found_ns}");
                assert_eq!([0, 1].map(|index| process.bound(index).1), [u64::MAX; 2]);
            }
            let start = process.read();
            process.unread.set([false; 2]);
            for _ in 0..100 {
                process.machine.pass_ns(10_000_000);
                process.ns_at(process.read());
            }
            let found_ns = process.between(start, process.read());
            assert!(found_ns.abs_diff(NS_PER_S) < 100_000, "{found_ns}");
            assert!(off_ns(&process) < 500, "{}", off_ns(&process));
            assert_eq!(
                [&process.monotonic, &process.realtime].map(|one| one.outages.count()),
                [1; 2]
            );
        }
    }
}
