//! Reads the file of another process. Trusts nothing in it: a file may end anywhere, and contain
//! any bytes.

#[cfg(feature = "tracing")]
mod recording;
#[cfg(feature = "tracing")]
mod waiting;

use std::io;
use std::rc::Rc;

use tach_core::UnixTime;
use tach_core::adapter::utf8;

use super::layout::{
    CALLSITES, FIXED, HEAP, HEAP_AT, LANES, MAGIC, MOST_BYTES, PAGE, PLACES, RINGS, SPOOLS, TEXTS,
    VERSION, callsite, check, head, lane, line, place, ring, spool, table, text, write,
};
use super::store::Target;
use crate::frame::{self, ForeignCallsite, Meaning};
use crate::queue::OVERHEAD;

const WORD: usize = size_of::<u64>();

/// The bytes of a file, and the table in it that counts.
pub(super) struct Image<'a> {
    bytes: &'a [u8],
    table: usize,
}

/// Why a file can't be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// The process ended before it had written anything.
    Empty,
    /// Another version of tach has written the file, or another machine.
    Foreign,
    Damaged,
}

/// A sink of the process.
#[derive(Debug)]
pub(super) struct Lane<'a> {
    pub(super) number: usize,
    pub(super) is_file: bool,
    pub(super) hash: u64,
    /// The beginning of the name.
    pub(super) name: &'a str,
    /// What the sink may lack, the oldest first.
    pub(super) spools: Vec<Spool<'a>>,
}

/// What was about to be written to a sink, or is in part.
#[derive(Debug)]
pub(super) struct Spool<'a> {
    pub(super) number: u64,
    pub(super) bytes: &'a [u8],
    /// Where each event ends.
    pub(super) ends: Vec<usize>,
    /// The write that was begun last.
    pub(super) write: Option<Write>,
}

impl From<Unreadable> for io::Error {
    fn from(why: Unreadable) -> Self {
        let (kind, why) = match why {
            Unreadable::Empty => (io::ErrorKind::UnexpectedEof, "the file is empty"),
            Unreadable::Foreign => (
                io::ErrorKind::Unsupported,
                "another version of tach-pipeline has written the file, and a program with that \
                 version passes the records on; or it is no such file",
            ),
            Unreadable::Damaged => (io::ErrorKind::InvalidData, "the file is damaged"),
        };
        Self::new(kind, why)
    }
}

impl<'a> Spool<'a> {
    /// Returns the events that were not written whole, with the ends of each.
    pub(super) fn left(&self) -> (&'a [u8], Vec<usize>) {
        let from = self.write.map_or(0, |write| write.from);
        let done = self.ends.partition_point(|event| *event <= from);
        let start = done.checked_sub(1).map_or(0, |last| self.ends[last]);
        let ends = self.ends[done..].iter().map(|event| event - start).collect();
        (self.bytes.get(start..).unwrap_or_default(), ends)
    }

    /// Returns copies of the events that are [left](Self::left).
    pub(super) fn events_left(&self) -> Vec<Vec<u8>> {
        let (bytes, ends) = self.left();
        let mut start = 0;
        let event = |end| {
            let event = bytes.get(start..end).unwrap_or_default();
            start = end;
            event.to_owned()
        };
        ends.into_iter().map(event).collect()
    }

    /// Returns how many of the events that are [left](Self::left) may have been written
    /// nevertheless.
    pub(super) fn doubtful(&self) -> usize {
        let (bytes, ends) = self.left();
        if self.number == u64::MAX {
            // A request with these events has failed.
            return ends.len();
        }
        let start = self.bytes.len() - bytes.len();
        let end = self.write.map_or(0, |write| write.end);
        // The event that holds the last byte, too.
        let before = ends.partition_point(|event| start + event < end);
        if end > start { (before + 1).min(ends.len()) } else { 0 }
    }
}

/// A write of a sink.
#[derive(Debug, Clone, Copy)]
pub(super) struct Write {
    /// The first byte of the spool that is written, and the end of what is.
    pub(super) from: usize,
    pub(super) end: usize,
    pub(super) to: Target,
}

/// The number and the name of a thread.
type Thread = Rc<(u64, String)>;

/// The records of a file that no sink has.
#[derive(Debug, Default)]
pub(super) struct Left {
    /// In order, each with the time by which it was merged, and its thread.
    pub(super) records: Vec<(UnixTime, Vec<u8>, Thread)>,
    /// How many records were damaged.
    pub(super) cut: u64,
}

impl<'a> Image<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, Unreadable> {
        let image = Self { bytes, table: 0 };
        match image.word(head::MAGIC) {
            0 => return Err(Unreadable::Empty),
            MAGIC if image.word(head::VERSION) == VERSION => {}
            _ => return Err(Unreadable::Foreign),
        }
        let is_long = (FIXED as u64..=MOST_BYTES).contains(&(bytes.len() as u64));
        let table = match image.word(head::CURRENT) {
            0 if is_long => table::AT,
            1 if is_long => table::AT + table::BYTES,
            _ => return Err(Unreadable::Damaged),
        };
        let image = Self { bytes, table };
        let rings = image.size(table + table::RINGS);
        if rings > RINGS {
            return Err(Unreadable::Damaged);
        }
        let lanes = image.size(table + table::LANES);
        if lanes > LANES {
            return Err(Unreadable::Damaged);
        }
        // A fuzzer finds few right sums, and would not come to what follows.
        if image.sum(rings, lanes) != image.word(table + table::CHECK) && !cfg!(fuzzing) {
            return Err(Unreadable::Damaged);
        }
        Ok(image)
    }

    /// Returns the checksum of the table.
    fn sum(&self, rings: usize, lanes: usize) -> u64 {
        let words = (table::RINGS..table::WORDS_END).step_by(WORD);
        let spools = (table::spool(0, 0)..table::spool(lanes, 0)).step_by(WORD);
        let positions = (table::POSITIONS..table::POSITIONS + rings * WORD).step_by(WORD);
        let words = words.chain(spools).chain(positions);
        words.fold(0, |sum, at| check(sum, self.of_table(at)))
    }

    /// Returns the word at a byte, or zero beyond the end.
    fn word(&self, at: usize) -> u64 {
        let word = self.bytes.get(at..).and_then(<[u8]>::first_chunk);
        word.map_or(0, |word| u64::from_ne_bytes(*word))
    }

    fn size(&self, at: usize) -> usize {
        usize::try_from(self.word(at)).unwrap_or(usize::MAX)
    }

    fn of_table(&self, at: usize) -> u64 {
        self.word(self.table + at)
    }

    pub(super) fn id(&self) -> u64 {
        self.word(head::ID)
    }

    pub(super) fn process(&self) -> u64 {
        self.word(head::PROCESS)
    }

    pub(super) fn started(&self) -> UnixTime {
        UnixTime::from_nanos(self.word(head::STARTED))
    }

    /// Returns the name of the program. Empty if it is not known.
    pub(super) fn program(&self) -> &'a str {
        let length = self.size(head::NAME_LENGTH).min(head::MOST_NAME);
        let name = self.bytes.get(head::NAME..head::NAME + length);
        name.and_then(utf8::text).unwrap_or_default()
    }

    /// Returns how many of the [records](Self::left) a later process has passed on.
    pub(super) fn taken(&self) -> u64 {
        self.word(head::TAKEN)
    }

    /// Returns whether a later process has written the spool.
    pub(super) fn is_settled(&self) -> bool {
        self.word(head::SETTLED) != 0
    }

    /// Returns the file that the process was taking over, and how many of its records were passed
    /// on.
    pub(super) fn takes(&self) -> (u64, u64) {
        (self.of_table(table::TAKES), self.of_table(table::TAKEN))
    }

    /// Returns how many records the queues dropped of which the log does not know.
    pub(super) fn dropped(&self) -> u64 {
        self.word(head::DROPPED).saturating_sub(self.of_table(table::REPORTED))
    }

    /// Returns how many events are lost since the sink failed and the file was full.
    pub(super) fn lost(&self) -> u64 {
        self.of_table(table::WAITING)
    }

    /// Returns how many records were over the rate limit of which the log does not know.
    pub(super) fn refused(&self) -> u64 {
        self.word(head::REFUSED).saturating_sub(self.of_table(table::REFUSED))
    }

    /// Returns how many events sinks have dropped of which the log does not know.
    pub(super) fn sinks_dropped(&self) -> u64 {
        self.of_table(table::SINKS_DROPPED)
    }

    /// Returns the number of the part with the spans that wait. A part that is used anew has
    /// another one.
    pub(super) fn waiting_number(&self) -> u64 {
        self.of_table(table::SPANS_NUMBER)
    }

    /// Returns the number of the part with the items of the flight recorder, and the first byte
    /// that counts. What the process wrote before it may be overwritten.
    pub(super) fn recorded_number(&self) -> (u64, u64) {
        (self.of_table(table::RECORDED_NUMBER), self.of_table(table::RECORDED_FIRST))
    }

    /// Returns whether the process had a flight recorder.
    pub(super) fn has_recorder(&self) -> bool {
        self.word(head::RECORDED_AGE) != 0
    }

    /// Returns where the part with the items of the flight recorder starts, and its length.
    pub(super) fn recorded_place(&self) -> (usize, usize) {
        let size = |at| self.size(self.table + at);
        (size(table::RECORDED_START), size(table::RECORDED_CAPACITY))
    }

    /// Returns where the part of the spans that wait starts, and its length with the room that is
    /// left.
    pub(super) fn waiting_place(&self) -> (usize, usize) {
        let size = |at| self.size(self.table + at);
        (size(table::SPANS_START), size(table::SPANS_CAPACITY))
    }

    /// Returns how many spans found no room.
    pub(super) fn spans_outside(&self) -> u64 {
        self.of_table(table::SPANS_OUTSIDE)
    }

    /// Returns whether the process had said that it ends.
    pub(super) fn exits(&self) -> bool {
        self.word(head::EXITS) != 0
    }

    /// Returns when the process last noted the time.
    #[cfg(feature = "tracing")]
    pub(super) fn last_line(&self) -> UnixTime {
        let last = self.word(head::LINES).checked_sub(1).and_then(|number| self.line(number));
        last.map_or(UnixTime::EPOCH, |[_, at, ..]| UnixTime::from_nanos(at))
    }

    /// Returns how many records and spans are known to be lost, other than damaged ones. A
    /// scrambled file has any numbers.
    pub(super) fn all_lost(&self) -> u64 {
        // What is open at an exit is not sent.
        let spans = if self.exits() { 0 } else { self.spans_outside() };
        [self.dropped(), self.lost(), self.unsettled(), self.refused(), self.sinks_dropped(), spans]
            .into_iter()
            .fold(0, u64::saturating_add)
    }

    /// Returns how many rings were not in the file.
    pub(super) fn outside(&self) -> u64 {
        self.word(head::OUTSIDE)
    }

    /// Returns how often the last record was repeated.
    pub(super) fn repeats(&self) -> u64 {
        self.of_table(table::REPEATS)
    }

    /// Returns how many events of sinks are lost, since a later pipeline did not have these sinks.
    pub(super) fn unsettled(&self) -> u64 {
        self.word(head::UNSETTLED)
    }

    /// Returns which of the two writes of a sink does not count.
    pub(super) fn next_write(&self, lane: usize) -> usize {
        usize::from(self.word(lane::of(lane) + lane::WRITE) != 1)
    }

    /// Returns the number and the place of each spool. One that is used anew has another number,
    /// and one that has grown another place.
    pub(super) fn spool_numbers(&self) -> Vec<[u64; 2]> {
        let words = |at| [spool::NUMBER, spool::START].map(|it| self.of_table(at + it));
        self.spools().map(words).collect()
    }

    /// Returns where each spool starts, and its length with the room that is left.
    pub(super) fn spool_places(&self) -> impl Iterator<Item = (usize, usize)> {
        let size = |at| self.size(self.table + at);
        self.spools().map(move |at| (size(at + spool::START), size(at + spool::CAPACITY)))
    }

    /// Returns the places of all spools in the table.
    fn spools(&self) -> impl Iterator<Item = usize> + use<> {
        let lanes = self.size(self.table + table::LANES).min(LANES);
        (0..lanes).flat_map(|lane| (0..SPOOLS).map(move |it| table::spool(lane, it)))
    }

    /// Returns the sinks, with what they may lack. Returns `None` if a spool is damaged.
    pub(super) fn lanes(&self) -> Option<Vec<Lane<'a>>> {
        let lanes = self.size(self.table + table::LANES).min(LANES);
        (0..lanes).map(|number| self.lane(number)).collect()
    }

    fn lane(&self, number: usize) -> Option<Lane<'a>> {
        let at = lane::of(number);
        let length = self.size(at + lane::NAME_LENGTH).min(lane::MOST_NAME);
        let name = self.bytes.get(at + lane::NAME..at + lane::NAME + length);
        let mut spools = Vec::new();
        for spool in 0..SPOOLS {
            spools.push(self.spool(number, spool)?);
        }
        spools.retain(|spool| !spool.bytes.is_empty());
        spools.sort_by_key(|spool: &Spool<'_>| spool.number);
        Some(Lane {
            number,
            is_file: self.word(at + lane::IS_FILE) == 1,
            hash: self.word(at + lane::HASH),
            name: name.and_then(utf8::text).unwrap_or_default(),
            spools,
        })
    }

    /// Returns a spool, which is empty if the sink has written all of it. Returns `None` if it is
    /// damaged.
    fn spool(&self, lane: usize, spool: usize) -> Option<Spool<'a>> {
        let at = table::spool(lane, spool);
        let number = self.of_table(at + spool::NUMBER);
        let [start, capacity, length, events] =
            [spool::START, spool::CAPACITY, spool::LENGTH, spool::EVENTS]
                .map(|word| self.size(self.table + at + word));
        let lane = lane::of(lane);
        let counts = usize::from(self.word(lane + lane::WRITE) == 1);
        let current = lane + lane::WRITES + counts * write::BYTES;
        let begun = self.word(current + write::SPOOL);
        let write = (begun == number).then(|| Write {
            from: self.size(current + write::FROM).min(length),
            end: self.size(current + write::END).min(length),
            to: Target {
                device: self.word(current + write::DEVICE),
                file: self.word(current + write::FILE),
                length: self.word(current + write::LENGTH),
            },
        });
        // All was written, and the process may have begun to copy the next events.
        if begun > number || write.is_some_and(|write| write.from == length) || length == 0 {
            return Some(Spool { number, bytes: &[], ends: Vec::new(), write: None });
        }
        let part = self.bytes.get(start..start.checked_add(capacity)?)?;
        let (bytes, rest) = part.split_at_checked(length)?;
        let ends = rest.get(rest.len().checked_sub(events.checked_mul(4)?)?..)?;
        // The last event's end comes first.
        let ends: Vec<_> = ends
            .rchunks_exact(4)
            .filter_map(|end| end.first_chunk())
            .map(|end| usize::try_from(u32::from_le_bytes(*end)).unwrap_or(usize::MAX))
            .collect();
        let are_events = ends.first() != Some(&0) && ends.is_sorted_by(|one, next| one < next);
        let is_whole = are_events && ends.last().copied().unwrap_or(0) == length;
        is_whole.then_some(Spool { number, bytes, ends, write })
    }

    /// Returns the records that were not passed on, merged by time. Those of one queue stay in
    /// their order.
    pub(super) fn left(&self) -> Left {
        let mut rings = Vec::new();
        let mut left = Left::default();
        // The rings of a file that somebody has made up may lie in one place.
        let mut room = self.bytes.len();
        for at in 0..self.size(head::RINGS).min(RINGS) {
            let entry = ring::AT + at * ring::BYTES;
            let order = (self.word(entry + ring::QUEUE), self.word(entry + ring::PLACE));
            match self.words_left(at, entry).map(|words| words.concat()) {
                Some(words) if words.is_empty() => {}
                Some(words) if words.len() <= room => {
                    room -= words.len();
                    rings.push((order, words, Rc::new(self.thread(entry))));
                }
                _ => left.cut += 1,
            }
        }
        rings.sort_by_key(|(order, ..)| *order);
        // A record has the latest time of its queue so far, so that the queue's order stays.
        let (mut queue, mut latest) = (None, UnixTime::EPOCH);
        for ((of, _), words, thread) in rings {
            if queue.replace(of) != Some(of) {
                latest = UnixTime::EPOCH;
            }
            let mut rest = &words[..];
            while let Some((record, after)) = frame::split(rest) {
                rest = after;
                match frame::foreign_time(record, self) {
                    Some(time) if !frame::is_reference(record) => {
                        latest = latest.max(time);
                        left.records.push((latest, record.to_owned(), Rc::clone(&thread)));
                    }
                    _ => left.cut += 1,
                }
            }
            left.cut += u64::from(!rest.is_empty());
        }
        // The sort is stable.
        left.records.sort_by_key(|(time, ..)| *time);
        left
    }

    /// Returns whether any ring is damaged or has bytes that were not passed on, so that something
    /// is [left](Self::left).
    pub(super) fn has_left(&self) -> bool {
        (0..self.size(head::RINGS).min(RINGS)).any(|at| {
            let words = self.words_left(at, ring::AT + at * ring::BYTES);
            words.is_none_or(|words| words.iter().any(|part| !part.is_empty()))
        })
    }

    /// Returns the two parts of the bytes of a ring that were not passed on, or `None` if the ring
    /// is damaged.
    fn words_left(&self, at: usize, entry: usize) -> Option<[&'a [u8]; 2]> {
        let (start, length) = (self.size(entry + ring::START), self.size(entry + ring::LENGTH));
        let bytes = self.bytes.get(start..start.checked_add(length)?)?;
        let is_right = start >= FIXED && start % PAGE == 0 && length % PAGE == 0;
        let (counts, words) = bytes.split_at_checked(OVERHEAD).filter(|_| is_right)?;
        let counts = Image { bytes: counts, table: 0 };
        let (written, read) = (counts.word(0), counts.word(OVERHEAD / 2));
        // A word that was freed was passed on, or dropped.
        let first = self.position(at).max(read);
        let count = (words.len() / WORD) as u64;
        let waiting = written.checked_sub(first).filter(|waiting| *waiting <= count)?;
        let first = usize::try_from(first.checked_rem(count)?).ok()? * WORD;
        let waiting = usize::try_from(waiting).ok()? * WORD;
        let (begin, end) = words.split_at(first);
        let at_end = waiting.min(end.len());
        Some([&end[..at_end], &begin[..waiting - at_end]])
    }

    /// Returns how many words of a ring were passed on.
    pub(super) fn position(&self, at: usize) -> u64 {
        let rings = self.size(self.table + table::RINGS);
        if at < rings { self.of_table(table::POSITIONS + at * WORD) } else { 0 }
    }

    pub(super) const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the number and the name of a ring's thread.
    fn thread(&self, entry: usize) -> (u64, String) {
        let length = self.size(entry + ring::NAME_LENGTH).min(ring::MOST_NAME);
        let name = self.bytes.get(entry + ring::NAME..entry + ring::NAME + length);
        (self.word(entry + ring::THREAD), name.and_then(utf8::text).unwrap_or_default().to_owned())
    }

    fn heap(&self, entry: u64) -> Option<&'a str> {
        utf8::text(self.heap_bytes(entry)?)
    }

    fn heap_bytes(&self, entry: u64) -> Option<&'a [u8]> {
        let length = usize::try_from(entry >> u32::BITS).ok()?.checked_sub(1)?;
        let at = usize::try_from(entry & u64::from(u32::MAX)).ok()?;
        let end = at.checked_add(length).filter(|end| *end <= HEAP)?;
        self.bytes.get(HEAP_AT + at..HEAP_AT + end)
    }

    /// Returns the two instants of a line of the clock.
    fn line(&self, number: u64) -> Option<[u64; 4]> {
        let at = line::AT + usize::try_from(number % line::COUNT as u64).ok()? * line::BYTES;
        Some([0, 1, 2, 3].map(|word| self.word(at + word * WORD)))
    }
}

impl Meaning for Image<'_> {
    fn text(&self, number: u32) -> Option<&str> {
        let number = usize::try_from(number).ok().filter(|number| *number < TEXTS)?;
        self.heap(self.word(text::AT + number * text::BYTES))
    }

    fn place(&self, number: u32) -> Option<(&str, &str, u32)> {
        let number = usize::try_from(number).ok().filter(|number| *number < PLACES)?;
        let at = place::AT + number * place::BYTES;
        let line = u32::try_from(self.word(at + place::LINE).checked_sub(1)?).ok()?;
        let module = self.heap(self.word(at + place::MODULE))?;
        Some((self.heap(self.word(at))?, module, line))
    }

    fn callsite(&self, number: u32) -> Option<ForeignCallsite<'_>> {
        let number = usize::try_from(number).ok().filter(|number| *number < CALLSITES)?;
        let bytes = self.heap_bytes(self.word(callsite::AT + number * callsite::BYTES))?;
        let (numbers, mut texts) = bytes.split_at_checked(5 * size_of::<u32>())?;
        let number = |at: usize| {
            let number = numbers.get(4 * at..)?.first_chunk()?;
            Some(u32::from_le_bytes(*number))
        };
        let mut text = |at: usize| {
            let (text, rest) = texts.split_at_checked(usize::try_from(number(at)?).ok()?)?;
            texts = rest;
            utf8::text(text)
        };
        let (target, name, file, module) = (text(0)?, text(1)?, text(2)?, text(3)?);
        Some(ForeignCallsite { target, name, file, module, line: number(4)? })
    }

    /// Converts by the last line that begins before, or else by the oldest line. The next line may
    /// have taken the place of the oldest in part.
    fn time(&self, ticks: u64) -> UnixTime {
        let count = self.word(head::LINES);
        let oldest = count.saturating_sub(line::COUNT as u64 - 1);
        let mut best = None;
        for line in (oldest..count).rev().take(line::COUNT).filter_map(|number| self.line(number)) {
            best = Some(line);
            if line[0] <= ticks {
                break;
            }
        }
        let Some([from, at, to, later]) = best else { return UnixTime::EPOCH };
        let since = i128::from(ticks) - i128::from(from);
        let (ticks, ns) = (i128::from(to) - i128::from(from), i128::from(later) - i128::from(at));
        let passed = since.saturating_mul(ns).checked_div(ticks).unwrap_or(0);
        let time = i128::from(at).saturating_add(passed);
        UnixTime::from_nanos(u64::try_from(time.max(0)).unwrap_or(u64::MAX))
    }
}

#[cfg(all(test, unix))]
pub(super) mod tests;
