//! A span that has ended, or is passed on while it is open.

use core::iter;
use std::collections::HashMap;

use tach_core::UnixTime;

use super::status::{Code, Status};
use crate::frame::{self, Frame, Linked, Origin, RecordKind, SpanPart, Start, What};
use crate::ids::SpanContext;

#[cfg(test)]
std::thread_local! {
    /// How many items the thread has read.
    pub(crate) static READ: core::cell::Cell<usize> = const { core::cell::Cell::new(0) };
}

#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is asked for alone")]
pub(crate) struct Span<'a> {
    pub(crate) context: SpanContext,
    pub(crate) start: UnixTime,
    pub(crate) end: UnixTime,
    /// Whether the span is open, and `end` the time at which that was so.
    pub(crate) is_unfinished: bool,
    /// Its records but for the end, with Unix times.
    pub(crate) records: &'a [u8],
    /// Whether values were recorded after the start.
    pub(crate) has_values: bool,
    /// Whether its end was recorded. Otherwise `end` is not when it ended.
    pub(crate) has_end: bool,
    /// Whether it ended on the thread on which it started, as far as is known.
    pub(crate) is_on_one_thread: bool,
    pub(crate) dropped: Dropped,
    /// The keys whose values are not shown.
    pub(crate) redacted: &'a [String],
}

/// How much a span has no room for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Dropped {
    pub(crate) attributes: u32,
    pub(crate) events: u32,
    pub(crate) links: u32,
    /// Whether one of the events is an error, which sets the status.
    pub(crate) has_error: bool,
}

impl Dropped {
    /// Counts an event.
    pub(crate) fn event(&mut self, record: &[u8]) {
        let mut status = Status::default();
        status.event_record(record);
        self.has_error |= status.code == Code::Error;
        self.events = self.events.saturating_add(1);
    }
}

/// What a span consists of, in the order in which it was recorded.
#[derive(Debug)]
pub(crate) enum Item<'a> {
    Part(SpanPart<'a>),
    Event(Frame<'a>, UnixTime),
}

/// The number of the item that has the last value of a key. It is empty if no value was recorded
/// after the start.
#[derive(Debug)]
pub(crate) struct LastValues<'a>(HashMap<&'a str, usize>);

impl LastValues<'_> {
    /// Returns whether an item after the item `at` has a value for the key.
    pub(crate) fn is_recorded_again(&self, at: usize, key: &str) -> bool {
        self.0.get(key).is_some_and(|&last| last > at)
    }
}

impl<'a> Span<'a> {
    /// Returns how the span began.
    pub(crate) fn begin(&self) -> Option<Start<'a>> {
        match SpanPart::read(frame::split(self.records)?.0)?.what {
            What::Start(start) => Some(start),
            _ => None,
        }
    }

    /// Returns the id of the pipeline's span that contains the span in its trace, or zero.
    pub(crate) fn parent(&self) -> u64 {
        let at_start = self.begin().map_or(0, |start| start.parent);
        match self.set_parent() {
            Some(Linked { context, origin: Origin::Own }) => context.span,
            Some(Linked { origin: Origin::Remote, .. }) => 0,
            // Within a span of the pipeline, if it is of the same trace.
            Some(Linked { context, .. }) if self.began_in() != Some(context.trace) => 0,
            _ => at_start,
        }
    }

    /// Returns the parent that took the place of the one at the start.
    fn set_parent(&self) -> Option<Linked> {
        let parts = self.records().filter(|record| frame::is_part(record, RecordKind::Parent));
        parts.last().and_then(SpanPart::read).and_then(|part| match part.what {
            What::Parent(parent) => Some(parent),
            _ => None,
        })
    }

    /// Returns the trace that the span started in.
    fn began_in(&self) -> Option<u128> {
        Some(SpanPart::read(frame::split(self.records)?.0)?.context.trace)
    }

    /// Returns the start, the recorded values, the links and the events.
    pub(crate) fn items(&self) -> impl Iterator<Item = Item<'a>> + use<'a> {
        let redacted = self.redacted;
        self.records().filter_map(move |record| {
            #[cfg(test)]
            READ.set(READ.get() + 1);
            if frame::is_of_span(record) && !frame::is_part(record, RecordKind::Added) {
                return SpanPart::read(record).map(|part| Item::Part(part.redacted(redacted)));
            }
            let time = frame::time(record)?.unix_time();
            Some(Item::Event(Frame::read(record)?.redacted(redacted), time))
        })
    }

    /// Returns the records but for the events that sinks of events take too.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.records().filter(|record| frame::is_of_span(record))
    }

    /// Returns which item has the last value of each key.
    pub(crate) fn last_values(&self) -> LastValues<'a> {
        let mut last = HashMap::new();
        if self.has_values {
            for (at, item) in self.items().enumerate() {
                let Item::Part(part) = item else { continue };
                // The fields of a link are the link's.
                if !matches!(part.what, What::Link(_)) {
                    last.extend(part.fields.parts().map(|(key, _)| (key, at)));
                }
            }
        }
        LastValues(last)
    }

    /// Returns the records of the parts and events.
    pub(super) fn records(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut rest = self.records;
        iter::from_fn(move || {
            let (record, after) = frame::split(rest)?;
            rest = after;
            Some(record)
        })
    }
}
