//! A machine's disruptions: counters that fail, clocks that are set, days that pass.

use super::simulation::{Machine, NS_PER_S, Process};
use crate::sample::CounterFailure;
use crate::source::Mode;
use crate::timeline::*;

/// Creates a process that has converted once a second for two minutes.
fn busy(seed: u64, backward: BackwardStep) -> Process {
    let process = Process::new(Machine { interrupted_one_in: 0, ..Machine::new(seed) }, backward);
    run(&process, 120);
    process
}

/// Converts once a second. Returns every tick and its times, in order.
fn run(process: &Process, seconds: u64) -> Vec<(u64, (u64, u64))> {
    let second = || {
        process.machine.pass_ns(NS_PER_S);
        let tick = process.read();
        (tick, process.ns_at(tick))
    };
    (0..seconds).map(|_| second()).collect()
}

/// Returns the present errors of both timelines.
fn errors_ns(process: &Process) -> (u64, u64) {
    let (tick, truth) = (process.read(), process.truth_ns());
    let converted = process.ns_at(tick);
    (converted.0.abs_diff(truth.0), converted.1.abs_diff(truth.1))
}

fn assert_true(process: &Process) {
    let (monotonic_ns, realtime_ns) = errors_ns(process);
    assert!(monotonic_ns <= 100 && realtime_ns <= 100, "{monotonic_ns} and {realtime_ns} ns off");
}

fn counts(timeline: &Timeline) -> crate::timeline::counts::Counts {
    timeline.newest().unwrap().counts
}

/// Asserts that ticks and times never decrease.
fn assert_in_order(seen: &[(u64, (u64, u64))]) {
    for pair in seen.windows(2) {
        let ((a, (a_ns, _)), (b, (b_ns, _))) = (pair[0], pair[1]);
        assert!(a < b && a_ns <= b_ns, "{a} was {a_ns}, and then {b} was {b_ns}");
    }
}

#[test]
fn a_counter_that_goes_back_goes_on_where_it_should_be() {
    let process = busy(1, BackwardStep::Follow);
    let mut seen = run(&process, 10);
    let displaced = i64::try_from(process.machine.counter() / 2).unwrap();
    process.machine.displaced_ticks.set(-displaced);
    // One conversion finds the failure. It converts a tick of the past, since the counter went
    // back.
    process.ns_at(process.read());
    assert_eq!(process.failures.borrow()[..], [CounterFailure::Regressed]);
    assert_eq!(process.mode.get(), Mode::Moved);
    seen.extend(run(&process, 60));
    assert_in_order(&seen);
    assert_true(&process);
}

#[test]
fn a_counter_may_go_back_at_any_read() {
    for reads in 0..30 {
        let process = busy(11, BackwardStep::Follow);
        let mut seen = run(&process, 10);
        process.machine.goes_back.set(Some((reads, 1 << 39)));
        while process.machine.goes_back.get().is_some() {
            process.machine.pass_ns(NS_PER_S);
            process.ns_at(process.read());
        }
        // If no earlier conversion found the failure, this one does. It converts a tick of the
        // past, since the counter went back.
        process.ns_at(process.read());
        assert_eq!(process.failures.borrow()[..], [CounterFailure::Regressed], "{reads} reads");
        seen.extend(run(&process, 20));
        assert_in_order(&seen);
        assert_true(&process);
    }
}

#[test]
fn a_counter_that_goes_back_again_and_again_is_left() {
    let process = busy(2, BackwardStep::Follow);
    let mut seen = run(&process, 10);
    for _ in 0..4 {
        let displaced = process.machine.displaced_ticks.get();
        process.machine.displaced_ticks.set(displaced - 100_000_000_000);
        process.ns_at(process.read());
        seen.extend(run(&process, 30));
    }
    assert_eq!(process.mode.get(), Mode::Replaced);
    assert_in_order(&seen);
    assert_true(&process);
}

#[test]
fn a_counter_that_stops_is_replaced_at_the_next_sync() {
    let process = busy(3, BackwardStep::Follow);
    let mut seen = run(&process, 10);
    process.machine.stopped_at.set(Some(process.machine.counter()));
    process.machine.pass_ns(NS_PER_S / 2);
    process.sync();
    assert_eq!(process.failures.borrow()[..], [CounterFailure::Stopped]);
    assert_eq!(process.mode.get(), Mode::Replaced);
    seen.extend(run(&process, 60));
    assert_in_order(&seen);
    assert_true(&process);
}

#[test]
fn an_interval_of_no_ticks_finds_a_counter_that_stands_still() {
    let process = busy(15, BackwardStep::Follow);
    let old = process.read();
    run(&process, 10);
    let now = process.read();
    assert_eq!(process.between(now, now), 0, "the counter has moved on since");
    process.machine.stopped_at.set(Some(process.machine.counter()));
    let stopped = process.tick();
    assert!(process.between(old, stopped) > 9 * NS_PER_S);
    assert_eq!((process.between(old, old), process.between(stopped, old)), (0, 0));
    assert!(process.failures.borrow().is_empty(), "{:?}", process.failures);
    assert_eq!(process.between(stopped, stopped), 0);
    assert_eq!(process.failures.borrow()[..], [CounterFailure::Stopped]);
}

#[test]
fn a_step_of_the_real_time_clock_is_not_taken_for_its_first_rate() {
    for step_ns in [200_000, -200_000] {
        let process = Process::new(Machine::new(16), BackwardStep::Follow);
        process.machine.pass_ns(NS_PER_S / 1000);
        process.set_realtime(step_ns);
        for _ in 0..20 {
            process.ns_at(process.read());
            process.machine.pass_ns(NS_PER_S / 10);
            let rates = [&process.monotonic, &process.realtime]
                .map(|timeline| timeline.newest().unwrap().estimate.rate);
            let apart_ppb = rates[0].distance_ppb(rates[1]);
            assert!(apart_ppb < 100_000, "the rates are {apart_ppb} ppb apart");
        }
    }
}

#[test]
fn a_counter_that_jumps_ahead_is_counted_and_followed() {
    let process = busy(4, BackwardStep::Follow);
    let mut seen = run(&process, 10);
    process.machine.displaced_ticks.set(1 << 42);
    seen.extend(run(&process, 30));
    // The counter jumped ahead, so compared with its ticks both clocks fell behind.
    assert_eq!(counts(&process.monotonic).backward_steps, 1);
    assert_eq!(counts(&process.realtime).backward_steps, 1);
    assert_in_order(&seen);
    assert_true(&process);
}

#[test]
fn a_suspend_through_which_the_counter_runs_leaves_all_true() {
    let process = busy(5, BackwardStep::Follow);
    let mut seen = run(&process, 10);
    let hours = 2 * 3600 * i64::try_from(NS_PER_S).unwrap();
    process.machine.pass_ns(hours.unsigned_abs());
    process.machine.step(-hours);
    process.set_realtime(hours);
    seen.extend(run(&process, 30));
    assert_eq!(counts(&process.monotonic).backward_steps, 1);
    assert_eq!(counts(&process.realtime).events(), 0);
    assert_in_order(&seen);
    assert_true(&process);
    // The clock continued for 40 seconds, so elapsed time did too.
    let elapsed_ns = seen.last().unwrap().1.0 - seen[0].1.0;
    assert!(elapsed_ns.abs_diff(39 * NS_PER_S) <= 100_000_000, "{elapsed_ns} ns have passed");
}

#[test]
fn elapsed_time_stays_true_when_the_monotonic_clock_jumps() {
    // If the clock went back by less than the time since the last look, that would look like a
    // suspend.
    for jump_s in [-1000, -2, 1, 1000] {
        let process = busy(13, BackwardStep::Follow);
        let mut seen = run(&process, 10);
        let jump_ns = jump_s * i64::try_from(NS_PER_S).unwrap();
        process.machine.step(jump_ns);
        process.set_realtime(-jump_ns);
        seen.extend(run(&process, 30));
        assert_in_order(&seen);
        assert_true(&process);
        assert_eq!(counts(&process.monotonic).events(), 1);
        assert_eq!(counts(&process.realtime).events(), 0);
        let elapsed_ns = |first: usize, last: usize| seen[last].1.0 - seen[first].1.0;
        assert!(elapsed_ns(0, 39).abs_diff(39 * NS_PER_S) <= 100_000_000, "{}", elapsed_ns(0, 39));
        for second in 11..39 {
            let error_ns = elapsed_ns(second, second + 1).abs_diff(NS_PER_S);
            assert!(error_ns <= 1_000, "second {second} is {error_ns} ns off");
        }
        let offset_ns = i64::from_ne_bytes(process.monotonic.offset_ns().to_ne_bytes());
        assert!((offset_ns + jump_ns).unsigned_abs() <= 100_000_000, "{offset_ns} ns");
    }
}

#[test]
fn ticks_that_were_lost_are_time_that_has_passed() {
    let process = busy(14, BackwardStep::Follow);
    let mut seen = run(&process, 10);
    // The counter stopped for an hour, as both clocks show.
    process.machine.step(3600 * i64::try_from(NS_PER_S).unwrap());
    seen.extend(run(&process, 10));
    let elapsed_ns = seen[19].1.0 - seen[0].1.0;
    assert!(elapsed_ns.abs_diff(3619 * NS_PER_S) <= 100_000_000, "{elapsed_ns} ns have passed");
    assert_true(&process);
}

#[test]
fn a_machine_that_goes_on_at_another_rate_is_followed() {
    for ppb in [-300_000_000, 200_000_000] {
        let process = busy(6, BackwardStep::Follow);
        let mut seen = run(&process, 10);
        process.machine.set_drift(ppb);
        seen.extend(run(&process, 60));
        assert!(counts(&process.monotonic).events() > 0);
        assert_in_order(&seen);
        assert_true(&process);
    }
}

#[test]
fn a_sync_finds_a_step_at_once_and_the_end_of_the_record_follows_it() {
    for step_ns in [7_000_000_000, -7_000_000_000] {
        let process = busy(7, BackwardStep::Follow);
        process.set_realtime(step_ns);
        process.sync();
        assert_eq!(counts(&process.realtime).events(), 1);
        // The step is known now, but the timeline does not follow it yet.
        process.sync();
        assert_eq!(counts(&process.realtime).events(), 1);
        assert_eq!(counts(&process.monotonic).events(), 0);
        run(&process, 9);
        assert_true(&process);
    }
}

#[test]
fn a_small_step_soon_after_a_sample_bends_no_rate() {
    for step_us in [-900, -100, -10, 10, 100, 900] {
        for after_ns in [5_000, 100_000, 1_000_000, 30_000_000, 100_000_000, NS_PER_S] {
            let process = busy(12, BackwardStep::Follow);
            process.machine.pass_ns(60 * NS_PER_S);
            process.ns_at(process.read());
            process.set_realtime(step_us * 1000);
            process.machine.pass_ns(after_ns);
            process.sync();
            let mut worst_ns = 0;
            for _ in 0..3_000 {
                process.machine.pass_ns(10_000_000);
                worst_ns = worst_ns.max(errors_ns(&process).1);
            }
            let allowed_ns = 5 * 1000 * step_us.unsigned_abs();
            assert!(worst_ns <= allowed_ns, "{step_us} us after {after_ns} ns: {worst_ns} ns off");
            assert_true(&process);
        }
    }
}

#[test]
fn a_sync_that_finds_nothing_leaves_the_history_alone() {
    let process = busy(8, BackwardStep::Follow);
    process.machine.pass_ns(NS_PER_S / 4);
    process.ns_at(process.read());
    let syncs = counts(&process.monotonic).syncs;
    for _ in 0..1000 {
        process.sync();
    }
    assert!(counts(&process.monotonic).syncs <= syncs + 1);
}

#[test]
fn unix_time_that_must_not_go_back_waits_for_the_clock() {
    let process = busy(9, BackwardStep::Hold);
    let mut seen = run(&process, 10);
    process.set_realtime(-10_000_000_000);
    seen.extend(run(&process, 120));
    for pair in seen.windows(2) {
        assert!(pair[0].1.1 <= pair[1].1.1, "{pair:?}");
    }
    assert_eq!(counts(&process.realtime).backward_steps, 1);
    // The timeline ran at half the rate for ten seconds to wait for the clock. It closed the last
    // millisecond at 500 ppm.
    assert_true(&process);
}

#[test]
fn unix_time_waits_for_a_minute_at_most() {
    let process = busy(9, BackwardStep::Hold);
    run(&process, 10);
    // After the third step the timeline is more than a minute ahead, so it goes back at once.
    for (step_s, counted) in [(40, 1), (15, 2), (30, 3)] {
        process.set_realtime(-step_s * 1_000_000_000);
        run(&process, 2);
        assert_eq!(counts(&process.realtime).backward_steps, counted);
    }
    assert_true(&process);
    process.set_realtime(-3_600_000_000_000);
    run(&process, 2);
    assert_eq!(counts(&process.realtime).backward_steps, 4);
    assert_true(&process);
}

/// Simulates two days of a busy process with the day's temperature, and a slew of 500 ppm for a
/// minute in every twelve hours.
#[test]
fn yesterday_converts_to_within_a_hundred_millionth() {
    const DAY_S: u64 = 86_400;
    const STEP_S: u64 = 30;
    let machine = Machine { interrupted_one_in: 0, ..Machine::new(10) };
    let process = Process::new(machine, BackwardStep::Follow);
    let mut seen = Vec::new();
    for second in (0..2 * DAY_S / STEP_S).map(|step| step * STEP_S) {
        let phase = i64::try_from(second % DAY_S).unwrap() - 43_200;
        // A parabola that spans 1 ppm a day and approximates a sine.
        let temperature_ppb = 500 - phase * phase / 1_866_240;
        let slew_ppb = if second % 43_200 < 60 { 500_000 } else { 0 };
        process.machine.set_drift(temperature_ppb + slew_ppb);
        process.machine.pass_ns(STEP_S * NS_PER_S);
        let tick = process.read();
        let converted = process.ns_at(tick);
        if second % 60 == 0 || second > 2 * DAY_S - 60 {
            seen.push((tick, converted));
        }
    }
    let now_ns = process.truth_ns().0;
    for (tick, (monotonic_ns, realtime_ns)) in seen {
        let again = process.ns_at(tick);
        let age_ns = now_ns - monotonic_ns;
        let allowed_ns = if age_ns < 60 * NS_PER_S { 0 } else { 1000 + age_ns / 100_000_000 };
        let change_ns = again.0.abs_diff(monotonic_ns).max(again.1.abs_diff(realtime_ns));
        assert!(
            change_ns <= allowed_ns,
            "{change_ns} ns off after {} s, where {allowed_ns} are allowed",
            age_ns / NS_PER_S
        );
    }
}
