//! The records in the file of a process that has ended, and what its flight recorder had kept.

use core::time::Duration;
use std::borrow::Cow;

use tach_core::UnixTime;

use super::foreign::{self, Foreign};
use super::image::{self, Image, Thread};
use super::items::Report;
use super::recorded_span::{self, OwnSpan};
use crate::frame::{self, RecordKind, SpanPart, Time, What};

/// The most bytes of copies of one file's records, which contain the texts that the records name.
const MOST_COPIED: usize = 1 << 30;

/// What a process has left for a dump of its flight recorder.
pub(super) struct Contents {
    /// Copies of the records, in their order.
    pub(super) records: Vec<Vec<u8>>,
    /// What the flight recorder had got.
    pub(super) recording: RecordingLeft,
}

/// The room for copies, and how many parts of the file are damaged.
pub(super) struct Room {
    pub(super) left: usize,
    pub(super) cut: u64,
}

impl Default for Room {
    fn default() -> Self {
        Self { left: MOST_COPIED, cut: 0 }
    }
}

/// Reads what a process has left.
pub(super) fn contents(image: &Image<'_>) -> Contents {
    let mut room = Room::default();
    let recording = RecordingLeft::new(image, &mut room.left, &mut room.cut);
    let mut records = Vec::new();
    left(image, room, recording.len(), |_, _, copy| records.push(copy));
    Contents { records, recording }
}

/// Reads the records. Calls `each` with each event: its bytes in the file, its thread and a copy.
/// The recorder had kept `recorded` events and spans.
pub(super) fn left<'a>(
    image: &Image<'a>,
    mut room: Room,
    recorded: u64,
    mut each: impl FnMut(Cow<'a, [u8]>, &Thread, Vec<u8>),
) -> Report {
    let image::Left { records: all, mut cut } = image.left();
    let (mut records, mut spans_lost, mut last) = (0, 0, None);
    for (time, record, thread) in all {
        match foreign::foreign(&record, image, image.process(), &thread) {
            Foreign::Event(copy) if copy.len() <= room.left => {
                room.left -= copy.len();
                records += 1;
                last = Some(time);
                each(record, &thread, copy);
            }
            Foreign::Part(copy) => {
                spans_lost += u64::from(frame::is_part(&copy, RecordKind::End));
            }
            Foreign::Event(_) | Foreign::Invalid => cut += 1,
        }
    }
    Report {
        process: image.process(),
        program: image.program().to_owned(),
        last,
        records,
        unwritten: 0,
        spans_lost,
        recorded,
        cut: cut + room.cut,
        dropped: image.dropped(),
        refused: image.refused(),
        sinks_dropped: image.sinks_lost(),
        outside: image.outside(),
        repeats: image.repeats(),
    }
}

/// What a flight recorder had kept.
#[derive(Clone, Default)]
pub(super) struct RecordingLeft {
    /// Copies of the records of events, each with the time of the event.
    pub(super) events: Vec<(UnixTime, Vec<u8>)>,
    /// Spans that had ended, without their events.
    pub(super) spans: Vec<OwnSpan>,
    /// The last moment of the process, and how long before it an item may have happened.
    pub(super) last: UnixTime,
    pub(super) age: Duration,
}

impl RecordingLeft {
    /// Reads the items. Takes the bytes of copies from `room`, and adds the number of damaged parts
    /// to `cut`.
    pub(super) fn new(image: &Image<'_>, room: &mut usize, cut: &mut u64) -> Self {
        let mut recording =
            Self { last: image.last_line(), age: image.recorded_age(), ..Self::default() };
        if image.exits() {
            return recording;
        }
        let recorded = image.recorded();
        *cut += u64::from(recorded.is_damaged);
        for (words, bytes) in recorded.items() {
            let copies = frame::split_all(bytes).filter_map(|record| {
                let copy = copy(record, image, room);
                *cut += u64::from(copy.is_none());
                copy
            });
            if let Some(words) = words {
                let records = copies.collect::<Vec<_>>().concat();
                let kept = recorded_span::of(words, records.len());
                let first = frame::split_all(&records).next().and_then(SpanPart::read);
                let is_whole = first.is_some_and(|it| matches!(it.what, What::Start(_)));
                if is_whole && kept.context.span != 0 && kept.context.trace != 0 {
                    recording.spans.push(OwnSpan { kept, records });
                }
            } else {
                recording.events.extend(copies.map(|copy| (time(&copy), copy)));
            }
        }
        for (time, _) in &recording.events {
            recording.last = recording.last.max(*time);
        }
        recording
    }

    /// Returns how many events and spans it has.
    pub(super) fn len(&self) -> u64 {
        (self.events.len() + self.spans.len()) as u64
    }

    /// Adds the events that the recorder had not got yet.
    pub(super) fn with(mut self, events: Vec<Vec<u8>>) -> Self {
        self.events.extend(events.into_iter().map(|copy| (time(&copy), copy)));
        let ends = self.spans.iter().map(|span| span.span().end);
        let last = ends.chain(self.events.iter().map(|(time, _)| *time)).max();
        self.last = self.last.max(last.unwrap_or(self.last));
        self.events.sort_by_key(|(time, _)| *time);
        self.spans.sort_by_key(|span| span.span().end);
        self
    }
}

fn time(record: &[u8]) -> UnixTime {
    frame::time(record).map_or(UnixTime::EPOCH, Time::unix_time)
}

/// Copies a record of the process, unless that takes more than `room` bytes, or it is damaged.
fn copy(record: &[u8], image: &Image<'_>, room: &mut usize) -> Option<Vec<u8>> {
    match foreign::foreign(record, image, image.process(), &(0, String::new())) {
        Foreign::Event(copy) | Foreign::Part(copy) if copy.len() <= *room => {
            *room -= copy.len();
            Some(copy)
        }
        _ => None,
    }
}
