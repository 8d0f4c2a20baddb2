//! The sinks that share a format, and the streams for their filters.

use std::io;
use std::sync::Arc;

use tach_core::UnixTime;

use crate::filter::Levels;
use crate::frame::Frame;
use crate::incident::Reporter;
use crate::level::Level;
use crate::sink::batch::Batch;
use crate::sink::formatter::Formatter;
use crate::sink::stream::Stream;
use crate::sink::unreported::Occasion;
use crate::stats::{Happened, SinkCounts};

/// The sinks that share a format. The format writes each record once for all of them.
pub(super) struct Layout {
    pub(super) formatter: Formatter,
    pub(super) streams: Vec<Stream>,
}

impl Layout {
    /// Returns the layout for a format. If there is none, adds a layout.
    pub(super) fn of(layouts: &mut Vec<Self>, formatter: Formatter) -> &mut Self {
        let known = layouts.iter().position(|layout| layout.formatter.is_same(&formatter));
        let at = known.unwrap_or(layouts.len());
        if known.is_none() {
            layouts.push(Self { formatter, streams: Vec::new() });
        }
        &mut layouts[at]
    }

    /// Returns the stream for a filter. If there is none, adds a stream.
    pub(super) fn stream(&mut self, levels: &Levels, reporter: &Reporter) -> &mut Stream {
        let known = self.streams.iter().position(|stream| stream.levels.is_same(levels));
        let at = known.unwrap_or(self.streams.len());
        if known.is_none() {
            self.streams.push(Stream::new(levels.clone(), reporter.clone()));
        }
        &mut self.streams[at]
    }

    /// Moves each sink to the stream with the sink's present filter.
    pub(super) fn refilter<'a>(
        &mut self,
        levels_of: impl Fn(&Arc<SinkCounts>) -> Option<&'a Levels>,
    ) {
        let Self { formatter, streams } = &mut *self;
        for stream in streams.iter_mut() {
            stream.pass_on_all(formatter, Occasion::Round);
        }
        for at in 0..self.streams.len() {
            let moved = self.streams[at].refilter(&levels_of);
            for (worker, counts, levels) in moved {
                let reporter = worker.reporter().clone();
                let stream = self.stream(levels, &reporter);
                stream.count_for(counts);
                stream.workers.push(worker);
            }
        }
    }

    #[inline]
    pub(super) fn record(&mut self, record: &Frame<'_>, time: UnixTime) {
        let Self { formatter, streams } = self;
        if !formatter.takes_events() {
            return;
        }
        write(streams, formatter, (record.level, record.target), time, |batch| {
            formatter.write(record, time, batch)
        });
    }
}

/// Calls `format` for the first stream whose filter accepts the level and the target, and copies
/// the formatted record to the other streams that accept them.
#[inline]
pub(super) fn write(
    streams: &mut [Stream],
    formatter: &Formatter,
    (level, target): (Level, &str),
    time: UnixTime,
    format: impl Fn(&mut Batch) -> io::Result<()>,
) {
    let happened = Happened { time, level: Some(level) };
    let mut first = None;
    for at in 0..streams.len() {
        let (before, rest) = streams.split_at_mut(at);
        let stream = &mut rest[0];
        if !stream.levels.enabled(level, target) || !stream.make_room(formatter, happened) {
            continue;
        }
        match first {
            Some(first) => {
                let first: &Stream = &before[first];
                stream.batch.add_last_of(&first.batch);
            }
            None => match format(&mut stream.batch) {
                Ok(()) => {
                    if stream.is_not_formatted {
                        stream.formatted_again();
                    }
                    first = Some(at);
                }
                Err(error) => stream.not_formatted(&error, happened),
            },
        }
    }
}
