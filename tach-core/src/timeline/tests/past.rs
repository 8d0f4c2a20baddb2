//! Times in the past: some records are kept, and chords replace the others.

use core::fmt::Debug;
use std::collections::BTreeMap;

use super::simulation::{Driven, Machine, NS_PER_S, Process, timeline};
use crate::line::{Direction, unshifted_tick};
use crate::timeline::piece::{Piece, Point};
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
    timeline.history.in_order(timeline.history.head(), &mut [0; SLOTS]).to_vec()
}

fn line_of(timeline: &Timeline, tick: u64) -> Option<Line> {
    timeline.past_stretch(tick).map(|stretch| stretch.line)
}

#[test]
fn the_past_has_its_times_by_the_short_way() {
    let (timeline, machine) = new();
    let records = an_hour(&timeline, &machine);
    let now = machine.ticks();
    timeline.ns_at(now, &machine);
    let mut checked = 0;
    // The clock's rate changes every ten seconds, so a minute has more records than the number kept
    // for certain.
    for &(tick, ns) in records.values().rev().take(40).flatten() {
        // The newest ticks are on the main line.
        let Some(found) = line_of(&timeline, tick) else { continue };
        assert_eq!(found.ns_at(tick), ns, "{tick}");
        let between = timeline.ns_between(tick, now, &machine);
        assert_eq!(timeline.known_ns_between(tick, now), Some(between), "{tick}");
        checked += 1;
    }
    assert!(checked > 100, "only {checked} ticks");
    let old: Vec<u64> = records.values().flatten().map(|seen| seen.0).collect();
    for pair in old[..old.len() - 100].windows(2) {
        let between = timeline.ns_between(pair[0], pair[1], &machine);
        assert_eq!(timeline.known_ns_between(pair[0], pair[1]), Some(between), "{pair:?}");
    }
    let (begun, machine) = new();
    begun.begin(None, &machine);
    assert_eq!(line_of(&begun, machine.ticks() - 5), None, "there is no rate");
    for elsewhere in [now, now + (1 << 40), u64::MAX] {
        assert_eq!(line_of(&timeline, elsewhere), None, "{elsewhere}");
    }
}

#[test]
fn a_record_that_is_kept_still_has_its_times() {
    let (timeline, machine) = new();
    let records = an_hour(&timeline, &machine);
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
            let line = line_of(&timeline, tick).unwrap();
            assert_eq!(line.ns_at(tick), ns, "{tick} of {id}");
            checked += 1;
        }
    }
    assert!(checked > 10, "only {checked} ticks of such records");
}

#[test]
fn the_errors_of_chords_are_known() {
    let (timeline, machine) = new();
    let records = an_hour(&timeline, &machine);
    let mut worst_ns = 0;
    for pair in kept(&timeline).windows(2) {
        let given_up = records.range(pair[0] + 1..pair[1]);
        for (tick, ns) in given_up.flat_map(|(_, seen)| seen) {
            let line = line_of(&timeline, *tick).unwrap();
            let error_ns = line.ns_at(*tick).abs_diff(*ns);
            let known_ns = f64::from(timeline.error_ns(pair[1]));
            let is_known = f64::from(u32::try_from(error_ns).unwrap()) <= known_ns + 2.0;
            assert!(is_known, "{error_ns} ns, of which {known_ns} are known");
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

/// A tick that was converted a minute ago may lie at the end of a chord of months.
#[test]
fn a_chord_of_months_meets_the_record_after_it() {
    let (timeline, machine) = new();
    for _ in 0..300 {
        machine.set_drift(machine.random.within(1_000));
        machine.pass_ns(30 * 86_400 * NS_PER_S);
        timeline.ns_at(machine.ticks(), &machine);
    }
    let mut longest = 0;
    for pair in kept(&timeline).windows(2) {
        let next = Piece::from_words(timeline.history.read(pair[1]).unwrap()).start();
        let last = timeline.past_stretch(next.tick - 1).unwrap();
        let off_ns = next.ns - last.line.ns_at(next.tick);
        assert!(off_ns <= 1, "{off_ns} ns at {next:?}");
        longest = longest.max(pair[1] - pair[0]);
    }
    assert!(longest >> 8 > 1, "there is no chord");
}

/// A thread may sleep between the read of the head and the making of the table.
#[test]
fn a_record_whose_slot_was_reused_has_no_table() {
    let (timeline, machine) = new();
    let records = an_hour(&timeline, &machine);
    let is_gone = |id: &Id| timeline.history.read::<0>(*id).is_none();
    let gone: Vec<_> = records.into_keys().filter(is_gone).collect();
    assert!(gone.len() > 100);
    assert!(gone.iter().all(|&id| timeline.tabulate(id).is_none()));
}

/// A timeline that holds waits for the clock, so its first line is flat.
#[test]
fn a_clock_set_back_before_the_second_sample_leaves_times_before_the_first() {
    let process = Process::new(Machine::new(42), BackwardStep::Hold);
    let first = process.tick();
    process.machine.pass_ns(10 * NS_PER_S);
    process.set_realtime(-i64::try_from(60 * NS_PER_S).unwrap());
    let now = process.ns_at(process.tick()).1;
    let before = process.ns_at(first - process.machine.nominal.ticks(100 * NS_PER_S).unwrap()).1;
    assert!(before <= now, "{before} is after {now}");
}

/// Returns the line with the last point that is `wanted`, by a search through all records, unless
/// it is the newest record's main line.
fn last_line(timeline: &Timeline, wanted: impl Fn(Point) -> bool) -> Option<Line> {
    let ids = kept(timeline);
    let record = |id| {
        let piece = Piece::from_words(timeline.history.read(id)?);
        let until = timeline.history.reach(id, piece.knee().tick)?.until;
        Some((piece, piece.end_at(until)))
    };
    let after = ids.iter().position(|&id| !wanted(record(id).unwrap().0.start()));
    let found = after.unwrap_or(ids.len()).checked_sub(1)?;
    let (piece, end) = record(ids[found]).unwrap();
    if found == ids.len() - 1 {
        return (!wanted(piece.knee())).then_some(piece.gap);
    }
    if !wanted(end) {
        return Some(piece.line(wanted));
    }
    let next = record(ids[found + 1]).unwrap().0.start();
    let rate = Rate::from_slope(next.ns - end.ns, next.tick - end.tick);
    Some(Line { start_tick: next.tick, start_ns: next.ns, rate })
}

#[test]
fn the_table_leads_to_the_line_of_each_tick_and_of_each_time() {
    let (timeline, machine) = new();
    let records = an_hour(&timeline, &machine);
    let same = |found: Option<Line>, wanted: Option<Line>, what: &dyn Debug| {
        let differs = match (found, wanted) {
            // The table keeps most bits of a chord's rate.
            (Some(found), Some(wanted)) => {
                let rates = [found.rate, wanted.rate].map(Rate::q48);
                Line { rate: wanted.rate, ..found } != wanted || rates[0].abs_diff(rates[1]) > 0xff
            }
            _ => found != wanted,
        };
        assert!(!differs, "{what:?}: {found:?} in place of {wanted:?}");
    };
    for (tick, ns) in records.into_values().flatten() {
        let (by_tick, by_ns) = (|point: Point| point.tick <= tick, |point: Point| point.ns <= ns);
        same(line_of(&timeline, tick), last_line(&timeline, by_tick), &tick);
        let found = timeline.past_stretch_of_ns(ns).map(|stretch| stretch.line);
        same(found, last_line(&timeline, by_ns), &ns);
    }
}

#[test]
fn a_sum_stays_on_a_line_of_the_past_exactly_as_long_as_the_line_lasts() {
    let (timeline, machine) = new();
    let records = an_hour(&timeline, &machine);
    let mut ends = 0;
    for tick in records.into_values().flatten().map(|(tick, _)| tick) {
        let Some(stretch) = timeline.past_stretch(tick) else { continue };
        let on_line = |tick| line_of(&timeline, tick) == Some(stretch.line);
        let rate = stretch.line.rate;
        for (direction, sign) in [(Direction::After, 1), (Direction::Before, -1)] {
            // Find the first sum that leaves the line, by bisection.
            let (mut stays, mut leaves) = (0, 3_600 * NS_PER_S);
            let sum = |ns| stretch.sum(tick, ns, direction).map(unshifted_tick);
            assert_eq!(sum(leaves), None, "{stretch:?}");
            while leaves - stays > 1 {
                let middle = stays.midpoint(leaves);
                *(if sum(middle).is_some() { &mut stays } else { &mut leaves }) = middle;
            }
            let moved = |ns| tick.wrapping_add_signed(sign * rate.ticks(ns).unwrap().cast_signed());
            assert_eq!(sum(stays), Some(moved(stays)));
            assert!(on_line(moved(stays)), "{tick} {direction:?} {stays}: {stretch:?}");
            assert!(!on_line(moved(leaves)), "{tick} {direction:?} {leaves}: {stretch:?}");
            ends += 1;
        }
    }
    assert!(ends > 1_000, "only {ends}");
}

#[test]
fn a_table_whose_writer_was_stopped_is_missed_by_nobody() {
    let (timeline, machine) = new();
    let records = an_hour(&timeline, &machine);
    let tick = records.values().flatten().nth(1_000).unwrap().0;
    let before = line_of(&timeline, tick);
    assert!(before.is_some());
    timeline.table.stall();
    assert_eq!(line_of(&timeline, tick), before);
}
