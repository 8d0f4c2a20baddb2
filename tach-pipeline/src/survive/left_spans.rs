//! Assembles the spans of a process that were open at its death, or had ended and were not passed
//! on.

use core::time::Duration;
use std::collections::HashSet;

use tach_core::UnixTime;

use super::foreign::{self, Foreign};
use super::image::Image;
use super::recovered::Recovered;
use crate::frame::{self, Time};
use crate::spans::kept::OwnSpan;

/// Returns how many items the spans and the recording of a file are at most, besides the spans in
/// the queues.
pub(super) fn most(image: &Image<'_>) -> usize {
    image.waiting().spans.len() + usize::from(image.has_recorder())
}

/// What a flight recorder had kept.
#[derive(Clone, Default)]
pub(super) struct RecordingLeft {
    /// Copies of the records of events, each with the time of the event.
    pub(super) events: Vec<(UnixTime, Vec<u8>)>,
    /// Spans that had ended, and spans that were open, without their events.
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
        let mut spans = Recovered::new();
        for (standing, bytes) in recorded.items() {
            let copies = frame::split_all(bytes).filter_map(|record| {
                let copy = copy(record, image, room);
                *cut += u64::from(copy.is_none());
                copy
            });
            match standing {
                Some(standing) => spans.span(standing, &copies.collect::<Vec<_>>()),
                None => recording.events.extend(copies.map(|copy| (time(&copy), copy))),
            }
        }
        recording.spans = spans.finish(None);
        for (time, _) in &recording.events {
            recording.last = recording.last.max(*time);
        }
        recording
    }

    /// Returns how many events and spans it has.
    pub(super) fn len(&self) -> u64 {
        (self.events.len() + self.spans.len()) as u64
    }

    /// Adds the events and the spans that the recorder had not got yet, or that were open.
    pub(super) fn with(mut self, events: Vec<Vec<u8>>, spans: Vec<OwnSpan>) -> Self {
        let id = |span: &OwnSpan| span.span(&[]).context.span;
        let known: HashSet<_> = self.spans.iter().map(id).collect();
        self.spans.extend(spans.into_iter().filter(|span| !known.contains(&id(span))));
        self.events.extend(events.into_iter().map(|copy| (time(&copy), copy)));
        let ends = self.spans.iter().map(|span| span.span(&[]).end);
        let last = ends.chain(self.events.iter().map(|(time, _)| *time)).max();
        self.last = self.last.max(last.unwrap_or(self.last));
        self.events.sort_by_key(|(time, _)| *time);
        self.spans.sort_by_key(|span| span.span(&[]).end);
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

/// The spans of a process, until all of their records were added.
pub(super) struct Assembly {
    spans: Recovered,
    /// How many parts of the file are damaged.
    pub(super) cut: u64,
    last: UnixTime,
}

impl Assembly {
    /// Begins with the spans that the file has besides the queues. Takes the bytes of copies from
    /// `room`.
    pub(super) fn new(image: &Image<'_>, room: &mut usize) -> Self {
        let mut assembly = Self { spans: Recovered::new(), cut: 0, last: image.last_line() };
        let waiting = image.waiting();
        assembly.cut += u64::from(waiting.is_damaged);
        for span in waiting.spans {
            let records = span.records.iter().flat_map(|part| frame::split_all(part));
            let copies: Vec<_> =
                records.filter_map(|record| assembly.copy(record, image, room)).collect();
            assembly.spans.span(&span.standing, &copies);
        }
        for record in waiting.early {
            if let Some(copy) = assembly.copy(record, image, room) {
                assembly.spans.record(&copy, 0);
            }
        }
        assembly
    }

    fn copy(&mut self, record: &[u8], image: &Image<'_>, room: &mut usize) -> Option<Vec<u8>> {
        let copy = copy(record, image, room);
        self.cut += u64::from(copy.is_none());
        copy.inspect(|copy| self.happened(copy))
    }

    /// Adds the copy of an event or of a part of a span, which a thread with this number has
    /// recorded.
    pub(super) fn record(&mut self, record: &[u8], thread: u64) {
        self.happened(record);
        self.spans.record(record, thread);
    }

    fn happened(&mut self, record: &[u8]) {
        self.last = self.last.max(frame::time(record).map_or(self.last, Time::unix_time));
    }

    /// Returns the spans, in the order of their starts.
    pub(super) fn finish(self, exits: bool) -> Vec<OwnSpan> {
        self.spans.finish((!exits).then_some(self.last))
    }
}
