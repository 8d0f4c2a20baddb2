//! Times in the past: some records are kept, and chords replace the others.

use std::collections::BTreeMap;

use super::simulation::{Driven, Machine, NS_PER_S, timeline};
use crate::timeline::*;

/// Lets `timeline` follow a clock of changing rate for an hour. Returns, for each record that it
/// had, some ticks with their times.
fn an_hour(timeline: &Timeline, machine: &Machine) -> BTreeMap<Id, Vec<(u64, u64)>> {
    let mut records = BTreeMap::new();
    for step in 0..14_400 {
        machine.set_drift((step / 40 % 97 - 48) * 4_000);
        machine.pass_ns(NS_PER_S / 4);
        let tick = machine.ticks();
        timeline.ns_at(tick, machine);
        let (id, newest) = timeline.newest_with_id().unwrap();
        let seen: &mut Vec<_> = records.entry(id).or_default();
        if tick >= newest.piece.start().tick {
            seen.push((tick, timeline.ns_at(tick, machine)));
        }
    }
    records
}

fn new() -> (Timeline, Machine) {
    let machine = Machine { interrupted_one_in: 0, ..Machine::new(41) };
    (timeline(BackwardStep::Follow), machine)
}

/// Returns the ids of the records that are kept, in order.
fn kept(timeline: &Timeline) -> Vec<Id> {
    let mut ids: Vec<Id> = timeline.history.kept::<0>().map(|(id, _)| id).collect();
    ids.sort_unstable();
    ids
}

#[test]
fn the_past_has_its_times_by_the_short_way() {
    let (timeline, machine) = new();
    let records = an_hour(&timeline, &machine);
    let now = machine.ticks();
    timeline.ns_at(now, &machine);
    let mut checked = 0;
    for &(tick, ns) in records.values().rev().flatten().take(240) {
        // The newest ticks are on the main line.
        let Some(found) = timeline.past_line(tick) else { continue };
        assert_eq!(found.ns_at(tick), ns, "{tick}");
        let between = timeline.ns_between(tick, now, &machine);
        assert_eq!(timeline.known_ns_between(tick, now), Some(between), "{tick}");
        checked += 1;
    }
    assert!(checked > 200, "only {checked} ticks");
    let (begun, machine) = new();
    begun.begin(None, &machine);
    assert_eq!(begun.past_line(machine.ticks() - 5), None, "there is no rate");
    for elsewhere in [now, now + (1 << 40), u64::MAX] {
        assert_eq!(timeline.past_line(elsewhere), None, "{elsewhere}");
    }
}

#[test]
fn a_record_that_is_kept_still_has_its_times() {
    let (timeline, machine) = new();
    let records = an_hour(&timeline, &machine);
    let newest = timeline.newest().unwrap().piece;
    let kept = kept(&timeline);
    let mut checked = 0;
    for id in &kept {
        let Some(seen) = records.get(id) else { continue };
        let has_its_successor =
            records.range(id + 1..).next().is_none_or(|(next, _)| kept.contains(next));
        if has_its_successor {
            continue;
        }
        for &(tick, ns) in seen {
            let line = timeline.older_line(&newest, |point| point.tick <= tick);
            assert_eq!(line.ns_at(tick), ns, "{tick} of {id}");
            checked += 1;
        }
    }
    assert!(checked > 20, "only {checked} ticks of such records");
}

#[test]
fn the_errors_of_chords_are_known() {
    let (timeline, machine) = new();
    let records = an_hour(&timeline, &machine);
    let newest = timeline.newest().unwrap().piece;
    let mut worst_ns = 0;
    for pair in kept(&timeline).windows(2) {
        let given_up = records.range(pair[0] + 1..pair[1]);
        for (tick, ns) in given_up.flat_map(|(_, seen)| seen) {
            let line = timeline.older_line(&newest, |point| point.tick <= *tick);
            let error_ns = line.ns_at(*tick).abs_diff(*ns);
            let known_ns = timeline.history.note(pair[1]);
            assert!(error_ns <= known_ns + 2, "{error_ns} ns, of which {known_ns} are known");
            worst_ns = worst_ns.max(error_ns);
        }
    }
    assert!(worst_ns > 1_000, "no chord is off by more than {worst_ns} ns");
}

#[test]
fn the_beginning_and_what_was_before_it_stay() {
    let (timeline, machine) = new();
    let first = machine.ticks();
    timeline.ns_at(first, &machine);
    let beginning = || (timeline.origin_ns(), timeline.ns_at(first - NS_PER_S, &machine));
    let before = beginning();
    an_hour(&timeline, &machine);
    assert_eq!(beginning(), before);
}
