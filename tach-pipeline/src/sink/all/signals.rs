//! Passes spans and their durations to the sinks that take them.

use core::time::Duration;
use std::io;

use tach_core::UnixTime;

use super::Sinks;
use crate::durations::Collected;
use crate::filter::OWN_TARGET;
use crate::level::Level;
use crate::sink::batch::Batch;
use crate::sink::content::of_spans::OfSpans;
use crate::sink::stream::Stream;
use crate::spans::span::{MOST_EVENTS, Span};
use crate::stats::Happened;

impl Sinks {
    /// Returns the largest number of events per span that any sink takes, or `None` if no sink
    /// takes spans.
    pub(crate) fn most_events(&self) -> Option<u32> {
        let each = self.of_spans().filter_map(|content| match content {
            OfSpans::Each(spans) => Some(spans.most_events()),
            OfSpans::Traces(_) => Some(MOST_EVENTS),
            OfSpans::Durations(_) => None,
        });
        each.max()
    }

    fn of_spans(&self) -> impl Iterator<Item = &OfSpans> {
        self.streams.iter().filter_map(|stream| stream.formatter.content.of_spans.as_ref())
    }

    /// Adds a span that has ended.
    pub(crate) fn span(&mut self, span: &Span<'_>) {
        for stream in &mut self.streams {
            match &mut stream.formatter.content.of_spans {
                Some(OfSpans::Each(_)) => stream.span(span),
                Some(OfSpans::Traces(trees)) => {
                    let accepts = |level, target: &str| stream.levels.enabled(level, target);
                    let text = trees.add(span, &accepts);
                    stream.trace(&text, span.end);
                }
                Some(OfSpans::Durations(_)) | None => {}
            }
        }
        self.pass_on_if_full();
    }

    /// Writes what waits for the end of its trace, since no further spans come.
    pub(crate) fn finish_traces(&mut self, now: UnixTime) {
        for stream in &mut self.streams {
            if let Some(OfSpans::Traces(trees)) = &mut stream.formatter.content.of_spans {
                let text = trees.take_all();
                stream.trace(&text, now);
            }
        }
    }

    /// Returns the shortest period at which a sink takes the durations of spans, or `None` if no
    /// sink takes durations.
    pub(crate) fn period(&self) -> Option<Duration> {
        let each = self.of_spans().filter_map(|content| match content {
            OfSpans::Durations(durations) => Some(durations.period()),
            _ => None,
        });
        each.min()
    }

    /// Adds the durations of the spans that ended until `now`. Returns `true` if some sink took
    /// the durations with delta temporality, so that a new period begins. `has_new` is whether a
    /// span ended since the last call.
    pub(crate) fn durations(
        &mut self,
        durations: &Collected,
        has_new: bool,
        now: UnixTime,
    ) -> bool {
        let mut ends_period = false;
        for stream in &mut self.streams {
            let content = &stream.formatter.content.of_spans;
            let Some(OfSpans::Durations(content)) = content else { continue };
            let is_delta = content.is_delta();
            if !is_delta || has_new {
                ends_period |= is_delta;
                stream.durations(durations, now);
            }
        }
        ends_period
    }
}

impl Stream {
    fn span(&mut self, span: &Span<'_>) {
        let (start, _) = &span.first;
        let happened = Happened { time: span.end, level: Some(start.level) };
        if !self.levels.enabled(start.level, start.target) || !self.make_room(happened) {
            return;
        }
        let Self { formatter, batch, levels, .. } = self;
        let Some(OfSpans::Each(content)) = &formatter.content.of_spans else { return };
        // The sink's filter applies to the events within the span too.
        let added = add(batch, happened, |bytes| content.write(bytes, span, levels));
        self.formatted(added, happened);
    }

    /// Adds the text of a trace, if it is not empty.
    fn trace(&mut self, text: &str, time: UnixTime) {
        let happened = Happened { time, level: None };
        if !text.is_empty() && self.make_room(happened) {
            let added = add(&mut self.batch, happened, |to| to.extend_from_slice(text.as_bytes()));
            self.formatted(added, happened);
        }
    }

    /// Adds the durations, unless the filter lets nothing pass.
    fn durations(&mut self, durations: &Collected, now: UnixTime) {
        let happened = Happened { time: now, level: None };
        let error = Level::of(log::Level::Error);
        if !self.levels.enabled(error, OWN_TARGET) || !self.make_room(happened) {
            return;
        }
        let Self { formatter, batch, .. } = self;
        let Some(OfSpans::Durations(content)) = &formatter.content.of_spans else { return };
        let added = add(batch, happened, |bytes| content.write(bytes, durations, now));
        self.formatted(added, happened);
    }
}

/// Adds to the batch the bytes that `append` writes.
///
/// # Errors
///
/// If `append` panics.
fn add(batch: &mut Batch, happened: Happened, append: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
    let Happened { time, level } = happened;
    batch.add((time, level), |bytes| {
        append(bytes);
        Ok(())
    })
}
