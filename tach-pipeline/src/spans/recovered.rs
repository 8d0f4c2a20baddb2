//! Assembles the spans of a process that has ended.

use tach_core::UnixTime;

use super::kept::Kept;
use super::open::Spans;
use super::span::Span;
use super::standing::Standing;
use crate::frame::{self, Frame, Time};
use crate::queue::QueueId;

/// Any number of events: the process has kept the bounds.
const EVENTS: u32 = u32::MAX;

/// The spans of a process, from copies of their records.
pub(crate) struct Recovered(Spans);

/// A span with its records.
#[derive(Clone)]
pub(crate) struct OwnSpan {
    kept: Kept,
    records: Vec<u8>,
}

impl OwnSpan {
    fn new(span: &Span<'_>) -> Self {
        let records = span.records.to_owned();
        Self { kept: Kept::at(span, 0..records.len()), records }
    }

    /// Returns the span, with the values of the keys `redacted` hidden.
    pub(crate) fn span<'a>(&'a self, redacted: &'a [String]) -> Span<'a> {
        self.kept.span(&self.records, redacted)
    }
}

impl Recovered {
    pub(crate) fn new() -> Self {
        Self(Spans::new(Vec::new(), EVENTS, true))
    }

    /// Adds a span in that state, with its records.
    pub(crate) fn span(&mut self, standing: &Standing, records: &[Vec<u8>]) {
        self.0.restore(standing, records);
    }

    /// Adds an event or a part of a span that the thread with a number has recorded.
    pub(crate) fn record(&mut self, record: &[u8], thread: u64) {
        let time = frame::time(record).map_or(UnixTime::EPOCH, Time::unix_time);
        if frame::is_of_span(record) {
            self.0.part(record, time, QueueId(usize::try_from(thread).unwrap_or(usize::MAX)));
        } else if let Some(event) = Frame::read(record) {
            self.0.event(&event, time);
        }
    }

    /// Returns the spans in the order of their starts. Those that are open at the `last` moment of
    /// the process are unfinished. Without such a moment, they are left out.
    pub(crate) fn finish(mut self, last: Option<UnixTime>) -> Vec<OwnSpan> {
        let mut all = Vec::new();
        let mut add = |span: &Span<'_>| {
            if span.context.is_sampled {
                all.push(OwnSpan::new(span));
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
