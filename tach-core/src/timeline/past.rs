//! Times before the newest record: from the records that are kept, and from chords between them.

use super::current::Forecast;
use super::piece::{Piece, Point, Stretch};
use super::thinning::{self, Kept};
use super::{SLOTS, Timeline};
use crate::line::{self, Line, Rate, shifted_tick};
use crate::sync::{Id, NOTE_BITS, Versioned, slot_index};

/// The number of records to give up at a time, when there is no room.
const GIVEN_UP: usize = 3;
/// Records younger than this are given up last: a minute, plus the part of a record that may extend
/// beyond it.
const RECENT_NS: u64 = 65_000_000_000;

/// A chord's error is noted as the upper bits of an `f32` that is not negative, so that the greater
/// error has the greater bits.
const NOTE_SHIFT: u32 = 32 - NOTE_BITS;

/// The records in the order of time, for a search: all start ticks, then all start times, then one
/// word for each record. The low bits of the word are the index of the record's slot, the other
/// bits are the rate of the chord that follows the record. (The missing bits of the rate make 0.3
/// us in a day of a chord.) No chord follows the first record; its word has the rate of the time
/// before it. The newest record fills the rest of the table.
///
/// The version is the newest record's id. So a table serves until the next record, and the first
/// conversion that needs another one makes it.
pub(super) type Table = Versioned<{ 3 * ENTRIES }>;

/// The bits of a word of the table that are a slot's index.
const INDEX: u64 = 0xff;
/// The distances between the entries that a search compares with, round after round.
const STRIDES: [usize; 3] = [16, 4, 1];
const ENTRIES: usize = 5 * STRIDES[0];
const _: () = assert!(SLOTS <= ENTRIES);

/// The table is not that of the newest record.
struct Stale;

/// The place of the start ticks in the table, for a search by the tick.
const TICKS: usize = 0;
/// The place of the start times in the table, for a search by the time.
const TIMES: usize = ENTRIES;

/// Returns the tick or the time of a point, whichever this part of the table contains.
#[inline]
fn coordinate<const STARTS: usize>(point: Point) -> u64 {
    if STARTS == TICKS { point.tick } else { point.ns }
}

impl Timeline {
    /// Returns the time from `earlier` to `later`, in ns, if each of them is on the line in use, in
    /// the future or in the past. The result is that of [`try_ns_between`](Self::try_ns_between),
    /// without questions. Serves the many intervals that began a while ago, and deadlines.
    pub(crate) fn known_ns_between(&self, earlier: u64, later: u64) -> Option<u64> {
        let [zero, from, to] = [0, earlier, later].map(shifted_tick);
        if from >= to {
            // `later` may be a deadline that has passed. For equal ticks return `None`: then the
            // caller checks whether the counter stands still.
            return (from > to && to >= zero).then_some(0);
        }
        let forecast = self.current.forecast()?;
        let first = self.known_stretch(forecast, earlier)?;
        if first.contains(to) {
            return Some(first.line.rate.ns(later.wrapping_sub(earlier)));
        }
        let last = self.known_stretch(forecast, later)?;
        Some(line::ns_between(first.line, earlier, last.line, later))
    }

    /// Returns the line of `tick` without questions; `None` for few ticks.
    #[inline]
    pub(crate) fn known_line(&self, tick: u64) -> Option<Line> {
        Some(self.known_stretch(self.current.forecast()?, tick)?.line)
    }

    /// Returns the line of `tick` by `forecast`, or a line of the past; `None` before zero.
    #[inline]
    pub(super) fn known_stretch(&self, forecast: Forecast, tick: u64) -> Option<Stretch> {
        forecast.stretch_at(tick).or_else(|| self.past_stretch(tick))
    }

    /// Returns the line of `tick`, if that is neither on the newest record's main line nor before
    /// zero. `None` before the first conversion.
    #[inline(never)]
    pub(crate) fn past_stretch(&self, tick: u64) -> Option<Stretch> {
        self.search::<TICKS>(tick)
    }

    /// Returns the line with the last point whose time is `ns` or earlier, if that is not on the
    /// newest record's main line.
    #[cold]
    #[inline(never)]
    pub(super) fn past_stretch_of_ns(&self, ns: u64) -> Option<Stretch> {
        self.search::<TIMES>(ns)
    }

    /// Returns the line with the last point whose coordinate is at most `at`, unless that is the
    /// newest record's main line.
    ///
    /// Where records were given up, a chord leads from the previous record to the next one. Before
    /// the first record, the first line is extended.
    #[inline]
    fn search<const STARTS: usize>(&self, at: u64) -> Option<Stretch> {
        match self.search_in::<STARTS>(&self.table, self.history.head(), at) {
            Ok(stretch) => stretch,
            Err(Stale) => self.search_anew::<STARTS>(at),
        }
    }

    /// Searches in a new table.
    #[cold]
    #[inline(never)]
    fn search_anew<const STARTS: usize>(&self, at: u64) -> Option<Stretch> {
        loop {
            let newest = self.history.head();
            if newest == 0 {
                return None;
            }
            let Some(table) = self.tabulate(newest) else { continue };
            if let Ok(stretch) = self.search_in::<STARTS>(&table, newest, at) {
                return stretch;
            }
        }
    }

    /// Searches in `table`. Fails if the table is not that of the record `newest`, or if a record
    /// was given up since and its slot reused.
    #[expect(clippy::inline_always, reason = "a call doubles the price of an old instant")]
    #[inline(always)]
    fn search_in<const STARTS: usize>(
        &self,
        table: &Table,
        newest: Id,
        at: u64,
    ) -> Result<Option<Stretch>, Stale> {
        let (_, (word, next)) = table
            .read_with(|table| {
                // No branches: the CPU could not predict them, since the instants of a connection
                // pool have any age. The comparisons of a round don't wait for each other, so three
                // rounds are fast.
                let mut last = 0;
                for (stride, ways) in STRIDES.into_iter().zip([5, 4, 4]) {
                    let is_by = |steps: &usize| table.get(STARTS + last + steps * stride) <= at;
                    last += stride * (1..ways).filter(is_by).count();
                }
                let next = (last + 1).min(ENTRIES - 1);
                let next = Point { tick: table.get(TICKS + next), ns: table.get(TIMES + next) };
                (table.get(2 * ENTRIES + last), next)
            })
            .filter(|(version, _)| *version == newest)
            .ok_or(Stale)?;
        let (id, piece, until) = self.piece(slot_index(word), newest).ok_or(Stale)?;
        let wanted = |point| coordinate::<STARTS>(point) <= at;
        let rate = Rate::from_q48(word & !INDEX);
        Ok(if !wanted(piece.start()) {
            let line = Line { rate, ..piece.gap };
            let ticks = [0, shifted_tick(line.start_tick)];
            rate.is_known().then_some(Stretch { line, ticks })
        } else if !wanted(piece.knee()) {
            Some(Stretch::new(piece.gap, piece.knee().tick))
        } else if id == newest {
            piece.is_identity().then_some(Stretch::endless(piece.main))
        } else if wanted(piece.end_at(until)) {
            // The stored rate lacks its lowest bits. Over a chord of months, they amount to
            // microseconds. Start the line at the younger end, where a minute-old time must be
            // exact, so that the error is at the older end.
            let line = Line { start_tick: next.tick, start_ns: next.ns, rate };
            let ticks = [piece.end_at(until).tick, next.tick].map(shifted_tick);
            Some(Stretch { line, ticks })
        } else {
            Some(Stretch::new(piece.main, until))
        })
    }

    /// Returns the id and the piece of the record in a slot, and the tick up to which it was used.
    #[inline]
    fn piece(&self, index: usize, newest: Id) -> Option<(Id, Piece, u64)> {
        let (id, words, until) = self.history.in_slot(index, newest)?;
        Some((id, Piece::from_words(words), until))
    }

    /// Makes the table of the record `newest`, and returns a copy; `None` if a record, perhaps
    /// `newest` itself, was given up meanwhile and its slot reused.
    ///
    /// The copy serves this search: if a writer of the table was stopped in the middle, as by a
    /// `fork`, the table is never readable again.
    #[cold]
    #[inline(never)]
    pub(super) fn tabulate(&self, newest: Id) -> Option<Table> {
        let mut ids = [0; SLOTS];
        let ids = self.history.in_order(newest, &mut ids);
        let last = ids.iter().rposition(|&id| id == newest)?;
        let mut words = [0; 3 * ENTRIES];
        let mut after = Piece::NONE;
        for entry in (0..ENTRIES).rev() {
            let index = slot_index(ids[entry.min(last)]);
            let (_, piece, until) = self.piece(index, newest)?;
            let (start, end) = (piece.start(), piece.end_at(until));
            words[entry] = start.tick;
            words[ENTRIES + entry] = start.ns;
            words[2 * ENTRIES + entry] = index as u64;
            let rate = if entry == 0 {
                // The first line is flat if the clock was set back before the second sample and the
                // timeline waits for it. A flat rate would give all older ticks the same time, so
                // take the next line's.
                if after.gap.rate.is_known() { after.gap.rate } else { after.main.rate }
            } else if end.tick < after.start().tick {
                let Point { tick, ns } = after.start();
                Rate::from_slope(ns.saturating_sub(end.ns), tick - end.tick)
            } else {
                Rate::UNKNOWN
            };
            words[2 * ENTRIES + entry] |= rate.q48() & !INDEX;
            after = piece;
        }
        self.table.try_write(newest, &words);
        let own = Table::new();
        own.try_write(newest, &words);
        Some(own)
    }

    /// Returns the oldest record; `None` before [`begin`](Self::begin).
    pub(super) fn oldest(&self) -> Option<Piece> {
        let mut ids = [0; SLOTS];
        let ids = self.history.in_order(self.history.head(), &mut ids);
        self.history.read(*ids.first()?).map(Piece::from_words)
    }

    /// Gives up the records whose removal costs least. Returns `false` if none may be given up.
    #[cold]
    pub(super) fn make_room(&self) -> bool {
        let newest_id = self.history.head();
        let mut ids = [0; SLOTS];
        let mut room = [Kept::NONE; SLOTS];
        let mut count = 0;
        for &id in self.history.in_order(newest_id, &mut ids) {
            let Some((_, piece, until)) = self.piece(slot_index(id), newest_id) else { continue };
            let (end, error_ns) = (piece.end_at(until), self.error_ns(id));
            room[count] = Kept { id, piece, end, error_ns };
            count += 1;
        }
        let Some(newest) = self.newest() else { return false };
        let recent_ticks = newest.estimate.rate.ticks(RECENT_NS).unwrap_or(u64::MAX);
        let recent = Point {
            tick: newest.estimate.tick.saturating_sub(recent_ticks),
            ns: newest.estimate.ns.saturating_sub(RECENT_NS),
        };
        let before = count;
        for _ in 0..GIVEN_UP {
            count -= usize::from(self.give_one_up(&mut room[..count], recent));
        }
        count < before
    }

    /// Returns the error of the chord before a record, rounded up.
    pub(super) fn error_ns(&self, id: Id) -> f32 {
        f32::from_bits(self.history.note(id) << NOTE_SHIFT)
    }

    /// Gives up the record of `kept` whose removal costs least. Returns `false` if none may be
    /// given up.
    #[inline(never)]
    fn give_one_up(&self, kept: &mut [Kept], recent: Point) -> bool {
        let Some((index, error_ns)) = thinning::choose(kept, recent) else { return false };
        self.history.give_up(kept[index].id);
        let after = &mut kept[index + 1];
        self.history.raise_note(after.id, (error_ns.to_bits() >> NOTE_SHIFT) + 1);
        after.error_ns = self.error_ns(after.id);
        kept.copy_within(index + 1.., index);
        true
    }
}
