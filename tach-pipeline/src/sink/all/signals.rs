//! Passes spans and their durations to the sinks that take them.

use core::time::Duration;
use std::io;

use tach_core::UnixTime;

use super::Sinks;
use super::{Layout, write};
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
        let contents = || self.layouts.iter().map(|layout| &layout.formatter.content);
        let spans = contents().filter_map(|content| content.spans().map(WriteSpans::most_events));
        let traces =
            contents().filter_map(|content| content.traces().map(WriteTraces::most_events));
        spans.chain(traces).max()
    }

    /// Adds a span that has ended.
    pub(crate) fn span(&mut self, span: &Span<'_>) {
        for layout in &mut self.layouts {
            layout.span(span);
            layout.traces(span.end, |content, levels| content.add(span, levels));
        }
    }

    /// Writes what waits for the end of its trace, since no further spans come.
    pub(crate) fn finish_traces(&mut self, now: UnixTime) {
        for layout in &mut self.layouts {
            layout.traces(now, |content, _| content.rest());
        }
    }

    /// Returns the shortest period at which a sink takes the durations of spans, or `None` if no
    /// sink takes durations.
    pub(crate) fn period(&self) -> Option<Duration> {
        let each = self.layouts.iter().filter_map(|layout| layout.formatter.content.durations());
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
        for Layout { formatter, streams } in &mut self.layouts {
            let Some(content) = formatter.content.durations() else { continue };
            let is_delta = content.is_delta();
            if is_delta && !has_new {
                continue;
            }
            ends_period |= is_delta;
            // Durations are written as errors: a filter that lets anything pass lets errors pass.
            let level = Level::of(log::Level::Error);
            write(streams, formatter, (level, OWN_TARGET), now, |batch| {
                add(batch, Happened { time: now, level: None }, |bytes| {
                    content.write(bytes, durations, now);
                })
            });
        }
        ends_period
    }
}

impl Layout {
    fn span(&mut self, span: &Span<'_>) {
        let Self { formatter, streams } = self;
        let Some(content) = formatter.content.spans() else { return };
        let Some(first) = span.first() else { return };
        let (start, _) = &first;
        let happened = Happened { time: span.end, level: Some(start.level) };
        // Each stream has a filter of its own, which applies to the events within the span too.
        for stream in streams {
            if !stream.levels.enabled(start.level, start.target)
                || !stream.make_room(formatter, happened)
            {
                continue;
            }
            let Stream { batch, levels, .. } = stream;
            let added = add(batch, happened, |bytes| {
                content.write(bytes, span, &first, levels);
            });
            if let Err(error) = added {
                stream.not_formatted(&error, happened);
            }
        }
    }
}

impl Layout {
    /// Adds what `text` returns, if it is not empty.
    fn traces(&mut self, time: UnixTime, text: impl Fn(&dyn WriteTraces, &Levels) -> String) {
        let Self { formatter, streams } = self;
        let Some(content) = formatter.content.traces() else { return };
        let happened = Happened { time, level: None };
        for stream in streams {
            let text = text(content, &stream.levels);
            if text.is_empty() || !stream.make_room(formatter, happened) {
                continue;
            }
            let added =
                add(&mut stream.batch, happened, |to| to.extend_from_slice(text.as_bytes()));
            if let Err(error) = added {
                stream.not_formatted(&error, happened);
            }
        }
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
