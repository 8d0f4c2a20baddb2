//! Writes a dump as a trace of Perfetto, in protobuf (<https://perfetto.dev/docs>,
//! `track_event.proto`).
//!
//! Packets need not be in the order of their times, so they are written track by track. If packets
//! of a track have the same time, Perfetto keeps the order of the file.

mod lanes;
mod packet;

use core::cmp::Reverse;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;

use tach_log::Value;
use tach_log::adapter::{Fields as _, Site};

use self::lanes::{Lane, Lanes, Owner, Slice};
use self::packet::Packets;
use super::format::FlightFormat;
use super::ring::Item;
use super::snapshot::Snapshot;
use crate::frame::{Frame, SpanPart, What};
use crate::spans::span::{Item as Part, Span};

/// The time that stands for the end of an open span.
const OPEN: u64 = u64::MAX;

impl FlightFormat {
    /// A trace for [Perfetto's viewer](https://ui.perfetto.dev), which opens it by drag and drop
    /// and sends it nowhere.
    ///
    /// A span is drawn on its thread's track if it nests there, and beside the threads if it does
    /// not, as tasks that take turns on a thread. An arrow leads from a span to a child on another
    /// track, and to a span that follows from it. Fields are arguments. Events are marks.
    ///
    /// # Examples
    ///
    /// ```
    /// let format = tach_pipeline::FlightFormat::perfetto();
    /// ```
    #[must_use]
    pub fn perfetto() -> Self {
        Self { extension: "pftrace", write: Arc::new(write) }
    }
}

/// Writes a dump.
///
/// # Errors
///
/// If `to` fails.
fn write(snapshot: &Snapshot, to: &mut dyn io::Write) -> io::Result<()> {
    let trace = Trace::new(snapshot);
    let mut packets = Packets::new(to);
    packets.begin(trace.first)?;
    for (lane, owner) in trace.lanes.owners().iter().enumerate() {
        match owner {
            Owner::Thread(id) => {
                let name = trace.threads.get(id).copied().unwrap_or_default();
                packets.thread(track(lane), *id, name)?;
            }
            Owner::Tasks => packets.tasks(track(lane))?,
        }
    }
    for (lane, content) in trace.contents.iter().enumerate() {
        trace.write_lane(track(lane), content, &mut packets)?;
    }
    trace.write_lane(packet::PROCESS, &trace.threadless, &mut packets)?;
    packets.end()
}

/// Returns the number of a track in the file. The track of the process comes before all others.
fn track(lane: Lane) -> u64 {
    packet::PROCESS + 1 + lane as u64
}

struct Trace<'a> {
    spans: Vec<Shown<'a>>,
    events: Vec<Event<'a>>,
    lanes: Lanes,
    /// The content of each track.
    contents: Vec<Content>,
    /// Events of threads that were ending, whose number was not known any more.
    threadless: Content,
    /// The threads' names.
    threads: BTreeMap<u64, &'a str>,
    first: u64,
}

/// A span with its arrows from and to other tracks.
struct Shown<'a> {
    span: Span<'a>,
    slice: Slice,
    /// Arrows that begin here.
    to: Vec<u64>,
    /// Arrows that end here.
    from: Vec<u64>,
}

struct Event<'a> {
    time: u64,
    record: Frame<'a>,
}

/// The indices of the spans and the events on a track, in the order of their times.
#[derive(Default)]
struct Content {
    spans: Vec<usize>,
    events: Vec<usize>,
}

impl<'a> Trace<'a> {
    fn new(snapshot: &'a Snapshot) -> Self {
        let (mut spans, mut events) = (Vec::new(), Vec::new());
        for item in snapshot.items() {
            match item {
                Item::Span(span) => {
                    // Events that were added to the span by its methods.
                    events.extend(span.items().filter_map(|item| match item {
                        Part::Event(record, time) => Some(Event { time: time.as_nanos(), record }),
                        Part::Part(_) => None,
                    }));
                    spans.push(Shown::new(span));
                }
                Item::Event(time, record) => {
                    let record = Frame::read(record).map(|it| it.redacted(&snapshot.redacted));
                    events.extend(record.map(|record| Event { time: time.as_nanos(), record }));
                }
            }
        }
        // Spans were added when they ended, so children before parents. Parents must come first.
        spans.reverse();
        spans.sort_by_key(|shown| (shown.slice.start, Reverse(shown.slice.end)));
        events.sort_by_key(|event| event.time);
        let starts = spans.first().map(|shown| shown.slice.start);
        let first = starts.into_iter().chain(events.first().map(|event| event.time)).min();
        let mut trace = Self {
            spans,
            events,
            lanes: Lanes::default(),
            contents: Vec::new(),
            threadless: Content::default(),
            threads: BTreeMap::new(),
            first: first.unwrap_or(0),
        };
        trace.place_spans();
        trace.place_events();
        trace.draw_arrows();
        trace
    }

    fn place_spans(&mut self) {
        for (at, shown) in self.spans.iter_mut().enumerate() {
            let site = shown.site();
            name_thread(&mut self.threads, &site);
            if shown.span.is_on_one_thread {
                shown.slice.thread = site.thread_id;
            }
            let lane = self.lanes.place(shown.slice);
            content(&mut self.contents, lane).spans.push(at);
        }
    }

    /// Places each event on the track of its span. If that is the track of another thread, places
    /// the event on its own thread's track.
    fn place_events(&mut self) {
        for (at, event) in self.events.iter().enumerate() {
            let site = &event.record.site;
            name_thread(&mut self.threads, site);
            let of_span = event.record.context().and_then(|it| self.lanes.of_span(it.span));
            let is_here = |lane: &Lane| match (self.lanes.owners()[*lane], site.thread_id) {
                (Owner::Thread(owner), Some(thread)) => owner == thread,
                _ => true,
            };
            let lane = match (of_span.filter(is_here), site.thread_id) {
                (Some(lane), _) => lane,
                (None, Some(thread)) => self.lanes.of_thread(thread),
                (None, None) => {
                    self.threadless.events.push(at);
                    continue;
                }
            };
            content(&mut self.contents, lane).events.push(at);
        }
    }

    /// Draws arrows from spans to their children on other tracks, and to spans that follow from
    /// them.
    fn draw_arrows(&mut self) {
        let ids: HashMap<u64, usize> =
            self.spans.iter().enumerate().map(|(at, shown)| (shown.slice.id, at)).collect();
        for to in 0..self.spans.len() {
            let slice = self.spans[to].slice;
            let is_apart = self.lanes.of_span(slice.parent) != self.lanes.of_span(slice.id);
            let parent = is_apart.then_some((slice.parent, slice.id));
            let links = self.spans[to].span.items().filter_map(|item| match item {
                Part::Part(SpanPart { what: What::Link(linked), .. }) => {
                    let from = linked.context.span;
                    // An arrow from a parent uses the child's id, so this arrow needs another id.
                    Some((from, from.rotate_left(32) ^ slice.id))
                }
                _ => None,
            });
            let arrows: Vec<_> = parent.into_iter().chain(links).collect();
            for (from, arrow) in arrows {
                let Some(&from) = ids.get(&from) else { continue };
                // Perfetto takes the earlier end of an arrow for its beginning.
                if self.spans[from].slice.start < slice.start {
                    self.spans[from].to.push(arrow);
                    self.spans[to].from.push(arrow);
                }
            }
        }
    }

    /// Writes a track. Its spans nest, and each event is written within the spans that are open.
    fn write_lane(
        &self,
        track: u64,
        content: &Content,
        packets: &mut Packets<'_>,
    ) -> io::Result<()> {
        let mut spans = content.spans.iter().map(|&at| &self.spans[at]).peekable();
        let mut events = content.events.iter().map(|&at| &self.events[at]).peekable();
        // The ends of the spans that have begun and not ended yet.
        let mut ends: Vec<u64> = Vec::new();
        loop {
            let end = ends.last().copied();
            let start = spans.peek().map(|shown| shown.slice.start);
            let event = events.peek().map(|event| event.time);
            // If an event happens at the time of a span's start or end, write it within the span.
            let begins = start.filter(|start| {
                end.is_none_or(|end| *start < end) && event.is_none_or(|event| *start <= event)
            });
            let happens = event.filter(|event| end.is_none_or(|end| *event <= end));
            if begins.is_some() {
                let Some(shown) = spans.next() else { break };
                ends.push(shown.slice.end);
                shown.write(track, packets)?;
            } else if happens.is_some() {
                let Some(event) = events.next() else { break };
                event.write(track, packets)?;
            } else if let Some(end) = ends.pop() {
                if end != OPEN {
                    packets.slice_end(track, end)?;
                }
            } else {
                break;
            }
        }
        Ok(())
    }
}

/// Returns the content of a track.
fn content(contents: &mut Vec<Content>, lane: Lane) -> &mut Content {
    if lane >= contents.len() {
        contents.resize_with(lane + 1, Content::default);
    }
    &mut contents[lane]
}

fn name_thread<'a>(threads: &mut BTreeMap<u64, &'a str>, site: &Site<'a>) {
    if let (Some(id), Some(name)) = (site.thread_id, site.thread_name) {
        threads.entry(id).or_insert(name);
    }
}

impl<'a> Shown<'a> {
    fn new(span: Span<'a>) -> Self {
        let parent = span.parent();
        let start = span.start.as_nanos();
        let end = if span.is_unfinished { OPEN } else { span.end.as_nanos() };
        let slice = Slice { id: span.context.span, parent, start, end, thread: None };
        Self { span, slice, to: Vec::new(), from: Vec::new() }
    }

    /// Returns the place in the program and the thread where the span started.
    fn site(&self) -> Site<'a> {
        match self.span.items().next() {
            Some(Part::Part(part)) => part.site(),
            _ => Site::default(),
        }
    }

    fn write(&self, track: u64, packets: &mut Packets<'_>) -> io::Result<()> {
        let Self { span, slice, to, from } = self;
        let Some(start) = span.begin() else { return Ok(()) };
        packets.slice_begin(track, slice.start, |to_packet| {
            to_packet.category(start.target);
            to_packet.place(&self.site());
            to_packet.annotation("level", Value::Str(start.level.name()));
            to_packet.annotation("trace_id", Value::Str(&format!("{:032x}", span.context.trace)));
            to_packet.annotation("span_id", Value::Str(&format!("{:016x}", slice.id)));
            if span.is_unfinished {
                to_packet.annotation("tach.unfinished", Value::Bool(true));
            }
            let mut name = Cow::Borrowed(start.name);
            let last = span.last_values();
            for (at, item) in span.items().enumerate() {
                let Part::Part(part) = item else { continue };
                if matches!(part.what, What::Link(_)) {
                    continue;
                }
                let visited = part.fields.visit(&mut |key, value| {
                    match (key, value) {
                        ("otel.name", Value::Str(text)) => name = text.to_owned().into(),
                        _ if last.is_recorded_again(at, key) => {}
                        (key, value) => to_packet.annotation(key, value),
                    }
                    Ok(())
                });
                debug_assert!(visited.is_ok(), "nothing fails here");
            }
            to_packet.name(&name);
            for &arrow in to {
                to_packet.arrow_from(arrow);
            }
            for &arrow in from {
                to_packet.arrow_to(arrow);
            }
        })
    }
}

impl Event<'_> {
    fn write(&self, track: u64, packets: &mut Packets<'_>) -> io::Result<()> {
        let Self { time, record } = self;
        packets.instant(track, *time, |to| {
            let message = if record.message.is_empty() { "event" } else { record.message };
            to.name(message);
            to.category(record.target);
            to.place(&record.site);
            to.annotation("level", Value::Str(record.level.name()));
            if let Some(name) = record.site.thread_name {
                to.annotation("thread", Value::Str(name));
            }
            let visited = record.fields.visit_own(&mut |key, value| {
                to.annotation(key, value);
                Ok(())
            });
            debug_assert!(visited.is_ok(), "nothing fails here");
        })
    }
}
