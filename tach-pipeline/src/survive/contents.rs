//! The records in the file of a process that has ended, and what its flight recorder had kept.

use core::time::Duration;

use tach_core::UnixTime;

use super::foreign::{self, Foreign};
use super::image::{Image, Left, Thread};
use super::items::{self, Named};
use super::recorded_span::{self, OwnSpan};
use crate::flight::ring::Ring;
use crate::frame::{self, RecordKind, SpanPart, Time, What};

/// The most bytes of copies of one file's records, which contain the texts that the records name.
const MOST_COPIED: usize = 1 << 30;
/// The most memory for what a flight recorder had kept. The newest fits.
const MOST_RECORDED: usize = 3 * 1024 * 1024;

/// More than two conversions of the same ticks differ by.
const CONVERTED: Duration = Duration::from_micros(2);

/// What a log says about a process before its records.
pub(super) struct Report {
    pub(super) process: u64,
    pub(super) program: String,
    /// When the process last logged a record that follows.
    pub(super) last: Option<UnixTime>,
    /// How many records follow.
    pub(super) records: u64,
    /// How many events and spans a flight recorder had kept.
    pub(super) recorded: u64,
    /// How many records and events are lost, and why, or follow in the format of their sink.
    pub(super) others: [(&'static str, u64); 7],
    /// How many rings found no room in the file. Their records are not there.
    pub(super) outside: u64,
}

impl Report {
    /// Returns how many records and events the file has, or knows to be lost.
    pub(super) fn all(&self) -> u64 {
        self.others.iter().fold(self.records, |sum, (_, count)| sum.saturating_add(*count))
    }
}

/// Reads the records for the report about them. `to` are the pipeline's sinks.
pub(super) fn report(image: &Image<'_>, mut left: Left, to: &[Named]) -> Report {
    let (mut room, mut cut) = (MOST_COPIED, 0);
    let (mut records, mut spans_lost, mut last) = (0, 0, None);
    while let Some((time, record, ring)) = left.next(image) {
        match foreign::foreign(&record, image, image.process(), &image.thread(ring)) {
            Foreign::Event(copy) if copy.len() <= room => {
                room -= copy.len();
                records += 1;
                last = Some(time);
            }
            Foreign::Part(copy) => {
                spans_lost += u64::from(frame::is_part(&copy, RecordKind::End));
            }
            Foreign::Event(_) | Foreign::Invalid => cut += 1,
        }
    }
    let (mut recorded, mut unwritten, mut dropped) = (0, 0, image.dropped());
    if image.has_recorder() {
        cut += u64::from(!image.recorded(|_, _| recorded += 1));
    }
    for batch in (0..image.lane_count()).filter_map(|lane| items::batch(image, lane, to)) {
        let sum = if batch.to.is_some() { &mut unwritten } else { &mut dropped };
        *sum = sum.saturating_add(batch.ends.len() as u64);
    }
    let others = [
        ("unwritten", unwritten),
        ("spans_lost", spans_lost),
        ("cut", cut + left.cut),
        ("dropped", dropped),
        ("refused", image.refused()),
        // Each for itself: those that it had in memory alone, since it failed, too.
        ("sinks_dropped", image.sinks_lost()),
        ("repeated", image.repeats()),
    ];
    let (process, program) = (image.process(), image.program().to_owned());
    Report { process, program, last, records, recorded, others, outside: image.outside() }
}

/// Returns what a flight recorder had kept, with the events that came later, and the last moment of
/// the process.
pub(super) fn recorded<'e>(
    image: &Image<'_>,
    later: impl Iterator<Item = &'e [u8]>,
) -> (Ring, UnixTime) {
    let mut ring = Ring::new(MOST_RECORDED, image.recorded_age());
    let (mut last, mut newest) = (image.last_line(), UnixTime::EPOCH);
    image.recorded(|words, records| {
        let copies = frame::split_all(records).filter_map(|record| copy(record, image));
        let Some(words) = words else {
            return copies.for_each(|event| {
                newest = newest.max(time(&event));
                ring.event(&event, time(&event));
            });
        };
        let records = copies.collect::<Vec<_>>().concat();
        let kept = recorded_span::of(words, records.len());
        let first = frame::split_all(&records).next().and_then(SpanPart::read);
        let is_whole = first.is_some_and(|it| matches!(it.what, What::Start(_)));
        if is_whole && kept.context.span != 0 && kept.context.trace != 0 {
            last = last.max(kept.end);
            ring.span(&OwnSpan { kept, records }.span());
        }
    });
    // Events up to the newest are among the items, with a time that was converted by another line.
    let until = newest.saturating_add(CONVERTED);
    for event in later.filter(|event| time(event) > until) {
        last = last.max(time(event));
        ring.event(event, time(event));
    }
    (ring, last.max(newest))
}

pub(super) fn time(record: &[u8]) -> UnixTime {
    frame::time(record).map_or(UnixTime::EPOCH, Time::unix_time)
}

/// Copies a record of the process, unless it is damaged.
fn copy(record: &[u8], image: &Image<'_>) -> Option<Vec<u8>> {
    match foreign::foreign(record, image, image.process(), &Thread::default()) {
        Foreign::Event(copy) | Foreign::Part(copy) => Some(copy),
        Foreign::Invalid => None,
    }
}
