//! A format at work, and whether two are the same.

use core::any::Any;
use std::io;
use std::sync::Arc;

use tach_core::UnixTime;
use tach_log::adapter::{self, Parts};
use tach_log::{Format, Json, Line, Logfmt};

use super::Journal;
use super::batch::Batch;
use super::cut::Cut;
use crate::durations::{Collected, Temporality};
use crate::filter::Levels;
use crate::frame::{Frame, Start};
use crate::queue::Dropped;
use crate::report;
use crate::trace::span::Span;
use tach_otlp::adapter::SpanLimits;

/// A format whose type can be found out.
pub(super) trait AnyFormat: Format + Send {
    fn as_any(&self) -> &dyn Any;
}

impl<F: Format + Send + 'static> AnyFormat for F {
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// What a sink takes.
pub(super) enum Content {
    Events(Box<dyn AnyFormat>),
    /// Spans that have ended, appended by this function.
    Spans(WriteSpan, SpanLimits),
    /// The durations of all spans, appended by this function.
    Durations(WriteDurations, Temporality),
}

impl Content {
    fn is_of_events(&self) -> bool {
        matches!(self, Self::Events(_))
    }

    /// Returns whether both are written alike. `false` only costs time.
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Events(one), Self::Events(other)) => is_same(&**one, &**other),
            (Self::Spans(_, one), Self::Spans(_, other)) => one == other,
            (Self::Durations(_, one), Self::Durations(_, other)) => one == other,
            _ => false,
        }
    }
}

pub(super) type WriteSpan = fn(&mut Vec<u8>, &Span<'_>, &Start<'_>, &SpanLimits);

pub(super) type WriteDurations = fn(&mut Vec<u8>, &Collected, Temporality, UnixTime);

pub(super) struct Formatter {
    pub(super) content: Content,
    pub(super) is_colored: bool,
    /// The most bytes of a record.
    pub(super) most: usize,
}

impl Formatter {
    /// Returns whether both write each event alike. `false` only costs time.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.is_colored == other.is_colored && self.content.is_same(&other.content)
    }

    #[inline]
    pub(super) fn takes_events(&self) -> bool {
        self.content.is_of_events()
    }

    pub(super) fn takes_spans(&self) -> bool {
        matches!(self.content, Content::Spans(..))
    }

    /// Adds a span that has ended.
    ///
    /// # Errors
    ///
    /// If a format panics.
    pub(super) fn write_span(
        &self,
        span: &Span<'_>,
        start: &Start<'_>,
        to: &mut Batch,
    ) -> io::Result<()> {
        let Content::Spans(write, limits) = &self.content else { return Ok(()) };
        to.add(span.end, |bytes| {
            write(bytes, span, start, limits);
            Ok(())
        })
    }

    /// Adds the durations of spans until `now`.
    ///
    /// # Errors
    ///
    /// If a format panics.
    pub(super) fn write_durations(
        &self,
        durations: &Collected,
        now: UnixTime,
        to: &mut Batch,
    ) -> io::Result<()> {
        let Content::Durations(write, temporality) = self.content else { return Ok(()) };
        to.add(now, |bytes| {
            write(bytes, durations, temporality, now);
            Ok(())
        })
    }

    /// Returns the time of the durations that are written, if they are.
    pub(super) fn temporality(&self) -> Option<Temporality> {
        match self.content {
            Content::Durations(_, temporality) => Some(temporality),
            Content::Events(_) | Content::Spans(..) => None,
        }
    }

    /// Adds a record, which happened at `time`.
    ///
    /// # Errors
    ///
    /// If the format fails or panics.
    #[inline]
    pub(super) fn write(
        &self,
        record: &Frame<'_>,
        time: UnixTime,
        to: &mut Batch,
    ) -> io::Result<()> {
        if record.bytes.len() > self.most {
            return self.write_cut(record, time, to);
        }
        self.write_parts(self.parts(record, time), to)
    }

    /// Adds the part of a record that it may have.
    #[cold]
    fn write_cut(&self, record: &Frame<'_>, time: UnixTime, to: &mut Batch) -> io::Result<()> {
        let cut = Cut::new(record.message, &record.fields, self.most);
        let line = if record.is_line { cut.line() } else { String::new() };
        let message = if record.is_line { &line } else { cut.message() };
        self.write_parts(Parts { message, fields: &cut, ..self.parts(record, time) }, to)
    }

    #[inline]
    fn write_parts(&self, parts: Parts<'_>, to: &mut Batch) -> io::Result<()> {
        let event = adapter::event(parts);
        match &self.content {
            Content::Events(format) => to.add(event.time(), |bytes| format.write(&event, bytes)),
            // A collector of spans or metrics takes no counts of dropped ones.
            Content::Spans(..) | Content::Durations(..) => Ok(()),
        }
    }

    #[inline]
    fn parts<'a>(&self, record: &'a Frame<'_>, time: UnixTime) -> Parts<'a> {
        record.parts(time, self.is_colored)
    }

    /// Adds a record of how many records a sink with these levels dropped.
    ///
    /// # Errors
    ///
    /// If the format fails or panics.
    pub(super) fn write_dropped(
        &self,
        dropped: &Dropped,
        levels: &Levels,
        to: &mut Batch,
    ) -> io::Result<()> {
        // Between the times of the events around it.
        let time = dropped.to;
        let bytes = report::dropped(dropped, time, "records dropped while the sink failed");
        match Frame::read(&bytes) {
            Some(record) if levels.enabled(record.level, record.target) => {
                self.write(&record, time, to)
            }
            _ => Ok(()),
        }
    }
}

fn is_same(one: &dyn AnyFormat, other: &dyn AnyFormat) -> bool {
    /// A format that a program shares between sinks.
    type Shared = Arc<dyn Format + Send + Sync>;

    let (size, one, other) = (size_of_val(one), one.as_any(), other.as_any());
    if one.type_id() != other.type_id() {
        return false;
    }
    // Without a value there is no option that differs.
    size == 0
        || is_equal::<Json>(one, other)
        || is_equal::<Line>(one, other)
        || is_equal::<Logfmt>(one, other)
        || is_equal::<Journal>(one, other)
        || is_records(one, other)
        || both::<Shared>(one, other).is_some_and(|(one, other)| Arc::ptr_eq(one, other))
}

#[cfg(feature = "otlp")]
fn is_records(one: &dyn Any, other: &dyn Any) -> bool {
    is_equal::<tach_otlp::encode::LogRecords>(one, other)
}

#[cfg(not(feature = "otlp"))]
fn is_records(_: &dyn Any, _: &dyn Any) -> bool {
    false
}

fn is_equal<F: PartialEq + 'static>(one: &dyn Any, other: &dyn Any) -> bool {
    both::<F>(one, other).is_some_and(|(one, other)| one == other)
}

fn both<'a, F: 'static>(one: &'a dyn Any, other: &'a dyn Any) -> Option<(&'a F, &'a F)> {
    one.downcast_ref().zip(other.downcast_ref())
}

#[cfg(test)]
mod tests {
    use tach_log::Event;

    use super::*;

    #[derive(Clone)]
    struct Own(u8);

    impl Format for Own {
        fn write(&self, _: &Event<'_>, to: &mut Vec<u8>) -> io::Result<()> {
            to.push(self.0);
            Ok(())
        }
    }

    fn formatter(format: impl Format + Send + 'static, is_colored: bool) -> Formatter {
        let content = Content::Events(Box::new(format));
        Formatter { content, is_colored, most: usize::MAX }
    }

    #[test]
    fn spans_are_the_same_within_the_same_limits() {
        let formatter = |limits| {
            let content = Content::Spans(|_, _, _, _| (), limits);
            Formatter { content, is_colored: false, most: usize::MAX }
        };
        let limits = SpanLimits::default();
        assert!(formatter(limits).is_same(&formatter(limits)));
        let others = SpanLimits { events: 3, ..limits };
        assert!(!formatter(limits).is_same(&formatter(others)));
    }

    #[test]
    fn formats_are_the_same_if_they_are_equal_or_shared() {
        let shared: Arc<dyn Format + Send + Sync> = Arc::new(Own(1));
        let all = || {
            [
                formatter(Json::new(), false),
                formatter(Line::new(), false),
                formatter(Line::new(), true),
                formatter(Logfmt::new(), false),
                formatter(Journal::new(), false),
                formatter(Arc::clone(&shared), false),
            ]
        };
        for (i, one) in all().iter().enumerate() {
            for (j, other) in all().iter().enumerate() {
                assert_eq!(one.is_same(other), i == j, "{i} {j}");
            }
        }
        // Nothing is known of their contents.
        assert!(!formatter(Own(1), false).is_same(&formatter(Own(1), false)));
        let other: Arc<dyn Format + Send + Sync> = Arc::new(Own(1));
        assert!(!formatter(shared, false).is_same(&formatter(other, false)));
    }
}
