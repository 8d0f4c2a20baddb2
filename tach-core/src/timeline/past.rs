//! Times before the newest record: from the records that are kept, and from chords between them.

use super::current::Forecast;
use super::piece::{PIECE_WORDS, Piece, Point};
use super::thinning::{self, Kept};
use super::{SLOTS, Timeline};
use crate::line::{self, Line, Rate, shifted_tick};
use crate::sync::Id;

/// The number of records to give up at a time, when there is no room.
const GIVEN_UP: usize = 3;
/// Records younger than this are given up last: a minute, plus the part of a record that may extend
/// beyond it.
const RECENT_NS: u64 = 65_000_000_000;

/// The start of a record, and the id of the previous one.
#[derive(Debug, Clone, Copy)]
struct Start {
    previous: Id,
    point: Point,
}

impl Start {
    fn from_words([previous, tick, ns]: [u64; 3]) -> Self {
        Self { previous, point: Point { tick, ns } }
    }
}

impl Timeline {
    /// Returns the time from `earlier` to `later`, in ns, if `later` is on the line in use or in
    /// the future, and `earlier` is as well, or in the past. The same result as
    /// [`try_ns_between`](Self::try_ns_between)'s, without questions: for the many intervals that
    /// began a while ago, and for deadlines.
    pub(crate) fn known_ns_between(&self, earlier: u64, later: u64) -> Option<u64> {
        let forecast = self.current().forecast()?;
        let last = forecast.line_at(later)?;
        let first = self.known_line(Some(forecast), earlier)?;
        let is_earlier = shifted_tick(earlier) < shifted_tick(later);
        is_earlier.then(|| line::ns_between(first, earlier, last, later))
    }

    /// Returns the line of `tick` by `forecast`, or a line of the past: almost every line, without
    /// questions.
    #[inline]
    pub(super) fn known_line(&self, forecast: Option<Forecast>, tick: u64) -> Option<Line> {
        forecast.and_then(|lines| lines.line_at(tick)).or_else(|| self.past_line(tick))
    }

    /// Returns the line of `tick`, if that is neither on the newest record's main line nor before
    /// zero. `None` before the first conversion.
    pub(crate) fn past_line(&self, tick: u64) -> Option<Line> {
        let newest = Piece::from_words(self.history.read(self.history.head())?);
        if !newest.main.rate.is_known() {
            return None;
        }
        let wanted = |point: Point| point.tick <= tick;
        if wanted(newest.start()) {
            return (!wanted(newest.knee())).then_some(newest.gap);
        }
        Some(self.older_line(&newest, wanted))
    }

    /// Returns the line with the last point that satisfies `wanted`, if that point is older than
    /// `newest`.
    ///
    /// Where records were given up, a chord leads from the previous record to the next one. Before
    /// the first record, the first line is extended.
    #[cold]
    pub(super) fn older_line(&self, newest: &Piece, wanted: impl Fn(Point) -> bool) -> Line {
        loop {
            if let Some(line) = self.try_older_line(newest, &wanted) {
                return line;
            }
        }
    }

    /// Returns the same line as [`older_line`](Self::older_line), or `None` if a record that it
    /// needs was given up meanwhile and its slot reused.
    ///
    /// Reads only the start of each record, since every interval that began a while ago needs this
    /// call.
    fn try_older_line(&self, newest: &Piece, wanted: impl Fn(Point) -> bool) -> Option<Line> {
        let whole = |id| self.history.read(id).map(Piece::from_words);
        let mut after = Start { previous: newest.previous, point: newest.start() };
        // The recent records, each found through its successor.
        for (id, words) in self.history.back_from(after.previous) {
            let start = Start::from_words(words);
            if wanted(start.point) {
                return Some(whole(id)?.line(wanted));
            }
            after = start;
        }
        if after.previous == 0 {
            return Some(self.first_line(newest));
        }
        let (mut before, mut after_id) = (None, Id::MAX);
        for (id, words) in self.history.kept() {
            let start = Start::from_words(words);
            if wanted(start.point) {
                before = before.max(Some(id));
            } else if id < after_id && start.point.tick <= after.point.tick {
                (after_id, after) = (id, start);
            }
        }
        let Some(id) = before else { return Some(self.first_line(newest)) };
        let before = whole(id)?;
        let end = before.end_at(self.history.reach(id, before.knee().tick)?.until);
        if after.previous == id || !wanted(end) {
            return Some(before.line(wanted));
        }
        let ticks = after.point.tick.saturating_sub(end.tick);
        let rate = Rate::from_slope(after.point.ns.saturating_sub(end.ns), ticks);
        Some(Line { start_tick: end.tick, start_ns: end.ns, rate })
    }

    /// Returns the first line, extended to the ticks before it.
    fn first_line(&self, newest: &Piece) -> Line {
        let Some((first_id, first)) = self.first_piece() else { return newest.gap };
        let second = self.oldest_after(first_id).map_or(*newest, |(_, piece)| piece);
        Line { rate: second.gap.rate, ..first.gap }
    }

    /// Returns the oldest record, unless it is the newest as well.
    pub(super) fn first_piece(&self) -> Option<(Id, Piece)> {
        self.oldest_after(0)
    }

    /// Returns the oldest of the records after `after`, unless it is the newest as well.
    #[inline(never)]
    fn oldest_after(&self, after: Id) -> Option<(Id, Piece)> {
        let mut oldest: Option<(Id, [u64; PIECE_WORDS])> = None;
        for (id, words) in self.history.kept() {
            if id > after && oldest.is_none_or(|(least, _)| id < least) {
                oldest = Some((id, words));
            }
        }
        oldest.map(|(id, words)| (id, Piece::from_words(words)))
    }

    /// Gives up the records whose removal costs least.
    #[cold]
    pub(super) fn make_room(&self) {
        let mut room = [Kept::NONE; SLOTS];
        let mut count = 0;
        for (id, words) in self.history.kept().take(SLOTS) {
            let error_ns = self.history.note(id);
            let piece = Piece::from_words(words);
            let Some(reach) = self.history.reach(id, piece.knee().tick) else { continue };
            let end = piece.end_at(reach.until);
            // Sorted by insertion, as the slots are nearly in order.
            let mut at = count;
            while at > 0 && room[at - 1].id > id {
                at -= 1;
            }
            room.copy_within(at..count, at + 1);
            room[at] = Kept { id, piece, end, error_ns };
            count += 1;
        }
        let Some(newest) = self.newest() else { return };
        let recent_ticks = newest.estimate.rate.ticks(RECENT_NS).unwrap_or(u64::MAX);
        let recent = Point {
            tick: newest.estimate.tick.saturating_sub(recent_ticks),
            ns: newest.estimate.ns.saturating_sub(RECENT_NS),
        };
        for _ in 0..GIVEN_UP {
            count -= usize::from(self.give_one_up(&mut room[..count], recent));
        }
    }

    /// Gives up the record of `kept` whose removal costs least. Returns `false` if none may be
    /// given up.
    #[inline(never)]
    fn give_one_up(&self, kept: &mut [Kept], recent: Point) -> bool {
        let Some((index, error_ns)) = thinning::choose(kept, recent) else { return false };
        self.history.give_up(kept[index].id);
        self.history.set_note(kept[index + 1].id, error_ns);
        kept[index + 1].error_ns = error_ns;
        kept.copy_within(index + 1.., index);
        true
    }
}
