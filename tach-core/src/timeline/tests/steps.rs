//! OS clocks that rise in longer steps than their system states.

use super::simulation::{Machine, Process};
use crate::timeline::*;

const MS: u64 = 1_000_000;

/// Returns a process whose OS clocks have these steps while the system states 1 ns.
fn process(step_ns: u64, seed: u64) -> Process {
    let machine = Machine { resolution_ns: step_ns, states_steps: false, ..Machine::new(seed) };
    Process::new(machine, BackwardStep::Follow)
}

/// Reads for this many seconds, every 10 ms on average.
fn use_for(seconds: u64, process: &Process) {
    for _ in 0..seconds * 100 {
        process.machine.pass_ns(process.machine.random.below(20 * MS));
        process.ns_at(process.read());
    }
}

fn steps_ns(process: &Process) -> [u64; 2] {
    let second_ns = |timeline: &Timeline| {
        let stated = Sample { tick: 0, ns: 0, width_ticks: 0, excess_ticks: 0, resolution_ns: 0 };
        timeline.steps.resolved(stated).resolution_ns
    };
    [&process.monotonic, &process.realtime].map(second_ns)
}

#[test]
fn a_step_is_seen_and_then_errors_are_near_it_and_within_the_bound() {
    for (step_ns, seed) in [4 * MS, 15_625_000, 60 * MS, 100 * MS]
        .into_iter()
        .flat_map(|ns| (0..50).map(move |seed| (ns, seed)))
    {
        let process = process(step_ns, seed);
        use_for(30, &process);
        for _ in 0..500 {
            process.machine.pass_ns(process.machine.random.below(20 * MS));
            for index in [0, 1] {
                let (tick, bound_ns) = process.bound(index);
                let (found, truth) = (process.ns_at(tick), process.truth_ns());
                let off_ns = [found.0.abs_diff(truth.0), found.1.abs_diff(truth.1)][index];
                let allowed_ns = bound_ns.min(step_ns * 3 / 2);
                assert!(off_ns <= allowed_ns, "{step_ns}, seed {seed}: {off_ns}, {bound_ns}");
            }
        }
        let found_ns = steps_ns(&process);
        let fits = |&ns: &u64| step_ns * 3 / 4 <= ns && ns <= 6 * step_ns;
        assert!(found_ns.iter().all(fits), "{step_ns}, seed {seed}: {found_ns:?}");
    }
}

/// Without a rate a time is a guess: nothing bounds its error, and once the rate is known, the tick
/// converts to a later time.
#[test]
fn while_a_clock_stands_at_the_start_no_bound_is_claimed_and_no_time_goes_back() {
    for seed in 0..50 {
        let process = process(15_625_000, seed);
        let timelines = [&process.monotonic, &process.realtime];
        let has_rate = |index: usize| timelines[index].newest().is_some_and(|one| one.has_rate());
        let (mut guesses, mut last_ns) = (Vec::new(), [0; 2]);
        while !(has_rate(0) && has_rate(1)) {
            process.machine.pass_ns(process.machine.random.below(MS));
            let tick = process.read();
            let ns: [u64; 2] = process.ns_at(tick).into();
            guesses.push((tick, ns));
            assert!(last_ns[0] <= ns[0] && last_ns[1] <= ns[1], "{ns:?} after {last_ns:?}");
            last_ns = ns;
            for index in [0, 1] {
                let bound_ns = process.bound(index).1;
                assert!(has_rate(index) || bound_ns == u64::MAX, "seed {seed}: {bound_ns}");
            }
        }
        assert!(guesses.len() > 5, "seed {seed}: the clock did not stand");
        for (tick, guess) in guesses {
            let ns: [u64; 2] = process.ns_at(tick).into();
            assert!(guess[0] <= ns[0] && guess[1] <= ns[1], "{tick}: {ns:?} after {guess:?}");
        }
    }
}

#[test]
fn a_clock_that_is_set_is_no_step() {
    for (step_ns, most_ns) in [(1, 0), (4 * MS, 24 * MS)] {
        for seed in 0..50 {
            let process = process(step_ns, seed);
            use_for(20, &process);
            for set_ns in [60_000_000, -60_000_000, 10_000_000_000] {
                process.set_realtime(set_ns);
                use_for(if step_ns == 1 { 5 } else { 0 }, &process);
            }
            process.set_realtime(60_000_000);
            use_for(20, &process);
            let found_ns = steps_ns(&process);
            assert!(found_ns.iter().all(|&ns| ns <= most_ns), "seed {seed}: {found_ns:?}");
            let (tick, truth) = (process.tick(), process.truth_ns());
            let late_ns = process.ns_at(tick).1.abs_diff(truth.1);
            assert!(late_ns <= (step_ns * 3 / 2).max(1_000), "seed {seed}: {late_ns}");
        }
    }
}

#[test]
fn a_clock_that_stood_once_is_fine() {
    for seed in 0..50 {
        let process = process(1, seed);
        use_for(20, &process);
        process.machine.set_drift(-999_999_999);
        use_for(5, &process);
        process.machine.set_drift(0);
        use_for(20, &process);
        assert_eq!(steps_ns(&process), [0; 2], "seed {seed}");
        let (tick, truth) = (process.tick(), process.truth_ns());
        assert!(process.ns_at(tick).1.abs_diff(truth.1) < 10 * MS);
    }
}
