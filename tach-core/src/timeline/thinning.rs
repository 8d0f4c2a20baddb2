//! Which old record to give up: the one that is missed least.
//!
//! Where records are missing, a chord leads from the end of the one before to the start of the one
//! after. What matters is how far that chord is off, beside how far it may be at its age: so years
//! are told by few records, but a bend in the timeline is kept as long as something straighter can
//! go.

use super::piece::{Piece, Point};

/// A record that is kept, with how far the chord before it is off, in ns.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kept {
    pub(super) id: u64,
    pub(super) piece: Piece,
    /// Where its successor began.
    pub(super) end: Point,
    pub(super) error_ns: u64,
}

impl Kept {
    /// Stands where there is none.
    pub(super) const NONE: Self =
        Self { id: 0, piece: Piece::NONE, end: Point { tick: 0, ns: 0 }, error_ns: 0 };
}

/// What an old tick may be off, beside a hundred-millionth of its age.
const TOLERANCE_NS: f64 = 1000.0;
const TOLERANCE_OF_AGE: f64 = 1e-8;

/// More records than this are made in a minute only if the clock is disturbed several times.
const RECENT: usize = 40;
/// The records that tell how the timeline begins: they are never given up.
const FIRST: usize = 2;

/// The index in `kept` of the record to give up, and how far the chord in its place is off; `None`
/// if there is none to choose from. `kept` is in the order of time.
///
/// Records after `recent`, by its tick or its ns, are given up only if there are no others, and of
/// those the last [`RECENT`] not at all.
pub(super) fn choose(kept: &[Kept], recent: Point) -> Option<(usize, u64)> {
    // By both, since a clock that was set makes all before it look old by ns, and a rate that is not
    // known again yet by ticks.
    let is_old = |kept: &Kept| {
        let start = kept.piece.start();
        start.tick < recent.tick && start.ns < recent.ns
    };
    cheapest(kept, kept.len().checked_sub(1)?, &is_old)
        .or_else(|| cheapest(kept, kept.len().checked_sub(RECENT)?, &|_| true))
}

/// The record to give up of those between [`FIRST`] and `end` whose successors are as `wanted`.
fn cheapest(kept: &[Kept], end: usize, wanted: &dyn Fn(&Kept) -> bool) -> Option<(usize, u64)> {
    let now = kept.last()?.end;
    let (mut best, mut least_cost) = (None, f64::INFINITY);
    for i in FIRST..end {
        let error = error_without(kept, i);
        let cost = error / tolerance(now, kept[i].piece.start());
        if wanted(&kept[i + 1]) && cost < least_cost {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "the cast saturates, and the error is not negative"
            )]
            let error_ns = error as u64;
            (best, least_cost) = (Some((i, error_ns)), cost);
        }
    }
    best
}

/// How far the chord would be off that took the place of the record at `index`.
fn error_without(kept: &[Kept], index: usize) -> f64 {
    let (before, Kept { piece, end, .. }, after) =
        (&kept[index - 1], &kept[index], &kept[index + 1]);
    let (from, to) = (before.end, after.piece.start());
    let knee = piece.knee();
    // A step of the clock is at the knee, where the gap line ends elsewhere than the main begins.
    let gap_end = Point { ns: piece.gap.ns_at(knee.tick), ..knee };
    let mut here = 0.0_f64;
    for point in [piece.start(), gap_end, knee, *end] {
        here = here.max(distance(from, to, point));
    }
    #[expect(clippy::cast_precision_loss, reason = "an estimate needs no more")]
    let known = kept[index].error_ns.max(after.error_ns) as f64;
    here + known
}

/// How far `point` is from the straight line between the other two, in ns.
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

/// `a - b`: exact for all that is near.
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

    /// Records of 100 ticks, each as high as `heights` says at its start.
    fn kept(heights: &[u64]) -> Vec<Kept> {
        let piece = |i: usize| {
            let tick = 100 * i as u64;
            let ns = heights[i];
            let next_ns = heights.get(i + 1).copied().unwrap_or(ns + 100);
            let line =
                Line { start_tick: tick, start_ns: ns, rate: Rate::from_slope(next_ns - ns, 100) };
            Piece { previous: i as u64, gap: line, main: line, end_tick: tick + 100 }
        };
        (0..heights.len())
            .map(|i| {
                let piece = piece(i);
                Kept { id: i as u64 + 1, piece, end: piece.end_at(piece.end_tick), error_ns: 0 }
            })
            .collect()
    }

    #[test]
    fn what_lies_on_a_straight_line_goes_before_a_bend() {
        // The clock runs faster for one record, the sixth.
        let heights = [0, 100, 200, 300, 400, 500, 700, 800, 900, 1000];
        let (index, error) = choose(&kept(&heights), END).unwrap();
        assert!([2, 3, 7, 8].contains(&index), "{index}");
        assert!(error <= 1, "{error}");
    }

    #[test]
    fn errors_that_were_made_before_count() {
        let mut all = kept(&[0, 100, 200, 300, 400, 500, 600]);
        for (i, error_ns) in [(2, 50), (3, 50), (4, 0), (5, 0)] {
            all[i].error_ns = error_ns;
        }
        assert_eq!(choose(&all, END).map(|(index, _)| index), Some(4));
    }

    #[test]
    fn the_first_two_and_the_newest_stay() {
        assert!(choose(&kept(&[0, 100, 200]), END).is_none());
        assert_eq!(choose(&kept(&[0, 100, 200, 300]), END).unwrap().0, FIRST);
        assert!(choose(&kept(&[0]), END).is_none());
        assert!(choose(&[], END).is_none());
    }

    #[test]
    fn what_is_recent_stays_while_there_is_something_older() {
        let all = kept(&[0, 100, 200, 350, 400, 500, 600, 700, 800]);
        assert!(choose(&all, Point { tick: 401, ns: 401 }).unwrap().0 < 4);
        assert!(choose(&all, START).is_none());
        let many: Vec<u64> = (0..RECENT as u64 + 3).map(|i| 100 * i).collect();
        assert_eq!(choose(&kept(&many), START).unwrap().0, FIRST);
    }
}
