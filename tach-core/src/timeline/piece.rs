//! A record's conversion from ticks to time: two lines that meet at the knee.
//!
//! The *gap* line leads from the horizon of the previous record to the point where the OS clock was
//! sampled (the knee). It is short in a busy process. The *main* line leads from the knee to the
//! time that the OS clock is expected to have at the end tick. If a look finds another time, the
//! record ends earlier.
//!
//! ```text
//!        previous record          gap      main
//!   ───────────────────────┬──────────────┬──────────┐
//!                       horizon       knee_tick   end_tick
//! ```

use crate::line::{Direction, Line, Rate, shifted_tick};

/// A point of the timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Point {
    pub(super) tick: u64,
    pub(super) ns: u64,
}

/// The lines of one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) gap: Line,
    pub(super) main: Line,
}

/// The number of words that [`Piece::to_words`] returns.
pub(super) const PIECE_WORDS: usize = 6;

impl Piece {
    /// A piece that covers nothing.
    pub(super) const NONE: Self = {
        let nowhere = Line { start_tick: 0, start_ns: 0, rate: Rate::UNKNOWN };
        Self { gap: nowhere, main: nowhere }
    };

    /// Returns whether ticks are the OS clock's own nanoseconds.
    #[inline]
    pub(super) fn is_identity(&self) -> bool {
        self.gap == Line::IDENTITY
    }

    pub(super) fn start(&self) -> Point {
        Point { tick: self.gap.start_tick, ns: self.gap.start_ns }
    }

    pub(super) fn knee(&self) -> Point {
        Point { tick: self.main.start_tick, ns: self.main.start_ns }
    }

    /// Returns the point at which the successor begins if the horizon was closed at `until`.
    #[inline]
    pub(super) fn end_at(&self, until: u64) -> Point {
        let tick = until.max(self.main.start_tick);
        Point { tick, ns: self.main.exact_ns_at(tick).0 }
    }

    /// Returns the line on which the last point that satisfies `wanted` lies.
    pub(super) fn line(&self, wanted: impl Fn(Point) -> bool) -> Line {
        if wanted(self.knee()) { self.main } else { self.gap }
    }

    pub(super) fn to_words(self) -> [u64; PIECE_WORDS] {
        [
            self.gap.start_tick,
            self.gap.start_ns,
            self.gap.rate.q48(),
            self.main.start_tick,
            self.main.start_ns,
            self.main.rate.q48(),
        ]
    }

    pub(super) fn from_words(words: [u64; PIECE_WORDS]) -> Self {
        let line =
            |start_tick, start_ns, q48| Line { start_tick, start_ns, rate: Rate::from_q48(q48) };
        let [start_tick, start_ns, gap_q48, knee_tick, knee_ns, q48] = words;
        Self { gap: line(start_tick, start_ns, gap_q48), main: line(knee_tick, knee_ns, q48) }
    }
}

/// A line with the range of shifted ticks that it converts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stretch {
    pub(crate) line: Line,
    pub(super) ticks: [u64; 2],
}

impl Stretch {
    #[inline]
    pub(super) fn new(line: Line, until: u64) -> Self {
        Self { line, ticks: [line.start_tick, until].map(shifted_tick) }
    }

    /// Creates the stretch of a line without ends.
    pub(super) fn endless(line: Line) -> Self {
        Self { line, ticks: [0, u64::MAX] }
    }

    #[inline]
    pub(super) fn contains(&self, shifted: u64) -> bool {
        let [from, until] = self.ticks;
        from <= shifted && shifted < until
    }

    /// Returns the shifted tick that is `ns` from `tick`, if both are on this line.
    #[inline]
    pub(super) fn sum(&self, tick: u64, ns: u64, direction: Direction) -> Option<u64> {
        let [from, until] = self.ticks;
        let room = match direction {
            Direction::After => until.wrapping_sub(shifted_tick(tick)),
            Direction::Before => shifted_tick(tick).wrapping_sub(from),
        };
        // The division is slow, so check first that the sum may be on the line.
        if ns > self.line.rate.ns(room) {
            return None;
        }
        let sum = direction.moved(shifted_tick(tick), self.line.rate.ticks(ns)?)?;
        self.contains(sum).then_some(sum)
    }
}
