//! Ticks and durations: sums, differences, and future ticks.

use super::simulation::{Driven, Machine, NS_PER_S, timeline};
use crate::line::shifted_ns;
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
            // Within a nanosecond of rounding on each side, or three ticks.
            let there = timeline.tick_after(a, ns, &machine).unwrap();
            assert!(there.abs_diff(b) <= 6, "{a} + {ns} ns is {there}, not {b}");
            let back = timeline.tick_before(b, ns, &machine).unwrap();
            assert!(back.abs_diff(a) <= 6, "{b} - {ns} ns is {back}, not {a}");
        }
    }
}

/// Checks this to within a tick, across any segments. A join is rounded to a nanosecond, so two
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

/// Checks this where a tick lasts longer than a nanosecond, within a line and across lines. Both
/// times are rounded to a nanosecond.
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
