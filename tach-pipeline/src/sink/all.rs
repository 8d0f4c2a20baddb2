//! All sinks of a pipeline.

use core::time::Duration;
use std::io;
use std::sync::Arc;

use log::LevelFilter;
use tach_core::UnixTime;

use super::Sink;
use super::batch::Batch;
use super::formatter::{Content, Formatter};
use super::output::Output;
use super::stream::{Stream, Writers};
use super::target::Writer;
use super::worker::{Plan, Worker};
use crate::durations::{Collected, Temporality};
use crate::error::Error;
use crate::filter::{Levels, OWN_TARGET};
use crate::frame::{Frame, Wanted};
use crate::incident::{Incident, Reporter};
use crate::level::Level;
use crate::queue::Dropped;
use crate::report;
use crate::shared::Shared;
use crate::stats::{Counts, SinkCounts};
use crate::trace::span::Span;
use tach_otlp::adapter::SpanLimits;

/// Sinks that are open.
pub(crate) struct Opened(Vec<OpenSink>);

struct OpenSink {
    writer: Writer,
    formatter: Formatter,
    levels: Levels,
    max_wait: Duration,
    buffer_bytes: usize,
    period: Option<Duration>,
    counts: Arc<SinkCounts>,
}

impl Opened {
    /// Returns what the formats ask for.
    pub(crate) fn wanted(&self) -> Wanted {
        let mut wanted = Wanted::default();
        for sink in &self.0 {
            match &sink.formatter.content {
                Content::Events(format) => wanted.add(&**format),
                Content::Spans(..) => wanted.add_spans(),
                Content::Durations(..) => wanted.durations = true,
            }
        }
        wanted
    }

    /// Opens the sinks. `max_wait` is for those that set none, and a record has at most `most`
    /// bytes.
    ///
    /// # Errors
    ///
    /// If a sink's filter can't be parsed, or its file can't be opened.
    pub(crate) fn new(sinks: Vec<Sink>, max_wait: Duration, most: usize) -> Result<Self, Error> {
        let open = |sink: Sink| {
            let (levels, name) = (sink.filter?, sink.target.name());
            let writer = sink.target.open()?;
            Ok(OpenSink {
                levels,
                counts: Arc::new(SinkCounts::new(name, writer.is_remote())),
                writer,
                formatter: Formatter { content: sink.content, is_colored: sink.is_colored, most },
                max_wait: sink.max_wait.unwrap_or(max_wait),
                buffer_bytes: sink.buffer_bytes,
                period: sink.period,
            })
        };
        sinks.into_iter().map(open).collect::<Result<_, _>>().map(Self)
    }

    /// Returns the most verbose level of all sinks.
    pub(crate) fn most(&self) -> LevelFilter {
        self.0.iter().map(|sink| sink.levels.most()).max().unwrap_or(LevelFilter::Off)
    }

    pub(crate) fn counts(&self) -> Counts {
        let sinks = self.0.iter().map(|sink| Arc::clone(&sink.counts)).collect();
        Counts { sinks, ..Counts::default() }
    }
}

/// The sinks at work.
pub(crate) struct Sinks {
    layouts: Vec<Layout>,
    reporter: Reporter,
    shared: Arc<Shared>,
    /// Records that are yet to be counted.
    queued: u64,
    /// The shortest period of a sink that takes durations.
    period: Option<Duration>,
}

/// The sinks of one format, which writes each record once for all of them.
struct Layout {
    formatter: Formatter,
    streams: Vec<Stream>,
}

impl Sinks {
    /// Starts the threads for several sinks. One alone needs none.
    ///
    /// # Errors
    ///
    /// If a thread can't be started.
    pub(crate) fn start(
        opened: Opened,
        reporter: Reporter,
        shared: &Arc<Shared>,
    ) -> Result<Self, Error> {
        let mut layouts = Vec::new();
        let period = opened.0.iter().filter_map(|sink| sink.period).min();
        let is_alone = opened.0.len() == 1 && !opened.0[0].writer.is_remote();
        for (index, sink) in opened.0.into_iter().enumerate() {
            let OpenSink { writer, formatter, levels, max_wait, buffer_bytes, counts, .. } = sink;
            let reporter = reporter.of_sink(&counts.name);
            let output = Output::new(writer, buffer_bytes, Arc::clone(&counts), reporter.clone());
            let stream = Layout::of(&mut layouts, formatter).stream(levels, &reporter);
            stream.count_for(Arc::clone(&counts));
            match &mut stream.writers {
                writers if is_alone => *writers = Writers::Here(output),
                Writers::Threads(workers) => {
                    let plan = Plan { output, max_wait, counts, reporter, index };
                    workers.push(Worker::start(plan, shared).map_err(Error::thread)?);
                }
                Writers::Here(_) => {}
            }
        }
        Ok(Self { layouts, reporter, shared: Arc::clone(shared), queued: 0, period })
    }

    /// Returns the most events that a sink takes of a span.
    pub(crate) fn most_events(&self) -> u32 {
        let each = self.layouts.iter().filter_map(|layout| match &layout.formatter.content {
            Content::Spans(_, limits) => Some(limits.events),
            Content::Events(_) | Content::Durations(..) => None,
        });
        each.max().unwrap_or(SpanLimits::default().events)
    }

    /// Adds a record, which happened at `time`.
    #[inline]
    pub(crate) fn record(&mut self, record: &Frame<'_>, time: UnixTime) {
        self.queued += 1;
        self.layouts.iter_mut().for_each(|layout| layout.record(record, time));
    }

    /// Adds a span that has ended.
    pub(crate) fn span(&mut self, span: &Span<'_>) {
        self.layouts.iter_mut().for_each(|layout| layout.span(span));
    }

    /// Returns how often a sink takes the durations of spans, if one does.
    pub(crate) fn period(&self) -> Option<Duration> {
        self.period
    }

    /// Adds the durations of spans until `now`. Returns whether that ends a period for a sink.
    pub(crate) fn durations(&mut self, durations: &Collected, now: UnixTime) -> bool {
        let mut ends_period = false;
        for Layout { formatter, streams } in &mut self.layouts {
            let Some(temporality) = formatter.temporality() else { continue };
            ends_period |= temporality == Temporality::Delta;
            // No level is below this one.
            let level = Level::of(log::Level::Error);
            write(streams, formatter, (level, OWN_TARGET), now, |batch| {
                formatter.write_durations(durations, now, batch)
            });
        }
        ends_period
    }

    /// Counts and reports the records that a queue dropped.
    #[cold]
    pub(crate) fn queue_dropped(&mut self, dropped: &Dropped, now: UnixTime) {
        let count = dropped.count;
        self.shared.counts.dropped.add(count);
        self.reporter.report(&Incident::Dropped { sink: None, count });
        let bytes = report::dropped(dropped, now, "records dropped");
        if let Some(record) = Frame::read(&bytes) {
            self.layouts.iter_mut().for_each(|layout| layout.record(&record, now));
        }
    }

    /// Adds a record of how many spans or durations each sink dropped, if one did.
    fn report_dropped_spans(&mut self, is_asked: bool) {
        let mut reports = Vec::new();
        for Layout { formatter, streams } in &mut self.layouts {
            let what = match formatter.content {
                Content::Events(_) => continue,
                Content::Spans(..) => "spans",
                Content::Durations(..) => "durations",
            };
            for stream in streams {
                stream.take_dropped(is_asked, |sink, dropped| {
                    let message = format!("{what} dropped while {sink} failed");
                    reports.push((dropped.to, report::dropped(dropped, dropped.to, &message)));
                });
            }
        }
        for (time, bytes) in reports {
            if let Some(record) = Frame::read(&bytes) {
                self.layouts.iter_mut().for_each(|layout| layout.record(&record, time));
            }
        }
    }

    /// Writes the records, or passes them to the threads that do. Then opens the files again if
    /// `reopens`.
    pub(crate) fn write(&mut self, reopens: bool) {
        self.count();
        self.report_dropped_spans(false);
        for Layout { formatter, streams } in &mut self.layouts {
            for stream in streams {
                stream.pass_on(formatter);
                if reopens {
                    stream.reopen();
                }
            }
        }
    }

    fn count(&mut self) {
        self.shared.counts.queued.add(core::mem::take(&mut self.queued));
    }

    /// Writes everything, flushes the writers and then opens the files again if `reopens`. Reports
    /// the request to flush with that number as done, or has the threads do so.
    pub(crate) fn flush(&mut self, number: u64, reopens: bool) {
        self.count();
        self.report_dropped_spans(true);
        for Layout { formatter, streams } in &mut self.layouts {
            for stream in streams {
                stream.pass_on_all(formatter);
                let done = stream.flush_here(formatter);
                if reopens {
                    stream.reopen();
                }
                match &stream.writers {
                    Writers::Here(_) => self.shared.flush.done(0, number, done.err()),
                    Writers::Threads(workers) => {
                        for worker in workers {
                            worker.flush(number);
                        }
                    }
                }
            }
        }
    }

    /// Writes everything, ends the threads and waits for them. Returns the reason if something
    /// could not be written.
    pub(crate) fn finish(&mut self) -> Option<String> {
        self.count();
        self.report_dropped_spans(true);
        let mut failure = None;
        for Layout { formatter, streams } in &mut self.layouts {
            for stream in streams {
                stream.pass_on_all(formatter);
                failure = failure.or(stream.flush_here(formatter).err());
                if let Writers::Threads(workers) = &mut stream.writers {
                    workers.iter().for_each(Worker::end);
                }
            }
        }
        for stream in self.layouts.iter_mut().flat_map(|layout| &mut layout.streams) {
            if let Writers::Threads(workers) = &mut stream.writers {
                for worker in workers {
                    failure = failure.or(worker.join());
                }
            }
        }
        failure
    }
}

impl Layout {
    /// Returns the layout with that format, which is added if it is missing.
    fn of(layouts: &mut Vec<Self>, formatter: Formatter) -> &mut Self {
        let known = layouts.iter().position(|layout| layout.formatter.is_same(&formatter));
        let at = known.unwrap_or(layouts.len());
        if known.is_none() {
            layouts.push(Self { formatter, streams: Vec::new() });
        }
        &mut layouts[at]
    }

    /// Returns the stream with that filter, which is added if it is missing.
    fn stream(&mut self, levels: Levels, reporter: &Reporter) -> &mut Stream {
        let known = self.streams.iter().position(|stream| stream.levels.is_same(&levels));
        let at = known.unwrap_or(self.streams.len());
        if known.is_none() {
            let writers = Writers::Threads(Vec::new());
            self.streams.push(Stream::new(levels, writers, reporter.clone()));
        }
        &mut self.streams[at]
    }

    #[inline]
    fn record(&mut self, record: &Frame<'_>, time: UnixTime) {
        let Self { formatter, streams } = self;
        if !formatter.takes_events() {
            return;
        }
        write(streams, formatter, (record.level, record.target), time, |batch| {
            formatter.write(record, time, batch)
        });
    }

    fn span(&mut self, span: &Span<'_>) {
        let Self { formatter, streams } = self;
        let Some(start) = span.begin() else { return };
        if !formatter.takes_spans() {
            return;
        }
        write(streams, formatter, (start.level, start.target), span.end, |batch| {
            formatter.write_span(span, &start, batch)
        });
    }
}

/// Has `format` write to the first stream that takes records of that level and target, and copies
/// what it wrote to the others.
#[inline]
fn write(
    streams: &mut [Stream],
    formatter: &Formatter,
    (level, target): (Level, &str),
    time: UnixTime,
    format: impl Fn(&mut Batch) -> io::Result<()>,
) {
    let mut first = None;
    for at in 0..streams.len() {
        let (before, rest) = streams.split_at_mut(at);
        let stream = &mut rest[0];
        if !stream.levels.enabled(level, target) || !stream.make_room(formatter, time) {
            continue;
        }
        match first {
            Some(first) => {
                let first: &Stream = &before[first];
                stream.batch.add_last_of(&first.batch, time);
            }
            None => match format(&mut stream.batch) {
                Ok(()) => first = Some(at),
                Err(error) => stream.not_formatted(&error, time),
            },
        }
    }
}
