//! All sinks of a pipeline.

mod opened;
#[cfg(feature = "tracing")]
mod signals;
pub(crate) mod survival;
#[cfg(feature = "config")]
mod swap;

use std::io;
use std::sync::Arc;

use log::LevelFilter;
use tach_core::UnixTime;
use tach_sinks::adapter::Notes;

pub(crate) use self::opened::Opened;
use self::opened::{OpenLane, OpenSink};
#[cfg(feature = "config")]
pub(crate) use self::swap::{RESTART, Swap};
use super::batch::{BATCH, Batch};
use super::formatter::Formatter;
use super::owner::output;
use super::stream::{Here, Stream};
use super::thread::{Begin, Idle, ServedLane, Thread};
use super::unreported::{Occasion, Unreported};
use super::worker::Worker;
use crate::error::Error;
use crate::filter::{Filters, Levels};
use crate::frame::Frame;
use crate::incident::{Incident, Reporter};
use crate::level::Level;
use crate::progress::Progress;
use crate::queue::Loss;
use crate::report;
use crate::stats::{ByLevel, Happened, Items, SINK_FAILED, SinkCounts};

/// The sinks at work.
pub(crate) struct Sinks {
    layouts: Vec<Layout>,
    /// One thread for each sink. Empty if the back end itself writes to the only sink.
    threads: Vec<Thread>,
    /// The file in which sinks note what they write, if records are to outlive the process.
    notes: Option<Arc<dyn Notes>>,
    /// The filters of the sinks, as they were in the last round.
    takers: Arc<Vec<Levels>>,
    pub(crate) reporter: Reporter,
    progress: Arc<Progress>,
    /// The number of records that were added, but not yet counted in the statistics.
    records: u64,
    /// The number of records of each level that came, but are not yet counted in the statistics.
    by_level: ByLevel<u64>,
    /// Records that the queues dropped and that were not reported yet.
    unreported: Unreported,
    /// How many of these are starts of spans.
    dropped_spans: u64,
    /// How many records were ever reported as dropped by the queues, or over the rate limit.
    pub(crate) reported_drops: u64,
}

impl Sinks {
    /// Starts a thread for each sink. A pipeline's only sink needs no thread, unless the sink is a
    /// collector.
    ///
    /// # Errors
    ///
    /// If a thread can't be started.
    pub(crate) fn start(
        opened: Opened,
        takers: Arc<Vec<Levels>>,
        reporter: Reporter,
        progress: &Arc<Progress>,
        notes: Option<Arc<dyn Notes>>,
        now: UnixTime,
    ) -> Result<Self, Error> {
        let is_alone = opened.is_alone();
        let mut sinks = Self {
            layouts: Vec::new(),
            threads: Vec::new(),
            notes,
            takers,
            reporter,
            progress: Arc::clone(progress),
            records: 0,
            by_level: ByLevel::default(),
            unreported: Unreported::default(),
            dropped_spans: 0,
            reported_drops: 0,
        };
        for sink in opened.0 {
            let idle = if is_alone { None } else { Some(Idle::start().map_err(Error::thread)?) };
            sinks.add(sink, idle, now)();
        }
        Ok(sinks)
    }

    /// Adds a sink, which begins to write when the function that is returned is called. The back
    /// end itself writes to a sink without a thread.
    fn add(&mut self, sink: OpenSink, idle: Option<Idle>, now: UnixTime) -> Begin {
        let OpenSink { lanes, levels, patience, buffer_bytes, .. } = sink;
        let mut outputs = Vec::new();
        let mut streams = Vec::new();
        for OpenLane { index, writer, formatter, counts } in lanes {
            self.progress.counts.open(index, &counts);
            self.progress.flush.opened(index);
            let reporter = self.reporter.of_sink(&counts.name);
            let mut output = output(writer, Arc::clone(&counts), reporter.clone());
            output.notes = self.notes.clone().map(|notes| (notes, index));
            outputs.push((output, index));
            streams.push((formatter, counts, reporter));
        }
        let (mut here, mut begin) = (None, Box::new(|| {}) as Begin);
        if let Some(idle) = idle {
            let lanes =
                outputs.into_iter().map(|(output, at)| ServedLane::new(output, at, Batch::new()));
            let (thread, begins) =
                idle.serve(lanes.collect(), buffer_bytes, &self.progress, Some(now));
            self.threads.push(thread);
            begin = begins;
        } else {
            here = outputs.pop().map(|(mut output, _)| {
                output.start(now);
                Here { output, buffer_bytes, patience }
            });
        }
        for (lane, (formatter, counts, reporter)) in streams.into_iter().enumerate() {
            let all = Levels::all(LevelFilter::Trace);
            let levels = if formatter.content.items().are_filtered() { &levels } else { &all };
            let stream = Layout::of(&mut self.layouts, formatter).stream(levels, &reporter);
            stream.count_for(Arc::clone(&counts));
            stream.here = here.take();
            if let Some(thread) = self.threads.last() {
                let link = (Arc::clone(&thread.link), lane);
                let progress = Arc::clone(&self.progress);
                stream.workers.push(Worker::new(link, patience, progress, counts, reporter));
            }
        }
        begin
    }

    /// Returns whether the program has set filters for sinks since the last round began.
    pub(crate) fn are_filters_new(&self, filters: &Filters) -> bool {
        filters.new_takers(&self.takers).is_some()
    }

    /// Puts the filters in force that the program has set for sinks at run time. Call after the
    /// queues were read: then a record that was logged after its filter was set meets that filter.
    pub(crate) fn begin_round(&mut self, filters: &Filters) {
        if let Some(takers) = filters.new_takers(&self.takers) {
            self.takers = takers;
            self.refilter();
        }
    }

    #[cold]
    fn refilter(&mut self) {
        let Self { layouts, takers, progress, .. } = self;
        let sinks = progress.counts.sinks();
        let at = |counts: &Arc<SinkCounts>| sinks.iter().position(|it| Arc::ptr_eq(it, counts));
        let levels_of = |counts: &Arc<SinkCounts>| takers.get(at(counts)?);
        for layout in
            layouts.iter_mut().filter(|layout| layout.formatter.content.items().are_filtered())
        {
            layout.refilter(levels_of);
        }
    }

    /// Counts a record of the program's, which is written unless it repeats the record before.
    #[inline]
    pub(crate) fn came(&mut self, level: Level) {
        *self.by_level.of_mut(level.of_log()) += 1;
    }

    /// Adds a record, which happened at `time`.
    #[inline]
    pub(crate) fn record(&mut self, record: &Frame<'_>, time: UnixTime) {
        self.records += 1;
        self.layouts.iter_mut().for_each(|layout| layout.record(record, time));
    }

    /// Returns whether dropped events were not reported yet.
    pub(crate) fn are_to_report(&self) -> bool {
        let mut streams = self.layouts.iter().flat_map(|layout| &layout.streams);
        self.unreported.dropped.is_some() || streams.any(|stream| stream.unreported() > 0)
    }

    /// Returns whether events that are to outlive the process are enough for a write.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        let mut streams = self.layouts.iter().flat_map(|layout| &layout.streams);
        streams.any(|stream| stream.batch.len() >= BATCH)
    }

    /// Counts the records that a queue dropped.
    #[cold]
    pub(crate) fn queue_dropped(&mut self, loss: &Loss) {
        let Loss { records, spans, .. } = loss;
        self.progress.signals.dropped.add(records);
        self.progress.signals.dropped_spans.add(*spans);
        records.add_to(&mut self.unreported.dropped);
        self.dropped_spans += spans;
    }

    /// If queues dropped records, adds a record that states their number. Before the end, a second
    /// after the last such record.
    pub(crate) fn report_queue_drops(&mut self, occasion: Occasion, now: UnixTime) {
        let Some(dropped) = self.unreported.due(occasion, true) else { return };
        self.unreported.report();
        self.reported_drops += dropped.count;
        let (items, count) = (Items::RECORDS.as_str(), dropped.count);
        let spans = core::mem::take(&mut self.dropped_spans);
        let bytes = report::queue_dropped(&dropped, spans, now);
        self.report(&Incident::Dropped { sink: None, items, count }, &bytes, now);
    }

    /// Reports an incident, and adds a record of it.
    #[cold]
    pub(crate) fn report(&mut self, incident: &Incident<'_>, record: &[u8], now: UnixTime) {
        self.reporter.report(incident);
        if let Some(record) = Frame::read(record) {
            self.layouts.iter_mut().for_each(|layout| layout.record(&record, now));
        }
    }

    /// Adds a record of how many spans or durations were dropped, for each sink that dropped any.
    fn report_dropped_spans(&mut self, occasion: Occasion) {
        let mut reports = Vec::new();
        for Layout { formatter, streams } in &mut self.layouts {
            if formatter.takes_events() {
                continue;
            }
            let what = formatter.content.items().as_str();
            for stream in streams {
                stream.take_dropped(occasion, |sink, dropped| {
                    let message = format!("{what} for {sink} dropped {SINK_FAILED}");
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

    /// Writes the records to the only sink, or passes them to the sinks' threads. Then opens the
    /// files again if `reopens`.
    pub(crate) fn write(&mut self, reopens: bool) {
        self.count();
        self.report_dropped_spans(Occasion::Round);
        for Layout { formatter, streams } in &mut self.layouts {
            for stream in streams {
                stream.pass_on(formatter);
            }
        }
        if reopens {
            self.reopen();
        }
    }

    /// Opens the files again, after the events that were already passed on are written.
    fn reopen(&mut self) {
        let streams = self.layouts.iter_mut().flat_map(|layout| &mut layout.streams);
        streams.for_each(Stream::reopen_here);
        self.threads.iter().for_each(Thread::reopen);
    }

    fn count(&mut self) {
        let counts = &self.progress.counts;
        counts.records.add(core::mem::take(&mut self.records));
        counts.by_level.count(&core::mem::take(&mut self.by_level));
    }

    /// Writes all events, flushes the writers, and then opens the files again if `reopens`. The
    /// flush request `number` is reported as done, either here or by the sinks' threads.
    pub(crate) fn flush(&mut self, number: u64, occasion: Occasion, reopens: bool) {
        let done = self.pass_on_all(occasion);
        if reopens {
            self.reopen();
        }
        if self.threads.is_empty() {
            self.progress.flush.done(0, number, done);
        }
        self.threads.iter().for_each(|thread| thread.flush(number));
        self.progress.flush.passed_on(number);
    }

    /// Writes all events, ends the threads and waits for them. If some events could not be written,
    /// returns the reason.
    pub(crate) fn finish(&mut self) -> Option<String> {
        let failure = self.pass_on_all(Occasion::End);
        self.threads.iter().for_each(Thread::end);
        self.threads.iter_mut().fold(failure, |failure, thread| failure.or(thread.join()))
    }

    /// Passes all events to the threads, or writes them to the only sink and flushes the sink. If
    /// the only sink fails, returns the reason.
    fn pass_on_all(&mut self, occasion: Occasion) -> Option<String> {
        self.count();
        self.report_dropped_spans(occasion);
        let mut failure = None;
        for Layout { formatter, streams } in &mut self.layouts {
            for stream in streams {
                stream.pass_on_all(formatter, occasion);
                failure = failure.or(stream.flush_here(formatter, occasion).err());
            }
        }
        failure
    }
}

/// The sinks that share a format. The format writes each record once for all of them.
struct Layout {
    formatter: Formatter,
    streams: Vec<Stream>,
}

impl Layout {
    /// Returns the layout for a format. If there is none, adds a layout.
    fn of(layouts: &mut Vec<Self>, formatter: Formatter) -> &mut Self {
        let known = layouts.iter().position(|layout| layout.formatter.is_same(&formatter));
        let at = known.unwrap_or(layouts.len());
        if known.is_none() {
            layouts.push(Self { formatter, streams: Vec::new() });
        }
        &mut layouts[at]
    }

    /// Returns the stream for a filter. If there is none, adds a stream.
    fn stream(&mut self, levels: &Levels, reporter: &Reporter) -> &mut Stream {
        let known = self.streams.iter().position(|stream| stream.levels.is_same(levels));
        let at = known.unwrap_or(self.streams.len());
        if known.is_none() {
            self.streams.push(Stream::new(levels.clone(), reporter.clone()));
        }
        &mut self.streams[at]
    }

    /// Moves each sink to the stream with the sink's present filter.
    fn refilter<'a>(&mut self, levels_of: impl Fn(&Arc<SinkCounts>) -> Option<&'a Levels>) {
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
    fn record(&mut self, record: &Frame<'_>, time: UnixTime) {
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
fn write(
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
