//! Ticks and durations: sums, differences, and future ticks.

use super::simulation::{Driven, Machine, NS_PER_S, timeline};
use crate::line::{Direction, shifted_ns};
use crate::timeline::*;

#[test]
fn durations_can_be_added_to_a_tick_in_a_flat_gap() {
    let machine = Machine::new(19);
    let timeline = timeline(BackwardStep::Hold);
    for _ in 0..3000 {
        machine.pass_ns(5_000_000);
        timeline.ns_at(machine.ticks(), &machine);
    }
    // A suspend of an hour during which the counter continued, found right after a successor was
    // prepared.
    machine.pass_ns(3600 * NS_PER_S);
    machine.step(-3600 * i64::try_from(NS_PER_S).unwrap());
    let tick = machine.ticks();
    timeline.ns_at(tick, &machine);
    let later = timeline.tick_after(tick, 5 * NS_PER_S, &machine);
    assert!(later.is_some_and(|later| later > tick));
    let earlier = timeline.tick_before(tick, 1_000_000, &machine);
    assert!(earlier.is_some_and(|earlier| earlier < tick));
}

#[test]
fn the_future_is_a_prediction_and_appends_nothing() {
    let machine = Machine::new(11);
    let timeline = timeline(BackwardStep::Hold);
    let now = machine.ticks();
    timeline.ns_at(now, &machine);
    let newest = timeline.newest();
    let in_an_hour = timeline.tick_after(now, 3600 * NS_PER_S, &machine).unwrap();
    assert_eq!(timeline.ns_between(now, in_an_hour, &machine), 3600 * NS_PER_S);
    assert_eq!(timeline.newest(), newest);
    let last = u64::MAX / 2;
    assert!(timeline.ns_at(last, &machine) > timeline.ns_at(in_an_hour, &machine));
    assert_eq!(timeline.ns_at(last + 1, &machine), 0);
}

#[test]
fn ticks_and_durations_are_inverse() {
    let machine = Machine::new(12);
    let timeline = timeline(BackwardStep::Hold);
    let mut seen = Vec::new();
    for _ in 0..200 {
        machine.pass_ns(machine.random.magnitude(NS_PER_S));
        let tick = machine.ticks();
        timeline.ns_at(tick, &machine);
        seen.push(tick);
    }
    let recent = &seen[seen.len() - 20..];
    for &a in recent {
        for &b in recent.iter().filter(|&&b| b > a) {
            let ns = timeline.ns_between(a, b, &machine);
            // Allow for a nanosecond of rounding, which is three ticks, on each side.
            let there = timeline.tick_after(a, ns, &machine).unwrap();
            assert!(there.abs_diff(b) <= 6, "{a} + {ns} ns is {there}, not {b}");
            let back = timeline.tick_before(b, ns, &machine).unwrap();
            assert!(back.abs_diff(a) <= 6, "{b} - {ns} ns is {back}, not {a}");
        }
    }
}

/// Allows an error of a tick, across any segments. A join is rounded to a nanosecond, so two
/// segments can have the same time; then either tick is right.
#[test]
fn a_duration_added_and_subtracted_leads_back() {
    let machine = Machine::new(14);
    let timeline = timeline(BackwardStep::Hold);
    let (mut seen, mut at_joins, mut pairs) = (Vec::new(), 0, 0);
    for _ in 0..200 {
        machine.pass_ns(machine.random.magnitude(NS_PER_S));
        let tick = machine.ticks();
        timeline.ns_at(tick, &machine);
        seen.push(tick);
    }
    let recent = &seen[seen.len() - 40..];
    for &a in recent {
        for _ in 0..200 {
            let ns = machine.random.magnitude(3600 * NS_PER_S);
            let there = timeline.tick_after(a, ns, &machine).unwrap();
            assert_eq!(timeline.ns_between(a, there, &machine), ns);
            let back = timeline.tick_before(there, ns, &machine).unwrap();
            let before = timeline.tick_before(a, ns.min(NS_PER_S), &machine).unwrap();
            let again = timeline.tick_after(before, ns.min(NS_PER_S), &machine).unwrap();
            for off in [back.abs_diff(a), again.abs_diff(a)] {
                assert!(off <= 4, "{a} and {ns} ns there and back is off by {off} ticks");
                at_joins += u32::from(off > 1);
                pairs += 1;
            }
        }
    }
    assert!(at_joins * 1000 <= pairs, "{at_joins} of {pairs}");
}

/// Uses ticks that last longer than a nanosecond, within a line and across lines. Both times are
/// rounded to a nanosecond.
#[test]
fn a_sum_is_no_nearer_than_the_duration() {
    let machine = Machine::with_rate(15, Rate::from_slope(10 * NS_PER_S, 70_000_000));
    let timeline = timeline(BackwardStep::Hold);
    let seen: Vec<_> = (0..200)
        .map(|_| {
            machine.pass_ns(machine.random.magnitude(NS_PER_S));
            let tick = machine.ticks();
            timeline.ns_at(tick, &machine);
            tick
        })
        .collect();
    for &tick in &seen[120..] {
        for _ in 0..200 {
            let ns = machine.random.magnitude(2 * NS_PER_S);
            let later = timeline.tick_after(tick, ns, &machine).unwrap();
            let earlier = timeline.tick_before(tick, ns, &machine).unwrap();
            for (from, to) in [(tick, later), (earlier, tick)] {
                let between = timeline.ns_between(from, to, &machine);
                // A tick lasts 142.9 ns.
                assert!(
                    (ns - 1..=ns + 144).contains(&between),
                    "{between} ns from {from} to {to}, not {ns}"
                );
            }
        }
    }
}

/// Compares the sums and differences of the fast paths with those by records alone, in all
/// positions: on the line in use, across the end of its record, in the future, and in the past.
#[test]
fn the_fast_paths_agree_with_the_records() {
    let hz = [2_700_000_000, NS_PER_S, 5_000_000_000, 24_000_000, 99_999_999, 7_000_000];
    let mut compared = 0;
    for seed in 0..120 {
        let hz = hz[usize::try_from(seed).unwrap() % hz.len()];
        let machine = Machine::with_rate(seed, Rate::from_slope(NS_PER_S, hz));
        let machine = Machine { interrupted_one_in: 0, ..machine };
        let timeline = timeline(BackwardStep::Hold);
        let mut seen = Vec::new();
        for _ in 0..machine.random.below(60) + 3 {
            machine.set_drift(machine.random.within(300_000));
            machine.pass_ns(machine.random.magnitude(NS_PER_S));
            seen.push(machine.ticks());
            timeline.ns_at(seen[seen.len() - 1], &machine);
        }
        let ten_ms = machine.nominal.ticks(10_000_000).unwrap();
        let record = timeline.newest().unwrap();
        if !timeline.current.expects(machine.tick.get() + ten_ms) {
            // Skip this seed: the timeline would look at the clock, but the records alone never do.
            continue;
        }
        let (start, end) = (record.piece.knee().tick, record.end_tick);
        let edges = [start - 1, start, start + 1, end - 1, end, end + 1];
        // The farthest ticks, and one before zero.
        let far = [u64::MAX / 2, u64::MAX / 2 + 1, 0_u64.wrapping_sub(5)];
        let ticks: Vec<_> = edges
            .into_iter()
            .chain(far)
            .chain((0..6).map(|_| start + machine.random.below(end - start)))
            .chain((0..6).map(|_| end + machine.random.magnitude(100 * (end - start))))
            .chain((0..6).map(|_| machine.random.pick(&seen)))
            .collect();
        let mut sums = Vec::new();
        for &tick in &ticks {
            let to_end_ns = machine.nominal.ns(tick.abs_diff(end));
            let to_start_ns = machine.nominal.ns(tick.abs_diff(start));
            for _ in 0..40 {
                let near = machine.random.below(5) + machine.random.magnitude(2_000);
                let edge = machine.random.pick(&[to_end_ns, to_start_ns]);
                let long = machine.random.magnitude(3 * 3600 * NS_PER_S);
                let ns = machine.random.pick(&[
                    edge.saturating_add(near).saturating_sub(1_000),
                    long,
                    near,
                ]);
                let direction = machine.random.pick(&[Direction::After, Direction::Before]);
                sums.push((tick, ns, direction));
            }
        }
        let all = |timeline: &Timeline| {
            let pairs = ticks.iter().flat_map(|&a| ticks.iter().map(move |&b| (a, b)));
            let between = |(a, b)| ((a, b), timeline.ns_between(a, b, &machine));
            let sum = |&(tick, ns, way)| timeline.sum(tick, ns, way, &machine);
            (sums.iter().map(sum).collect::<Vec<_>>(), pairs.map(between).collect::<Vec<_>>())
        };
        let (fast, fast_between) = all(&timeline);
        timeline.current.stall();
        let (slow, slow_between) = all(&timeline);
        assert_eq!(timeline.newest(), Some(record), "a look was taken");
        for ((sum, fast), slow) in sums.iter().zip(fast).zip(slow) {
            assert_eq!(fast, slow, "{hz} Hz, {start} to {end}: {sum:?}");
        }
        for (fast, slow) in fast_between.iter().zip(&slow_between) {
            assert_eq!(fast, slow, "{hz} Hz, {start} to {end}");
        }
        compared += sums.len();
    }
    assert!(compared > 10_000, "{compared}");
}

/// While the writer was stopped, others published a record, and could not put its line into use.
#[test]
fn a_writer_that_goes_on_misleads_until_the_next_read() {
    let machine = Machine { interrupted_one_in: 0, ..Machine::new(21) };
    let timeline = timeline(BackwardStep::Hold);
    let read = || {
        machine.pass_ns(10_000_000);
        let tick = machine.ticks();
        if !timeline.current.expects(tick) {
            timeline.look(tick, &machine);
        }
        tick
    };
    timeline.ns_at(machine.ticks(), &machine);
    for _ in 0..1_000 {
        read();
    }
    let (start, until, head) = (read(), timeline.current.next_look(), timeline.history.head());
    timeline.current.stall();
    // A slew begins.
    machine.set_drift(500_000);
    while timeline.history.head() == head {
        read();
    }
    let later = read();
    let right_ns = timeline.ns_between(start, later, &machine);
    timeline.current.resume(until);
    let ns = timeline.ns_between(start, later, &machine);
    assert!(ns != right_ns && ns.abs_diff(right_ns) < 2_000_000, "{ns} for {right_ns}");
    read();
    assert_eq!(timeline.ns_between(start, later, &machine), right_ns);
}

#[test]
fn a_time_leads_back_to_its_tick() {
    let machine = Machine::new(20);
    let timeline = timeline(BackwardStep::Hold);
    for _ in 0..300 {
        machine.pass_ns(machine.random.magnitude(NS_PER_S));
        let tick = machine.ticks();
        let ns = timeline.ns_at(tick, &machine);
        let back = timeline.tick_at_shifted(shifted_ns(ns)).unwrap();
        assert!(timeline.ns_at(back, &machine).abs_diff(ns) <= 1);
        assert!(back.abs_diff(tick) <= 3, "{tick} is at {ns} ns, and so is {back}");
    }
}
