//! Assembles the spans of a process that has ended.

use tach_core::UnixTime;

use super::standing::{End, Standing};
use crate::frame::{self, Frame, SpanPart, Time};
use crate::queue::QueueId;
use crate::spans::kept::{Kept, OwnSpan};
use crate::spans::open::{Ending, Spans};
use crate::spans::span::Span;

/// The queue of a thread that is not known.
const UNKNOWN: QueueId = QueueId(usize::MAX);
/// Any number of events: the process has kept the bounds.
const EVENTS: u32 = u32::MAX;

/// The spans of a process, from copies of their records.
pub(super) struct Recovered(Spans);

impl Recovered {
    pub(super) fn new() -> Self {
        Self(Spans::new(Vec::new(), EVENTS, true))
    }

    /// Adds a span in that state, with copies of its records.
    pub(super) fn span(&mut self, standing: &Standing, records: &[Vec<u8>]) {
        let Self(spans) = self;
        let Some(start) = records.first().and_then(|start| SpanPart::read(start)) else { return };
        let span = start.context.span;
        let thread = start.site().thread_id.and_then(|id| usize::try_from(id).ok());
        let queue = thread.map_or(UNKNOWN, QueueId);
        for record in records {
            add(spans, record, queue);
        }
        let Some(open) = spans.open.get_mut(&span) else { return };
        open.dropped = standing.dropped;
        open.is_passed_on = standing.is_passed_on;
        if let Some(End { time: end, is_recorded, is_on_one_thread }) = standing.end {
            let of_end = if is_on_one_thread { queue } else { UNKNOWN };
            let queue = is_recorded.then_some(of_end);
            open.ended = Some((end, queue));
            spans.ending.push(Ending { span, end, queue });
        }
    }

    /// Adds an event or a part of a span that the thread with a number has recorded.
    pub(super) fn record(&mut self, record: &[u8], thread: u64) {
        add(&mut self.0, record, QueueId(usize::try_from(thread).unwrap_or(usize::MAX)));
    }

    /// Returns the spans in the order of their starts. Those that are open at the `last` moment of
    /// the process are unfinished. Without such a moment, they are left out.
    pub(super) fn finish(mut self, last: Option<UnixTime>) -> Vec<OwnSpan> {
        let mut all = Vec::new();
        let mut add = |span: &Span<'_>| {
            if span.context.is_sampled {
                let records = span.records.to_owned();
                all.push(OwnSpan { kept: Kept::at(span, 0..records.len()), records });
            }
        };
        self.0.finish(&mut add);
        if let Some(last) = last {
            self.0.unfinished(Time::Unix(last), last, &mut add);
        }
        all.sort_by_key(|own| {
            let span = own.span(&[]);
            (span.start, span.context.span)
        });
        all
    }
}

fn add(spans: &mut Spans, record: &[u8], queue: QueueId) {
    let time = frame::time(record).map_or(UnixTime::EPOCH, Time::unix_time);
    if frame::is_of_span(record) {
        spans.part(record, time, queue);
    } else if let Some(event) = Frame::read(record) {
        spans.event(&event, time);
    }
}
