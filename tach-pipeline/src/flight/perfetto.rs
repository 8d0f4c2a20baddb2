//! Writes a dump as a trace of Perfetto, in protobuf (<https://perfetto.dev/docs>,
//! `track_event.proto`).
//!
//! Packets need not be in the order of their times, so they are written track by track. If packets
//! of a track have the same time, Perfetto keeps the order of the file.

mod lanes;
mod packet;

use core::cmp::Reverse;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use tach_core::UnixTime;
use tach_log::Value;
use tach_log::adapter::{Fields as _, Site};

use self::lanes::{Lane, Lanes, Owner, Slice};
use self::packet::Packets;
use super::format::FlightFormat;
use super::ring::{Item, Stored};
use super::snapshot::Snapshot;
use crate::frame::{self, Frame, RecordKind, SpanPart, What};
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
        Self { extension: "pftrace", write: Arc::new(write), ignored: Vec::new() }
    }
}

/// The track of events whose thread was ending, so that its number was not known any more.
const THREADLESS: Lane = Lane::MAX;

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
    for lane in (0..trace.lanes.owners().len()).chain([THREADLESS]) {
        trace.write_lane(lane, &mut packets)?;
    }
    packets.end()
}

/// Returns the number of a track in the file. The track of the process comes before all others.
fn track(lane: Lane) -> u64 {
    if lane == THREADLESS { packet::PROCESS } else { packet::PROCESS + 1 + lane as u64 }
}

/// The order in which a dump is written. Keeps a few words for each item and reads the item again:
/// a dump may have hundreds of thousands, and the process may be short of memory.
struct Trace<'a> {
    snapshot: &'a Snapshot,
    /// The spans in the order of their starts.
    spans: Vec<Shown<'a>>,
    /// The spans' ids, sorted, with the indices of the spans.
    ids: Vec<(u64, usize)>,
    /// The indices of the spans, by their tracks.
    by_lane: Vec<usize>,
    /// The events, by their tracks and then by their times.
    events: Vec<Event<'a>>,
    lanes: Lanes,
    /// The arrows between tracks, by the spans where they begin.
    arrows: Vec<Arrow>,
    /// The indices of the arrows, by the spans where they end.
    arriving: Vec<usize>,
    /// The threads' names.
    threads: BTreeMap<u64, &'a str>,
    first: u64,
}

#[derive(Clone, Copy)]
struct Shown<'a> {
    id: u64,
    /// The parent's id. Zero if there is no parent.
    parent: u64,
    start: u64,
    end: u64,
    stored: Stored<'a>,
    lane: Lane,
}

struct Event<'a> {
    lane: Lane,
    time: u64,
    /// The number of the event in the order in which the events were added.
    number: usize,
    record: &'a [u8],
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Arrow {
    from: usize,
    to: usize,
    number: u64,
}

impl<'a> Trace<'a> {
    fn new(snapshot: &'a Snapshot) -> Self {
        let (spans, events) = items(snapshot);
        let starts = spans.first().map(|shown| shown.start);
        let first = starts.into_iter().chain(events.iter().map(|event| event.time).min()).min();
        let mut ids: Vec<_> = spans.iter().enumerate().map(|(at, shown)| (shown.id, at)).collect();
        ids.sort_unstable();
        let mut trace = Self {
            snapshot,
            spans,
            ids,
            by_lane: Vec::new(),
            events,
            lanes: Lanes::default(),
            arrows: Vec::new(),
            arriving: Vec::new(),
            threads: BTreeMap::new(),
            first: first.unwrap_or(0),
        };
        trace.place_spans();
        trace.place_events();
        trace.draw_arrows();
        trace
    }

    fn span(&self, stored: Stored<'a>) -> Span<'a> {
        stored.span(&self.snapshot.redacted)
    }

    /// Returns the index of the span with an id.
    fn find(&self, id: u64) -> Option<usize> {
        let at = self.ids.partition_point(|(known, _)| *known < id);
        self.ids.get(at).filter(|(known, _)| *known == id).map(|(_, at)| *at)
    }

    /// Returns the track of the span with an id, if it was placed.
    fn lane_of(&self, id: u64) -> Option<Lane> {
        self.find(id).map(|at| self.spans[at].lane).filter(|lane| *lane != THREADLESS)
    }

    fn place_spans(&mut self) {
        for at in 0..self.spans.len() {
            let Shown { id, parent, start, end, stored, .. } = self.spans[at];
            let span = self.span(stored);
            let site = site(&span);
            name_thread(&mut self.threads, &site);
            let thread = site.thread_id.filter(|_| span.is_on_one_thread);
            let of_parent = self.lane_of(parent);
            let lane = self.lanes.place(Slice { id, parent, start, end, thread }, of_parent);
            self.spans[at].lane = lane;
        }
        self.by_lane = (0..self.spans.len()).collect();
        let spans = &self.spans;
        self.by_lane.sort_unstable_by_key(|&at| (spans[at].lane, at));
    }

    /// Places each event on the track of its span. If that is the track of another thread, places
    /// the event on its own thread's track.
    fn place_events(&mut self) {
        for at in 0..self.events.len() {
            let Some(record) = Frame::read(self.events[at].record) else { continue };
            let site = &record.site;
            name_thread(&mut self.threads, site);
            let of_span = record.context().and_then(|it| self.lane_of(it.span));
            let is_here = |lane: &Lane| match (self.lanes.owners()[*lane], site.thread_id) {
                (Owner::Thread(owner), Some(thread)) => owner == thread,
                _ => true,
            };
            self.events[at].lane = match (of_span.filter(is_here), site.thread_id) {
                (Some(lane), _) => lane,
                (None, Some(thread)) => self.lanes.of_thread(thread),
                (None, None) => THREADLESS,
            };
        }
        self.events.sort_unstable_by_key(|event| (event.lane, event.time, event.number));
    }

    /// Draws arrows from spans to their children on other tracks, and to spans that follow from
    /// them.
    fn draw_arrows(&mut self) {
        let count = (0..self.spans.len()).map(|to| self.arrows_to(to).count()).sum();
        let mut arrows = Vec::with_capacity(count);
        arrows.extend((0..self.spans.len()).flat_map(|to| self.arrows_to(to)));
        arrows.sort_unstable();
        self.arriving = (0..arrows.len()).collect();
        self.arriving.sort_unstable_by_key(|&at| (arrows[at].to, at));
        self.arrows = arrows;
    }

    fn arrows_to(&self, to: usize) -> impl Iterator<Item = Arrow> {
        let Shown { id, parent, start, lane, stored, .. } = self.spans[to];
        let is_apart = self.lane_of(parent).is_some_and(|of_parent| of_parent != lane);
        let parent = is_apart.then_some((parent, id));
        let links = self.span(stored).items().filter_map(move |item| match item {
            Part::Part(SpanPart { what: What::Link(linked), .. }) => {
                let from = linked.context.span;
                // An arrow from a parent uses the child's id, so this arrow needs another id.
                Some((from, from.rotate_left(32) ^ id))
            }
            _ => None,
        });
        parent.into_iter().chain(links).filter_map(move |(from, number)| {
            let from = self.find(from)?;
            // Perfetto takes the earlier end of an arrow for its beginning.
            (self.spans[from].start < start).then_some(Arrow { from, to, number })
        })
    }

    /// Writes a track. Its spans nest, and each event is written within the spans that are open.
    fn write_lane(&self, lane: Lane, packets: &mut Packets<'_>) -> io::Result<()> {
        let track = track(lane);
        let of_lane = self.by_lane.partition_point(|&at| self.spans[at].lane < lane);
        let spans = self.by_lane[of_lane..].iter().copied();
        let mut spans = spans.take_while(|&at| self.spans[at].lane == lane).peekable();
        let of_lane = self.events.partition_point(|event| event.lane < lane);
        let events = self.events[of_lane..].iter();
        let mut events = events.take_while(|event| event.lane == lane).peekable();
        // The ends of the spans that have begun and not ended yet.
        let mut ends: Vec<u64> = Vec::new();
        loop {
            let end = ends.last().copied();
            let start = spans.peek().map(|&at| self.spans[at].start);
            let event = events.peek().map(|event| event.time);
            // If an event happens at the time of a span's start or end, write it within the span.
            let begins = start.filter(|start| {
                end.is_none_or(|end| *start < end) && event.is_none_or(|event| *start <= event)
            });
            let happens = event.filter(|event| end.is_none_or(|end| *event <= end));
            if begins.is_some() {
                let Some(at) = spans.next() else { break };
                ends.push(self.spans[at].end);
                self.write_span(at, track, packets)?;
            } else if happens.is_some() {
                let Some(event) = events.next() else { break };
                self.write_event(event, track, packets)?;
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

    fn write_span(&self, at: usize, track: u64, packets: &mut Packets<'_>) -> io::Result<()> {
        let shown = &self.spans[at];
        let span = self.span(shown.stored);
        let Some(start) = span.begin() else { return Ok(()) };
        packets.slice_begin(track, shown.start, |to_packet| {
            to_packet.category(start.target);
            to_packet.place(&site(&span));
            to_packet.annotation("level", Value::Str(start.level.name()));
            to_packet.annotation("trace_id", Value::Str(&format!("{:032x}", span.context.trace)));
            to_packet.annotation("span_id", Value::Str(&format!("{:016x}", shown.id)));
            if span.is_unfinished {
                to_packet.annotation("tach.unfinished", Value::Bool(true));
            }
            if span.is_incomplete() {
                to_packet.annotation("tach.incomplete", Value::Bool(true));
            }
            let mut name = Cow::Borrowed(start.name);
            let last = span.last_values();
            for (at, item) in span.items().enumerate() {
                let Part::Part(part) = item else { continue };
                let Some(fields) = part.span_fields() else { continue };
                let visited = fields.visit(&mut |key, value| {
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
            let first = self.arrows.partition_point(|arrow| arrow.from < at);
            for arrow in self.arrows[first..].iter().take_while(|arrow| arrow.from == at) {
                to_packet.arrow_from(arrow.number);
            }
            let first = self.arriving.partition_point(|&arrow| self.arrows[arrow].to < at);
            let arriving = self.arriving[first..].iter().map(|&arrow| self.arrows[arrow]);
            for arrow in arriving.take_while(|arrow| arrow.to == at) {
                to_packet.arrow_to(arrow.number);
            }
        })
    }

    fn write_event(&self, event: &Event, track: u64, packets: &mut Packets<'_>) -> io::Result<()> {
        let Some(record) = Frame::read(event.record) else { return Ok(()) };
        let record = record.redacted(&self.snapshot.redacted);
        packets.instant(track, event.time, |to| {
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

/// Returns the events that methods of a span added to it, which are among its records.
fn added(stored: Stored<'_>) -> impl Iterator<Item = &[u8]> {
    let parts = stored.span(&[]).parts();
    parts.filter(|record| frame::is_part(record, RecordKind::Added))
}

/// Returns the spans in the order of their starts, and the events. They are counted first: a vector
/// that grows takes up to three times as much memory.
fn items(snapshot: &Snapshot) -> (Vec<Shown<'_>>, Vec<Event<'_>>) {
    let (mut count_of_spans, mut count_of_events) = (0, 0);
    for item in snapshot.items() {
        match item {
            Item::Span(stored) => {
                count_of_spans += 1;
                count_of_events += added(stored).count();
            }
            Item::Event(..) => count_of_events += 1,
        }
    }
    let mut spans = Vec::with_capacity(count_of_spans);
    let mut events = Vec::with_capacity(count_of_events);
    let event = |number, time: UnixTime, record| Event {
        lane: THREADLESS,
        time: time.as_nanos(),
        number,
        record,
    };
    for item in snapshot.items() {
        match item {
            Item::Span(stored) => {
                for record in added(stored) {
                    let time = frame::time(record).map(frame::Time::unix_time);
                    events.extend(time.map(|time| event(events.len(), time, record)));
                }
                let span = stored.span(&[]);
                spans.push(Shown {
                    id: span.context.span,
                    parent: span.parent(),
                    start: span.start.as_nanos(),
                    end: if span.is_unfinished { OPEN } else { span.end.as_nanos() },
                    stored,
                    lane: THREADLESS,
                });
            }
            Item::Event(time, record) => events.push(event(events.len(), time, record)),
        }
    }
    // Spans were added when they ended, so children before parents. Parents must come first.
    spans.reverse();
    spans.sort_by_key(|shown| (shown.start, Reverse(shown.end)));
    (spans, events)
}

fn name_thread<'a>(threads: &mut BTreeMap<u64, &'a str>, site: &Site<'a>) {
    if let (Some(id), Some(name)) = (site.thread_id, site.thread_name) {
        threads.entry(id).or_insert(name);
    }
}

/// Returns the place in the program and the thread where a span started.
fn site<'a>(span: &Span<'a>) -> Site<'a> {
    match span.items().next() {
        Some(Part::Part(part)) => part.site(),
        _ => Site::default(),
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;
    use crate::flight::ring::Ring;
    use crate::frame::{Scratch, Time, Writer};
    use crate::ids::SpanContext;
    use crate::level::Level;
    use crate::spans::span::Dropped;

    #[test]
    fn a_span_that_may_lack_parts_has_a_mark() {
        let (mut scratch, time) = (Scratch::new(), Time::Unix(UnixTime::EPOCH));
        let context = SpanContext { trace: 1, span: 1, is_sampled: true };
        Writer::begin_span(&mut scratch, time, Level::INFO, "app", "name", context, 0).end();
        for (has_end, is_more) in [(true, false), (false, false), (true, true)] {
            let mut ring = Ring::new(64 * 1024, Duration::MAX);
            ring.span(&Span {
                context,
                start: UnixTime::EPOCH,
                end: UnixTime::EPOCH,
                is_unfinished: false,
                records: scratch.written(),
                has_values: false,
                has_end,
                is_on_one_thread: true,
                dropped: Dropped { is_more, ..Dropped::default() },
                redacted: &[],
            });
            let mut written = Vec::new();
            write(&Snapshot::new(&ring, UnixTime::EPOCH, Arc::default()), &mut written).unwrap();
            let is_marked = String::from_utf8_lossy(&written).contains("tach.incomplete");
            assert_eq!(is_marked, !has_end || is_more, "{has_end}, {is_more}");
        }
    }
}
