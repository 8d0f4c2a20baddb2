//! The real timelines under random faults: thousands of seeds, years of simulated time.
//!
//! Each conversion checks that ticks keep their meaning, that time never goes back, and that the
//! error is within the timeline's own bound. A seed that fails is printed; `TACH_SEED=17 cargo test
//! -p tach-core --lib scenarios` replays it. `TACH_SCENARIOS=500` runs fewer, for emulated CPUs.

use std::env;
use std::thread;

use super::simulation::{Machine, NS_PER_S, Process, Random};
use crate::source::Mode;
use crate::timeline::piece::Piece;
use crate::timeline::record::MAX_HELD_NS;
use crate::timeline::*;
use core::cell::Cell;

const SCENARIOS: u64 = 10_000;
const CONVERSIONS: usize = 120;
/// The maximum number of conversions that are remembered.
const REMEMBERED: usize = 24;

/// The ways to read ticks with which a scenario begins. Whether order is enforced is decided above
/// the timelines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    Counter,
    /// The counter has gone back this many times.
    AfterFailures(usize),
    OsClock,
}

const STARTS: [Start; 4] =
    [Start::Counter, Start::AfterFailures(1), Start::AfterFailures(4), Start::OsClock];

type Convert = fn(&Process, u64) -> (u64, u64);

/// A conversion and its result.
#[derive(Debug, Clone, Copy)]
struct Seen {
    tick: u64,
    /// The times by the monotonic and the real-time timeline.
    ns: [u64; 2],
    /// The monotonic time and the simulated time at that moment, to compute the ages of the
    /// results.
    at_ns: [u64; 2],
    /// The number of both timelines' records at that moment.
    records: [u64; 2],
}

struct Scenario {
    process: Process,
    start: Start,
    convert: Convert,
    follows_back: bool,
    seen: Vec<Seen>,
    /// The skews of the cores.
    skews: Vec<i64>,
    longest_pause_ns: u64,
    wander_ppb: u64,
    drift_ppb: i64,
    /// One conversion in this many meets an event; 0 for none.
    event_one_in: u64,
    /// The simulated time so far.
    passed_ns: u64,
    /// The sum of the steps by which the wall clock was set back.
    set_back_ns: u64,
}

impl Scenario {
    fn new(seed: u64, start: Start, convert: Convert) -> Self {
        let random = Random(Cell::new(seed ^ 0xface));
        let hz = random.pick(&[
            2_700_000_000,
            2_700_000_000,
            5_100_000_000,
            1_000_000_000,
            62_500_000,
            24_000_000,
        ]);
        let rate = Rate::from_slope(1000 * NS_PER_S, 1000 * hz);
        let mut machine = Machine::with_rate(seed, rate);
        // The machine declares no frequency, the true one, or one that is off by one of these ppm:
        // by as little as the difference between two crystals, or by nearly the whole.
        let lies = [0, 500, 800, 1200, 2000, 4000, 10_000, 41_667, 960_000];
        let lie_hz = hz / 1_000_000 * random.pick(&lies);
        machine.declared_hz = random.pick(&[None, Some(hz), Some(hz + lie_hz), Some(hz - lie_hz)]);
        machine.resolution_ns = random.pick(&[1, 1, 1, 1, 1, 1, 100, 1_000, 1_000_000, 15_625_000]);
        machine.interrupted_one_in = random.pick(&[0, 200, 20, 4]);
        machine.interruption_ns = random.pick(&[5_000, 50_000, 10_000_000]);
        let skew_ns = random.pick(&[0, 0, 0, 20, 100]);
        let skew_ticks = rate.ticks(skew_ns).unwrap();
        let backward = random.pick(&[BackwardStep::Follow, BackwardStep::Hold]);
        let drift_ppb = random.within(100_000);
        machine.set_drift(drift_ppb);
        let mode = match start {
            Start::OsClock => {
                machine.declared_hz = Some(NS_PER_S);
                // Keep the steps short: each look waits for a step, and every read of that wait is
                // simulated.
                machine.resolution_ns = machine.resolution_ns.min(1_000);
                Mode::Os
            }
            Start::Counter | Start::AfterFailures(_) => Mode::Enforced,
        };
        Self {
            process: Process::reading(mode, machine, backward),
            start,
            convert,
            follows_back: backward == BackwardStep::Follow,
            seen: Vec::new(),
            skews: (0..4)
                .map(|core| if core == 0 { 0 } else { random.within(skew_ticks) })
                .collect(),
            longest_pause_ns: random.pick(&[
                1_000_000,
                NS_PER_S,
                2 * NS_PER_S,
                3600 * NS_PER_S,
                30 * 86_400 * NS_PER_S,
            ]),
            wander_ppb: random.pick(&[0, 2, 10]),
            drift_ppb,
            event_one_in: random.pick(&[0, 0, 20, 60]),
            passed_ns: 0,
            set_back_ns: 0,
        }
    }

    fn run(&mut self) -> Result<(), String> {
        self.begin()?;
        for _ in 0..CONVERSIONS {
            let machine = &self.process.machine;
            let pause_ns = machine.random.magnitude(self.longest_pause_ns);
            machine.pass_ns(pause_ns);
            self.passed_ns += pause_ns;
            let slowly = i64::try_from(NS_PER_S / pause_ns.clamp(1, NS_PER_S)).unwrap();
            self.drift_ppb += machine.random.within(self.wander_ppb) / slowly;
            machine.set_drift(self.drift_ppb);
            let core = usize::try_from(machine.random.below(4)).unwrap();
            machine.skew_ticks.set(self.skews[core]);
            if machine.random.one_in(self.event_one_in) {
                self.event();
            }
            if self.process.machine.random.one_in(50) {
                self.process.sync();
            }
            self.convert_one()?;
        }
        Ok(())
    }

    /// Makes the counter fail as many times as [`Start`] says.
    fn begin(&self) -> Result<(), String> {
        let Start::AfterFailures(count) = self.start else { return Ok(()) };
        let machine = &self.process.machine;
        let failures = || self.process.failures.borrow().len();
        let use_for_two_minutes = || {
            for _ in 0..12 {
                machine.pass_ns(10 * NS_PER_S);
                self.process.read();
            }
        };
        // After two minutes the rate is known, even from an OS clock with long steps.
        use_for_two_minutes();
        // The process may count failures close together as one failure, so cause more of them.
        for _ in 0..4 * count {
            if failures() < count {
                machine.pass_ns(NS_PER_S);
                let back = i64::try_from(machine.nominal.ticks(2 * NS_PER_S).unwrap()).unwrap();
                machine.displaced_ticks.set(machine.displaced_ticks.get() - back);
                self.process.read();
            }
        }
        // Let the failures grow old: `check_purity` expects that the history has room for all
        // records of the last minute.
        use_for_two_minutes();
        let wanted = if count == 1 { Mode::Moved } else { Mode::Replaced };
        let (failures, mode) = (failures(), self.process.mode.get());
        if (failures, mode) == (count, wanted) {
            return Ok(());
        }
        Err(format!("{failures} failures of {count}, then {mode:?}"))
    }

    /// Makes an event happen to the machine.
    fn event(&mut self) {
        let machine = &self.process.machine;
        let signed = |value: u64| i64::try_from(value).unwrap();
        let step_ns = signed(machine.random.magnitude(7200 * NS_PER_S));
        match machine.random.below(8) {
            // chrony begins or ends a slew.
            0 => self.drift_ppb = machine.random.within(500_000),
            // The wall clock is set.
            1 => self.process.set_realtime(step_ns),
            2 => {
                self.process.set_realtime(-step_ns);
                self.set_back_ns += step_ns.unsigned_abs();
            }
            // A suspend: the counter runs on, the monotonic clock does not.
            3 => {
                machine.pass_ns(step_ns.unsigned_abs());
                machine.step(-step_ns);
                self.process.set_realtime(step_ns);
            }
            // The counter jumps ahead.
            4 => machine.displaced_ticks.set(machine.displaced_ticks.get() + step_ns),
            // The counter goes back.
            5 => machine
                .displaced_ticks
                .set(machine.displaced_ticks.get() - step_ns.min(signed(machine.counter() / 2))),
            // The virtual machine continues on a host whose counter runs at another rate.
            6 => self.drift_ppb += machine.random.within(50_000_000),
            // The counter stops, which only a sync can find.
            _ => {
                machine.stopped_at.set(Some(machine.counter()));
                machine.pass_ns(NS_PER_S);
                self.process.sync();
            }
        }
        machine.set_drift(self.drift_ppb);
    }

    fn convert_one(&mut self) -> Result<(), String> {
        let process = &self.process;
        let (tick, truth) = (process.read(), process.truth_ns());
        let (monotonic_ns, realtime_ns) = (self.convert)(process, tick);
        let at_ns = [truth.0, self.process.machine.passed_ns()];
        let seen = Seen { tick, ns: [monotonic_ns, realtime_ns], at_ns, records: self.records() };
        self.check_joins()?;
        self.check_truth()?;
        self.check_purity()?;
        self.seen.push(seen);
        self.check_order()?;
        if self.seen.len() > REMEMBERED {
            let random = &self.process.machine.random;
            let forgotten = random.below(REMEMBERED as u64);
            self.seen.remove(usize::try_from(forgotten).unwrap());
        }
        Ok(())
    }

    /// Checks that each timeline's bound holds at every read, whatever happened before.
    fn check_truth(&self) -> Result<(), String> {
        let offset_ns = self.process.truth_ns().1.wrapping_sub(self.process.os_ns());
        let skew_ticks = self.skews.iter().map(|skew| skew.unsigned_abs()).max().unwrap();
        let skew_ns = self.process.machine.os.get().rate.ns(2 * skew_ticks);
        let timelines = [&self.process.monotonic, &self.process.realtime];
        for (i, timeline) in timelines.into_iter().enumerate() {
            let before_ns = self.process.os_ns();
            let (tick, bound_ns) = self.process.bound(i);
            let offset_ns = if i == 0 { timeline.offset_ns() } else { offset_ns };
            let converted: [u64; 2] = (self.convert)(&self.process, tick).into();
            let after_ns = self.process.os_ns();
            let (before_ns, after_ns) =
                (before_ns.wrapping_add(offset_ns), after_ns.wrapping_add(offset_ns));
            let bound_ns = bound_ns.saturating_add(skew_ns);
            if converted[i].saturating_add(bound_ns) < before_ns
                || converted[i] > after_ns.saturating_add(bound_ns)
            {
                return Err(format!(
                    "timeline {i} has {}, where the clock went from {before_ns} to {after_ns}, and \
                     claims {bound_ns}: {:?}",
                    converted[i],
                    timeline.newest().unwrap()
                ));
            }
        }
        Ok(())
    }

    /// Checks that the newest record begins where its predecessor ends and that its lines meet,
    /// unless an event was counted.
    fn check_joins(&self) -> Result<(), String> {
        for timeline in [&self.process.monotonic, &self.process.realtime] {
            let (id, newest) = timeline.newest_with_id().unwrap();
            let piece = newest.piece;
            // The record before the newest one is never given up.
            let mut ids = [0; SLOTS];
            let &[.., before_id, _] = timeline.history.in_order(id, &mut ids) else { continue };
            let before = timeline.history.read(before_id).map(Piece::from_words).unwrap();
            let reach = timeline.history.reach(before_id, before.knee().tick).unwrap();
            let end = before.end_at(reach.until);
            let gap_end_ns = piece.gap.ns_at(piece.knee().tick);
            let meet = gap_end_ns == piece.knee().ns || newest.counts.events() > 0;
            if piece.start() != end || !meet {
                return Err(format!("{before:?} ends elsewhere than {piece:?} begins"));
            }
        }
        Ok(())
    }

    /// Checks that earlier conversions have the same result again, or nearly the same if they are
    /// old.
    fn check_purity(&self) -> Result<(), String> {
        let now_ns = [self.process.truth_ns().0, self.process.machine.passed_ns()];
        for _ in 0..2.min(self.seen.len()) {
            let seen = self.process.machine.random.pick(&self.seen);
            let again = (self.convert)(&self.process, seen.tick);
            let records = self.records();
            for (i, again_ns) in [again.0, again.1].into_iter().enumerate() {
                let change_ns = again_ns.abs_diff(seen.ns[i]);
                let age_ns = now_ns[i].saturating_sub(seen.at_ns[i]);
                let recent = age_ns < 60 * NS_PER_S;
                // A minute makes 36 records or more only if the clock is disturbed repeatedly. Then
                // there may be more bends than slots.
                if recent && records[i] - seen.records[i] >= 36 {
                    continue;
                }
                let allowed_ns = if recent { 0 } else { 1000 + age_ns / 100_000_000 };
                if change_ns > allowed_ns {
                    return Err(format!(
                        "timeline {i}: {} was {} and became {again_ns}, {change_ns} ns from it after {age_ns} ns",
                        seen.tick, seen.ns[i],
                    ));
                }
            }
        }
        Ok(())
    }

    /// Returns the number of records that both timelines have had.
    fn records(&self) -> [u64; 2] {
        [&self.process.monotonic, &self.process.realtime]
            .map(|timeline| u64::from(timeline.newest().unwrap().counts.syncs))
    }

    /// Checks that later ticks have later times, except as often as the clock was set back.
    fn check_order(&self) -> Result<(), String> {
        let mut seen = self.seen.clone();
        seen.sort_by_key(|seen| seen.tick);
        for (i, timeline) in
            [&self.process.monotonic, &self.process.realtime].into_iter().enumerate()
        {
            // Times may go back only in Unix time, and only if steps are followed or too long to
            // hold.
            let is_allowed = |pair: &[Seen]| {
                let elapsed_ns = pair[1].ns[0] - pair[0].ns[0];
                let step_ns = pair[0].ns[i] - pair[1].ns[i] + elapsed_ns;
                // A step that comes while an earlier step is held adds to it, so both together may
                // be too long.
                let is_long = step_ns.max(self.set_back_ns) > MAX_HELD_NS - NS_PER_S;
                i == 1 && (self.follows_back || is_long)
            };
            let counts = timeline.newest().unwrap().counts;
            let back: Vec<_> =
                seen.windows(2).filter(|pair| pair[0].ns[i] > pair[1].ns[i]).collect();
            let are_allowed = back.iter().all(|pair| is_allowed(pair));
            let allowed = if are_allowed { counts.backward_steps as usize } else { 0 };
            if back.len() > allowed {
                return Err(format!(
                    "timeline {i} went back {} times, not {allowed}: {back:?}",
                    back.len()
                ));
            }
        }
        Ok(())
    }
}

/// Returns the first violation in many scenarios, and the simulated time of all.
fn first_violation(
    seeds: core::ops::Range<u64>,
    prepare: fn(&mut Scenario),
    convert: Convert,
) -> Result<u64, String> {
    let mut passed_s = 0;
    for (seed, start) in seeds.flat_map(|seed| STARTS.map(|start| (seed, start))) {
        let mut scenario = Scenario::new(seed, start, convert);
        prepare(&mut scenario);
        scenario.run().map_err(|violation| format!("TACH_SEED={seed}, {start:?}: {violation}"))?;
        passed_s += scenario.passed_ns / NS_PER_S;
    }
    Ok(passed_s)
}

fn honestly(process: &Process, tick: u64) -> (u64, u64) {
    process.ns_at(tick)
}

#[test]
#[cfg_attr(target_family = "wasm", ignore = "there are no threads")]
fn ten_thousand_scenarios_hold() {
    let number = |name| env::var(name).ok().map(|value| value.parse::<u64>().expect("a number"));
    let seed = number("TACH_SEED");
    let scenarios = number("TACH_SCENARIOS").unwrap_or(SCENARIOS);
    let ranges = match seed {
        Some(seed) => [seed..seed + 1, 0..0],
        None => [0..scenarios / 2, scenarios / 2..scenarios],
    };
    let years: u64 = thread::scope(|scope| {
        let threads: Vec<_> = ranges
            .into_iter()
            .map(|seeds| scope.spawn(|| first_violation(seeds, |_| (), honestly)))
            .collect();
        let passed_s = threads.into_iter().map(|thread| match thread.join().expect("no panic") {
            Ok(passed_s) => passed_s,
            Err(violation) => panic!("{violation}"),
        });
        passed_s.sum::<u64>() / (365 * 86_400)
    });
    assert!(seed.is_some() || years > scenarios / 100, "only {years} years were simulated");
}

#[test]
fn a_reading_of_the_os_clock_that_is_off_is_caught() {
    let lie = |scenario: &mut Scenario| {
        scenario.process.machine.resolution_ns = 1;
        scenario.process.lie_ns.set(20_000);
    };
    let caught = (0..100).filter(|&seed| first_violation(seed..seed + 1, lie, honestly).is_err());
    assert!(caught.count() > 50);
}

#[test]
fn a_timeline_that_forgets_its_past_is_caught() {
    // This control converts all ticks by the newest line.
    let amnesia = |process: &Process, tick| {
        process.ns_at(tick);
        let latest = |timeline: &Timeline| timeline.newest().unwrap().piece.main.ns_at(tick);
        (latest(&process.monotonic), latest(&process.realtime))
    };
    let caught = (0..30).filter(|&seed| first_violation(seed..seed + 1, |_| (), amnesia).is_err());
    assert!(caught.count() > 25);
}

#[test]
fn a_timeline_that_goes_back_is_caught() {
    let jumpy = |process: &Process, tick| {
        let (monotonic_ns, realtime_ns) = process.ns_at(tick);
        // In this control, the counter goes back by 2 us every quarter of a millisecond.
        (monotonic_ns - (tick >> 20 & 1) * 2_000, realtime_ns)
    };
    let undisturbed = |scenario: &mut Scenario| {
        scenario.event_one_in = 0;
        scenario.process.machine.resolution_ns = 1;
    };
    let caught =
        (0..100).filter(|&seed| first_violation(seed..seed + 1, undisturbed, jumpy).is_err());
    let caught = caught.count();
    assert!(caught > 50, "{caught}");
}
