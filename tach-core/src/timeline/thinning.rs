//! The choice of the old record to give up: the one whose removal costs least.
//!
//! Where records are missing, a chord leads from the end of the previous record to the start of the
//! next one. The cost of a removal is the chord's error divided by the error tolerated at its age.
//! Thus a few records cover years, while a bend in the timeline is kept as long as a straighter
//! part can be given up.

use super::piece::{Piece, Point};

/// A record that is kept, and the error of the chord before it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kept {
    pub(super) id: u64,
    pub(super) piece: Piece,
    /// The start of the successor.
    pub(super) end: Point,
    pub(super) error_ns: f32,
}

impl Kept {
    /// A placeholder for no record.
    pub(super) const NONE: Self =
        Self { id: 0, piece: Piece::NONE, end: Point { tick: 0, ns: 0 }, error_ns: 0.0 };
}

/// The error that an old tick may have, in addition to a hundred-millionth of its age.
const TOLERANCE_NS: f64 = 1000.0;
const TOLERANCE_OF_AGE: f64 = 1e-8;

/// More records than this are made in a minute only if the clock is disturbed several times.
const RECENT: usize = 40;
/// The number of records that are never given up at the start: they define how the timeline begins.
const FIRST: usize = 2;

/// Returns the index in `kept` of the record to give up, and the error of the chord that replaces
/// it; `None` if no record may be given up. `kept` must be in the order of time.
///
/// A record is recent if its successor starts after `recent`, by tick or by ns. The tolerance is
/// added to the error of a recent record, so it is given up only if each old record bends the
/// timeline by more: a clock that is disturbed for some seconds must not cost all times before. Of
/// the last [`RECENT`] records, none that is recent is given up.
pub(super) fn choose(kept: &[Kept], recent: Point) -> Option<(usize, f32)> {
    let now = kept.last()?.end;
    let (mut best, mut least_cost) = (None, f64::INFINITY);
    for i in FIRST..kept.len() - 1 {
        // Compare ticks and times. After the OS clock was set, all earlier records look old by ns;
        // while a new rate is not yet known, they look old by ticks.
        let next = kept[i + 1].piece.start();
        let is_old = next.tick < recent.tick && next.ns < recent.ns;
        if !is_old && i + RECENT >= kept.len() {
            continue;
        }
        let error = error_without(kept, i);
        let surcharge = f64::from(u8::from(!is_old));
        let cost = error / tolerance(now, kept[i].piece.start()) + surcharge;
        if cost < least_cost {
            #[expect(clippy::cast_possible_truncation, reason = "the cast saturates")]
            let error_ns = error as f32;
            (best, least_cost) = (Some((i, error_ns)), cost);
        }
    }
    best
}

/// Returns the error of the chord that would replace the record at `index`: its distance from the
/// record, plus the greater error of the two chords beside it.
fn error_without(kept: &[Kept], index: usize) -> f64 {
    let (before, Kept { piece, end, .. }, after) =
        (&kept[index - 1], &kept[index], &kept[index + 1]);
    let (from, to) = (before.end, after.piece.start());
    let knee = piece.knee();
    // If the clock was set, the step is at the knee: the gap line ends there at another time than
    // the main line begins.
    let gap_end = Point { ns: piece.gap.ns_at(knee.tick), ..knee };
    let mut here = 0.0_f64;
    for point in [piece.start(), gap_end, knee, *end] {
        here = here.max(distance(from, to, point));
    }
    here + f64::from(kept[index].error_ns.max(after.error_ns))
}

/// Returns the distance of `point` from the straight line between the other two, in ns.
#[inline(never)]
fn distance(from: Point, to: Point, point: Point) -> f64 {
    let (dx, dy) = (difference(to.tick, from.tick), difference(to.ns, from.ns));
    let (x, y) = (difference(point.tick, from.tick), difference(point.ns, from.ns));
    if dx > 0.0 { (y - dy * (x / dx)).abs() } else { y.abs() }
}

#[inline(never)]
fn tolerance(now: Point, then: Point) -> f64 {
    TOLERANCE_NS + TOLERANCE_OF_AGE * difference(now.ns, then.ns).abs()
}

/// Returns `a - b`, exactly if the two are near each other.
#[inline(never)]
#[expect(clippy::cast_precision_loss, reason = "an estimate needs no more")]
fn difference(a: u64, b: u64) -> f64 {
    let magnitude = a.abs_diff(b) as f64;
    if a >= b { magnitude } else { -magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::{Line, Rate};

    const START: Point = Point { tick: 0, ns: 0 };
    const END: Point = Point { tick: u64::MAX, ns: u64::MAX };

    /// Creates records of 100 ticks, each starting at its height in `heights`.
    fn kept(heights: &[u64]) -> Vec<Kept> {
        let piece = |i: usize| {
            let tick = 100 * i as u64;
            let ns = heights[i];
            let next_ns = heights.get(i + 1).copied().unwrap_or(ns + 100);
            let line =
                Line { start_tick: tick, start_ns: ns, rate: Rate::from_slope(next_ns - ns, 100) };
            Piece { gap: line, main: line }
        };
        (0..heights.len())
            .map(|i| {
                let piece = piece(i);
                Kept {
                    id: i as u64 + 1,
                    piece,
                    end: piece.end_at(piece.start().tick + 100),
                    error_ns: 0.0,
                }
            })
            .collect()
    }

    #[test]
    fn a_record_on_a_straight_line_goes_before_a_bend() {
        // The clock runs faster during the sixth record.
        let heights = [0, 100, 200, 300, 400, 500, 700, 800, 900, 1000];
        let (index, error) = choose(&kept(&heights), END).unwrap();
        assert!([2, 3, 7, 8].contains(&index), "{index}");
        assert!(error <= 1.0, "{error}");
    }

    #[test]
    fn errors_that_were_made_before_count() {
        let mut all = kept(&[0, 100, 200, 300, 400, 500, 600]);
        for (i, error_ns) in [(2, 50.0), (3, 50.0), (4, 0.0), (5, 0.0)] {
            all[i].error_ns = error_ns;
        }
        assert_eq!(choose(&all, END).map(|(index, _)| index), Some(4));
    }

    #[test]
    fn a_record_is_recent_by_tick_or_by_ns() {
        let mut all = kept(&[0, 100, 200, 300, 400, 500, 600, 700, 800]);
        (all[2].error_ns, all[3].error_ns) = (50.0, 50.0);
        let chosen = |tick, ns| choose(&all, Point { tick, ns }).unwrap().0;
        assert_eq!(chosen(u64::MAX, u64::MAX), 4, "the cheapest of all");
        // The successor of record 4 starts at 500.
        assert_eq!([chosen(401, 401), chosen(401, u64::MAX), chosen(u64::MAX, 401)], [2; 3]);
    }

    #[test]
    fn a_step_within_a_record_counts() {
        // The clock was set forward by 1000 ns at the tick 290.
        let mut all = kept(&[0, 100, 200, 1300]);
        let piece = &mut all[2].piece;
        piece.gap.rate = Rate::ONE;
        piece.main = Line { start_tick: 290, start_ns: 1290, rate: Rate::ONE };
        all[2].end = Point { tick: 300, ns: 1300 };
        let error = error_without(&all, 2);
        assert!((899.0..901.0).contains(&error), "{error}");
    }

    #[test]
    fn a_distance_has_a_side_and_a_point_is_a_line_too() {
        let point = |tick, ns| Point { tick, ns };
        assert!((distance(point(100, 900), point(200, 700), point(150, 750)) - 50.0).abs() < 1e-6);
        assert!((distance(point(100, 100), point(100, 100), point(100, 105)) - 5.0).abs() < 1e-6);
    }

    #[test]
    fn old_records_may_be_a_hundred_millionth_off() {
        let at = |ns| Point { tick: 0, ns };
        for (age_ns, tolerated) in [(0, 1_000.0), (86_400_000_000_000, 865_000.0)] {
            let tolerance = tolerance(at(age_ns), at(0));
            assert!((tolerance - tolerated).abs() < 1e-3, "{tolerance} after {age_ns} ns");
        }
    }

    #[test]
    fn the_first_two_and_the_newest_stay() {
        assert!(choose(&kept(&[0, 100, 200]), END).is_none());
        assert_eq!(choose(&kept(&[0, 100, 200, 300]), END).unwrap().0, FIRST);
        assert!(choose(&kept(&[0]), END).is_none());
        assert!(choose(&[], END).is_none());
    }

    #[test]
    fn a_recent_record_stays_while_there_is_an_older_one() {
        let all = kept(&[0, 100, 200, 350, 400, 500, 600, 700, 800]);
        assert!(choose(&all, Point { tick: 401, ns: 401 }).unwrap().0 < 4);
        assert!(choose(&all, START).is_none());
        let many: Vec<u64> = (0..RECENT as u64 + 3).map(|i| 100 * i).collect();
        assert_eq!(choose(&kept(&many), START).unwrap().0, FIRST);
    }

    #[test]
    fn a_recent_record_goes_before_an_old_bend() {
        for (error_ns, is_recent) in [(900.0, false), (1_100.0, true)] {
            let heights: Vec<u64> = (0..RECENT as u64 + 10).map(|i| 100 * i).collect();
            let mut all = kept(&heights);
            all[FIRST].error_ns = error_ns;
            // The next record is recent.
            let (index, _) = choose(&all, Point { tick: 301, ns: u64::MAX }).unwrap();
            assert_eq!(index != FIRST, is_recent, "{error_ns} ns: {index}");
        }
    }
}
