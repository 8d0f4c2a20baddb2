//! Passes spans and their durations to the sinks that take them.

use core::time::Duration;
use std::io;

use tach_core::UnixTime;

use super::Sinks;
use crate::durations::Collected;
use crate::filter::{Levels, OWN_TARGET};
use crate::level::Level;
use crate::sink::batch::Batch;
use crate::sink::content::signals::{WriteDurations, WriteSpans, WriteTraces};
use crate::sink::stream::Stream;
use crate::spans::span::Span;
use crate::stats::Happened;

impl Sinks {
    /// Returns the largest number of events per span that any sink takes, or `None` if no sink
    /// takes spans.
    pub(crate) fn most_events(&self) -> Option<u32> {
        let contents = || self.streams.iter().map(|stream| &stream.formatter.content);
        let spans = contents().filter_map(|content| content.spans().map(WriteSpans::most_events));
        let traces =
            contents().filter_map(|content| content.traces().map(WriteTraces::most_events));
        spans.chain(traces).max()
    }

    /// Adds a span that has ended.
    pub(crate) fn span(&mut self, span: &Span<'_>) {
        for stream in &mut self.streams {
            stream.span(span);
            stream.traces(span.end, |content, levels| content.add(span, levels));
        }
        self.pass_on_if_full();
    }

    /// Writes what waits for the end of its trace, since no further spans come.
    pub(crate) fn finish_traces(&mut self, now: UnixTime) {
        for stream in &mut self.streams {
            stream.traces(now, |content, _| content.rest());
        }
    }

    /// Returns the shortest period at which a sink takes the durations of spans, or `None` if no
    /// sink takes durations.
    pub(crate) fn period(&self) -> Option<Duration> {
        let each = self.streams.iter().filter_map(|stream| stream.formatter.content.durations());
        each.map(WriteDurations::period).min()
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
            let Some(content) = stream.formatter.content.durations() else { continue };
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
        if self.formatter.content.spans().is_none() {
            return;
        }
        let (start, _) = &span.first;
        let happened = Happened { time: span.end, level: Some(start.level) };
        if !self.levels.enabled(start.level, start.target) || !self.make_room(happened) {
            return;
        }
        let Self { formatter, batch, levels, .. } = self;
        let Some(content) = formatter.content.spans() else { return };
        // The sink's filter applies to the events within the span too.
        let added = add(batch, happened, |bytes| content.write(bytes, span, levels));
        self.formatted(added, happened);
    }

    /// Adds what `text` returns, if it is not empty.
    fn traces(&mut self, time: UnixTime, text: impl Fn(&dyn WriteTraces, &Levels) -> String) {
        let Some(content) = self.formatter.content.traces() else { return };
        let happened = Happened { time, level: None };
        let text = text(content, &self.levels);
        if text.is_empty() || !self.make_room(happened) {
            return;
        }
        let added = add(&mut self.batch, happened, |to| to.extend_from_slice(text.as_bytes()));
        self.formatted(added, happened);
    }

    /// Adds the durations, unless the filter lets nothing pass.
    fn durations(&mut self, durations: &Collected, now: UnixTime) {
        let happened = Happened { time: now, level: None };
        let error = Level::of(log::Level::Error);
        if !self.levels.enabled(error, OWN_TARGET) || !self.make_room(happened) {
            return;
        }
        let Self { formatter, batch, .. } = self;
        let Some(content) = formatter.content.durations() else { return };
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
