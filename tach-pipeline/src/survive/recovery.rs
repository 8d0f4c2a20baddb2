//! Passes on the records of processes that have ended.

use core::mem;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;

use tach_core::UnixTime;

use super::dead::counterparts;
use super::dead::{Dead, Skipped};
use super::image::{Image, Left};
use super::spans::{Assembly, Recording, SpanLeft};
use super::store::Named;
use crate::frame::{self, Foreign, Time};

/// The most bytes of copies of one file's records: each of many records of a file that somebody has
/// made up may name the longest texts.
const MOST_COPIED: usize = 1 << 30;

/// The files whose records are to be passed on, the oldest first.
///
/// The events in the formats of sinks come before all records, and those of the newest file first:
/// a process that passed on records of an older file has left them as such events.
#[derive(Default)]
pub(crate) struct Recovery {
    waiting: VecDeque<Dead>,
    /// How many of the files may have such events.
    unread: usize,
    /// The sinks of the pipeline.
    lanes: Vec<Named>,
    current: Option<Reading>,
    /// The files of which all but the recordings was passed on.
    recordings: Vec<RecordingFile>,
}

/// A file that is being passed on.
struct Reading {
    dead: Dead,
    items: Vec<Item>,
    /// The process whose flight recorder had kept something.
    recorded: Option<u64>,
    /// Where to stop for now, and the file's place among those that wait.
    pause: Option<(usize, usize)>,
    /// How many items were passed on.
    taken: usize,
}

enum Item {
    Report(Report),
    Doubtful(Doubtful),
    Events(Events),
    /// A record as the process wrote it.
    Record(Vec<u8>),
    /// `None` after it was passed on.
    Span(Option<SpanLeft>),
}

/// The file of a process that has ended, of which nothing is left but what its flight recorder had
/// kept.
pub(crate) struct RecordingFile {
    dead: Dead,
    #[cfg_attr(not(feature = "tracing"), expect(dead_code, reason = "a recorder reads it"))]
    pub(crate) process: u64,
    /// How many items were passed on.
    taken: u64,
}

/// What a log says about a process before its records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) process: u64,
    pub(crate) program: String,
    /// When the process last logged a record that follows.
    pub(crate) last: Option<UnixTime>,
    /// How many records follow.
    pub(crate) records: u64,
    /// How many events of sinks follow, in the format of their sink.
    pub(crate) unwritten: u64,
    /// How many spans follow.
    pub(crate) spans: u64,
    /// How many events and spans a flight recorder had kept.
    pub(crate) recorded: u64,
    /// How many spans found no room in the file. They are not there, or not whole.
    pub(crate) spans_outside: u64,
    /// How many records were damaged.
    pub(crate) cut: u64,
    /// How many records the process had dropped.
    pub(crate) dropped: u64,
    /// How many records were over the rate limit.
    pub(crate) refused: u64,
    /// How many events the sinks had dropped, each for itself.
    pub(crate) sinks_dropped: u64,
    /// How many rings found no room in the file. Their records are not there.
    pub(crate) outside: u64,
    /// How often the last record that was written was repeated.
    pub(crate) repeats: u64,
}

/// Events that a sink may have written already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Doubtful {
    pub(crate) process: u64,
    pub(crate) sink: String,
    /// How many of the next events of the sink.
    pub(crate) count: u64,
}

/// Events in the format of a sink.
#[derive(Debug, Default)]
pub(crate) struct Events {
    /// The sink's number. `None` if the pipeline has no such sink.
    pub(crate) lane: Option<usize>,
    pub(crate) bytes: Vec<u8>,
    /// Where each event ends.
    pub(crate) ends: Vec<usize>,
}

/// An item to pass on.
pub(crate) enum Next {
    Report(Report),
    Doubtful(Doubtful),
    Events(Events),
    Record(Vec<u8>, UnixTime),
    Span(SpanLeft),
    /// All items of a file were passed on, or all before its records. They must count before the
    /// file is [left](Recovery::end).
    End,
}

impl Recovery {
    pub(super) fn new(dead: Vec<Dead>, lanes: Vec<Named>) -> Self {
        let (unread, recordings) = (dead.len(), Vec::new());
        Self { unread, waiting: dead.into(), lanes, current: None, recordings }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.current.is_none() && self.recordings.is_empty()
    }

    /// Returns the next item. Returns `None` if nothing is left.
    ///
    /// # Errors
    ///
    /// If a file can't be read. The file stays, and later calls continue with the next file.
    pub(crate) fn next(&mut self) -> Result<Option<Next>, Skipped> {
        while let (None, Some(at)) = (&self.current, self.unread.checked_sub(1)) {
            self.unread = at;
            let Some(dead) = self.waiting.remove(at) else { continue };
            let name = dead.name().clone();
            let skipped = |why| Skipped { name: name.clone(), why };
            if dead.with_image(events_of).map_err(skipped)? == 0 {
                self.waiting.insert(at, dead);
                continue;
            }
            let reading = Reading::new(dead, &self.lanes).map_err(skipped)?;
            let is_event = |item: &Item| !matches!(item, Item::Record(_) | Item::Span(_));
            let first = reading.items.iter().take_while(|item| is_event(item)).count();
            self.current = Some(Reading { pause: Some((first, at)), ..reading });
        }
        if self.current.is_none() {
            let Some(dead) = self.waiting.pop_front() else { return Ok(None) };
            let name = dead.name().clone();
            let reading = Reading::new(dead, &self.lanes).map_err(|why| Skipped { name, why })?;
            self.current = Some(reading);
        }
        Ok(self.current.as_mut().map(Reading::next))
    }

    /// Returns the number of the file that is being passed on, and how many of its items were.
    pub(crate) fn takes(&self) -> (u64, u64) {
        self.current.as_ref().map_or((0, 0), |it| (it.dead.id, it.taken as u64))
    }

    /// Removes a file after its last item counts, or keeps it for its records or its recording.
    ///
    /// # Errors
    ///
    /// If that fails.
    pub(crate) fn end(&mut self) -> Result<(), Skipped> {
        let Some(current) = self.current.take() else { return Ok(()) };
        let Reading { dead, taken, pause, recorded, .. } = current;
        let taken = taken as u64;
        let name = dead.name().clone();
        let ended = dead.note_taken(taken);
        let ended = match (pause, recorded) {
            (Some((_, at)), _) => {
                self.waiting.insert(at, dead);
                ended
            }
            (None, Some(process)) => {
                ended.map(|()| self.recordings.push(RecordingFile { dead, process, taken }))
            }
            // If the name stays, the file says that it has nothing left.
            (None, None) => ended.and_then(|()| dead.remove()),
        };
        ended.map_err(|why| Skipped { name, why })
    }

    /// Returns the files of which all but the recordings was passed on, the oldest first.
    pub(crate) fn take_recordings(&mut self) -> Vec<RecordingFile> {
        mem::take(&mut self.recordings)
    }

    /// Notes how far the file was passed on. Call before the store is removed.
    pub(crate) fn pause(&self) -> io::Result<()> {
        let Some(current) = &self.current else { return Ok(()) };
        current.dead.note_taken(current.taken as u64)
    }
}

impl Reading {
    fn new(dead: Dead, to: &[Named]) -> io::Result<Self> {
        let (items, recorded, taken) = dead.with_image(|image| {
            let mut items = events(image, to);
            let of = |item: &Item| match item {
                Item::Events(Events { lane, ends, .. }) => (lane.is_some(), ends.len() as u64),
                _ => (true, 0),
            };
            let unwritten = items.iter().map(of).filter(|of| of.0).map(|of| of.1).sum();
            let homeless: u64 = items.iter().map(of).filter(|of| !of.0).map(|of| of.1).sum();
            let Contents { mut report, records, spans, recording } = contents(image, 0);
            let is_empty = recording.is_empty() && records.is_empty() && spans.is_empty();
            let has_recorder = image.has_recorder() && !image.exits();
            report.unwritten = unwritten;
            report.dropped = report.dropped.saturating_add(homeless);
            items.extend(records.into_iter().map(Item::Record));
            items.extend(spans.into_iter().map(|span| Item::Span(Some(span))));
            let Report { records, cut, spans, recorded, .. } = report;
            if records + cut + spans + recorded + unwritten + homeless > 0 || image.all_lost() > 0 {
                items.insert(0, Item::Report(report));
            }
            let taken = usize::try_from(image.taken()).unwrap_or(usize::MAX);
            // The recording counts as one more item.
            let has_recording = has_recorder && !is_empty && taken <= items.len();
            (items, has_recording.then(|| image.process()), taken)
        })?;
        Ok(Self { dead, items, recorded, taken, pause: None })
    }

    fn next(&mut self) -> Next {
        if self.pause.is_some_and(|(at, _)| self.taken >= at) {
            return Next::End;
        }
        let Some(item) = self.items.get_mut(self.taken) else { return Next::End };
        self.taken += 1;
        match item {
            Item::Report(report) => Next::Report(report.clone()),
            Item::Doubtful(doubtful) => Next::Doubtful(doubtful.clone()),
            Item::Events(events) => Next::Events(mem::take(events)),
            Item::Record(record) => {
                let record = mem::take(record);
                let time = frame::time(&record).map_or(UnixTime::EPOCH, Time::unix_time);
                Next::Record(record, time)
            }
            Item::Span(span) => span.take().map_or(Next::End, Next::Span),
        }
    }
}

impl RecordingFile {
    /// Reads what the recorder had kept, with the records and the spans that were on their way.
    ///
    /// # Errors
    ///
    /// If the file can't be read.
    #[cfg(feature = "tracing")]
    pub(crate) fn read(&self) -> io::Result<Recording> {
        self.dead.with_image(|image| {
            let Contents { records, spans, recording, .. } = contents(image, 0);
            recording.with(&records, &spans)
        })
    }

    /// Removes the file. Call when the recording is written, or nothing writes it.
    ///
    /// # Errors
    ///
    /// If that fails.
    pub(crate) fn remove(&self) -> Result<(), Skipped> {
        // If the name stays, the file says that it has nothing left.
        let removed = self.dead.note_taken(self.taken + 1).and_then(|()| self.dead.remove());
        removed.map_err(|why| Skipped { name: self.name().clone(), why })
    }

    pub(crate) fn name(&self) -> &OsString {
        self.dead.name()
    }
}

/// Returns how many items the events of sinks are that are no regular files.
pub(super) fn events_of(image: &Image<'_>) -> usize {
    events(image, &[]).len()
}

/// Returns the events of sinks that are no regular files. Their number depends on nothing but the
/// file, since a later process goes on behind those that were passed on.
fn events(image: &Image<'_>, to: &[Named]) -> Vec<Item> {
    let Some(lanes) = image.lanes() else { return Vec::new() };
    let names: Vec<_> = to.iter().collect();
    let mut items = Vec::new();
    for (lane, counterpart) in lanes.iter().zip(counterparts(&lanes, &names)) {
        for spool in lane.spools.iter().filter(|_| !lane.is_file) {
            let (bytes, ends) = spool.left();
            let tried = spool.doubtful();
            if tried > 0 {
                let sink = lane.name.to_owned();
                let (process, count) = (image.process(), tried as u64);
                items.push(Item::Doubtful(Doubtful { process, sink, count }));
            }
            items.push(Item::Events(Events { lane: counterpart, bytes: bytes.to_owned(), ends }));
        }
    }
    items
}

/// Returns the events of sinks that are no regular files, after the first `taken` items, each with
/// the sink's name.
pub(super) fn events_after(image: &Image<'_>, taken: usize) -> Vec<(String, Vec<u8>)> {
    let Some(lanes) = image.lanes() else { return Vec::new() };
    let spools = lanes.iter().filter(|lane| !lane.is_file);
    let spools = spools.flat_map(|lane| lane.spools.iter().map(|spool| (lane.name, spool)));
    let mut items = 0;
    let mut after = Vec::new();
    for (name, spool) in spools {
        items += 1 + usize::from(spool.doubtful() > 0);
        if items > taken {
            after.extend(spool.events_left().into_iter().map(|event| (name.to_owned(), event)));
        }
    }
    after
}

/// What a process has left, without events of sinks.
pub(super) struct Contents {
    pub(super) report: Report,
    /// Copies of the records, in their order.
    pub(super) records: Vec<Vec<u8>>,
    /// In the order of their starts.
    pub(super) spans: Vec<SpanLeft>,
    /// What the flight recorder had got.
    pub(super) recording: Recording,
}

/// Reads what a process has left, without what its flight recorder had written before the byte
/// `recorded_from` of all.
pub(super) fn contents(image: &Image<'_>, recorded_from: u64) -> Contents {
    let Left { records, mut cut } = image.left();
    let mut copies = Vec::with_capacity(records.len());
    let mut last = None;
    let mut room = MOST_COPIED;
    let mut spans = Assembly::new(image, &mut room);
    let recording = Recording::new(image, recorded_from, &mut room, &mut cut);
    for (time, record, thread) in records {
        match frame::foreign(&record, image, image.process(), &thread) {
            Foreign::Event(record) if record.len() <= room => {
                room -= record.len();
                last = Some(time);
                spans.record(&record, thread.0);
                copies.push(record);
            }
            Foreign::Part(record) if record.len() <= room => {
                room -= record.len();
                spans.record(&record, thread.0);
            }
            Foreign::Event(_) | Foreign::Part(_) | Foreign::Invalid => cut += 1,
        }
    }
    cut += spans.cut;
    let spans = spans.finish(image.exits());
    let report = Report {
        process: image.process(),
        program: image.program().to_owned(),
        last,
        records: copies.len() as u64,
        unwritten: 0,
        spans: spans.len() as u64,
        recorded: recording.len(),
        spans_outside: image.spans_outside(),
        cut,
        dropped: [image.dropped(), image.lost(), image.unsettled()]
            .into_iter()
            .fold(0, u64::saturating_add),
        refused: image.refused(),
        sinks_dropped: image.sinks_dropped(),
        outside: image.outside(),
        repeats: image.repeats(),
    };
    Contents { report, records: copies, spans, recording }
}
