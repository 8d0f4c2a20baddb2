//! All sinks of a pipeline.

#[cfg(all(feature = "otlp", feature = "tracing"))]
mod signals;

use std::io;
use std::sync::Arc;

use log::LevelFilter;
use tach_core::UnixTime;

use super::Sink;
use super::batch::Batch;
use super::formatter::Formatter;
use super::output::Output;
use super::stream::{Stream, Writers};
use super::target::{Lane, Writer};
use super::thread::Thread;
use super::unreported::{Occasion, Unreported};
use super::worker::{Patience, Worker};
use crate::channel::Progress;
use crate::error::Error;
use crate::faults::Faults;
use crate::filter::{Filters, Levels};
use crate::frame::{Frame, Wanted};
use crate::incident::{Incident, Reporter};
use crate::level::Level;
use crate::queue::Loss;
use crate::report;
use crate::stats::{ByLevel, Counts, Items, SinkCounts};

/// Sinks that are open.
pub(crate) struct Opened(Vec<OpenSink>);

struct OpenSink {
    lanes: Vec<OpenLane>,
    levels: Levels,
    patience: Patience,
    buffer_bytes: usize,
    /// The sink's key, if the sink is from a configuration file.
    place: Option<String>,
}

struct OpenLane {
    writer: Box<dyn Writer>,
    formatter: Formatter,
    counts: Arc<SinkCounts>,
}

impl OpenSink {
    /// Opens a sink, and returns the faults of its options, of which one may be that it can't be
    /// opened.
    fn new(mut sink: Sink, patience: Patience, most: usize) -> (Option<Self>, Faults) {
        let mut faults = Faults::default();
        sink.check(&mut faults);
        let place = sink.place.take();
        let (name, target) = (sink.to.0.name(), sink.to.0);
        let levels =
            faults.take(sink.filter.map_err(|fault| fault.of(&format!("the sink {name}"))));
        let lanes = faults.take(target.open(sink.format));
        if let Some(place) = &place {
            faults.at(place);
        }
        let Some((levels, lanes)) = levels.zip(lanes) else { return (None, faults) };
        let lanes = lanes.into_iter().map(|Lane { name, content, writer }| OpenLane {
            counts: Arc::new(SinkCounts::new(name, content.items(), writer.is_remote())),
            writer,
            formatter: Formatter { content, is_colored: sink.is_colored, most },
        });
        let open = Self {
            lanes: lanes.collect(),
            levels: levels.only(sink.only),
            patience: sink.stall_timeout.map_or(patience, Patience::Stalled),
            buffer_bytes: sink.buffer_bytes,
            place,
        };
        (Some(open), faults)
    }
}

impl Opened {
    /// Returns the parts of a record that some sink needs.
    pub(crate) fn wanted(&self) -> Wanted {
        let mut wanted = Wanted::default();
        for lane in self.lanes() {
            lane.formatter.content.add_to(&mut wanted);
        }
        wanted
    }

    /// Opens the sinks, and adds a fault for each sink that can't be opened. `patience` is the
    /// default for sinks that don't set a stall timeout. A formatted record is cut to `most` bytes.
    pub(crate) fn new(
        sinks: Vec<Sink>,
        patience: Patience,
        most: usize,
        faults: &mut Faults,
    ) -> Self {
        let open = |sink| {
            let (open, mut found) = OpenSink::new(sink, patience, most);
            faults.append(&mut found);
            open
        };
        let mut open: Vec<_> = sinks.into_iter().filter_map(open).collect();
        refuse_shared_rotations(&mut open, faults);
        Self(open)
    }

    /// Returns the filter of each lane, in the order of the [counts](Self::counts).
    pub(crate) fn levels(&self) -> impl Iterator<Item = Levels> {
        self.0.iter().flat_map(|sink| sink.lanes.iter().map(|_| sink.levels.clone()))
    }

    pub(crate) fn counts(&self) -> Counts {
        let sinks = self.lanes().map(|lane| Arc::clone(&lane.counts)).collect();
        Counts { sinks, ..Counts::default() }
    }

    fn lanes(&self) -> impl Iterator<Item = &OpenLane> {
        self.0.iter().flat_map(|sink| &sink.lanes)
    }
}

/// Adds a fault for each file that two sinks write and at least one of them rotates. The other sink
/// would go on writing to the old file, which may be compressed or deleted at any time.
fn refuse_shared_rotations(sinks: &mut [OpenSink], faults: &mut Faults) {
    let files = sinks.iter_mut().flat_map(|sink| {
        let OpenSink { lanes, place, .. } = sink;
        let place = place.as_deref();
        lanes.iter_mut().filter_map(move |OpenLane { writer, counts, .. }| {
            Some((place, &counts.name, &*writer.file()?))
        })
    });
    let files: Vec<_> = files.collect();
    for (at, (place, name, file)) in files.iter().enumerate() {
        for (other_place, other, second) in &files[at + 1..] {
            let call = || format!("Sink::rotate for {name} and {other}");
            let wanted =
                "these are one file, and a rotated file has one sink; give each sink its own file";
            let mut found = Faults::default();
            found.unless(!file.shares_rotation(second), call, wanted);
            let places: Vec<_> = [*place, *other_place].into_iter().flatten().collect();
            found.at(&places.join(" and "));
            faults.append(&mut found);
        }
    }
}

/// The sinks at work.
pub(crate) struct Sinks {
    layouts: Vec<Layout>,
    /// One thread for each sink. Empty if the back end itself writes to the only sink.
    threads: Vec<Thread>,
    /// The filters of the sinks, as they were in the last round.
    takers: Arc<Vec<Levels>>,
    reporter: Reporter,
    progress: Arc<Progress>,
    /// The number of records that were added, but not yet counted in the statistics.
    records: u64,
    /// The number of records of each level that came, but are not yet counted in the statistics.
    by_level: ByLevel<u64>,
    /// Records that the queues dropped and that were not reported yet.
    unreported: Unreported,
    /// How many of these are starts of spans.
    dropped_spans: u64,
}

/// The sinks that share a format. The format writes each record once for all of them.
struct Layout {
    formatter: Formatter,
    streams: Vec<Stream>,
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
    ) -> Result<Self, Error> {
        let mut layouts = Vec::new();
        let mut threads = Vec::new();
        let is_alone = opened.0.len() == 1 && !opened.lanes().any(|lane| lane.writer.is_remote());
        let mut index = 0;
        for OpenSink { lanes, levels, patience, buffer_bytes, .. } in opened.0 {
            let mut outputs = Vec::new();
            let mut streams = Vec::new();
            for OpenLane { writer, formatter, counts } in lanes {
                let reporter = reporter.of_sink(&counts.name);
                let mut output = Output::new(writer, Arc::clone(&counts), reporter.clone());
                output.start();
                outputs.push((output, index));
                streams.push((formatter, counts, reporter));
                index += 1;
            }
            let mut here = None;
            if is_alone {
                here = outputs.pop().map(|(output, _)| output);
            } else {
                let thread = Thread::start(outputs, buffer_bytes, progress);
                threads.push(thread.map_err(Error::thread)?);
            }
            for (lane, (formatter, counts, reporter)) in streams.into_iter().enumerate() {
                let all = Levels::all(LevelFilter::Trace);
                let levels = if formatter.content.items().are_filtered() { &levels } else { &all };
                let stream = Layout::of(&mut layouts, formatter).stream(levels, &reporter);
                stream.count_for(Arc::clone(&counts));
                match (&mut stream.writers, here.take(), threads.last()) {
                    (writers, Some(output), _) => {
                        *writers = Writers::Here(Box::new(output), buffer_bytes);
                    }
                    (Writers::Threads(workers), None, Some(thread)) => {
                        let link = (Arc::clone(&thread.link), lane);
                        let progress = Arc::clone(progress);
                        workers.push(Worker::new(link, patience, progress, counts, reporter));
                    }
                    (Writers::Threads(_) | Writers::Here(..), None, _) => {}
                }
            }
        }
        let progress = Arc::clone(progress);
        Ok(Self {
            layouts,
            threads,
            takers,
            reporter,
            progress,
            records: 0,
            by_level: ByLevel::default(),
            unreported: Unreported::default(),
            dropped_spans: 0,
        })
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
        let sinks = &progress.counts.sinks;
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

    /// Counts the records that a queue dropped.
    #[cold]
    pub(crate) fn queue_dropped(&mut self, loss: &Loss) {
        let Loss { records, spans, .. } = loss;
        self.progress.counts.dropped.add(records.count);
        self.progress.counts.dropped_spans.add(*spans);
        records.add_to(self.unreported.dropped());
        self.dropped_spans += spans;
    }

    /// If queues dropped records, adds a record that states their number. Before the end, a second
    /// after the last such record.
    pub(crate) fn report_queue_drops(&mut self, occasion: Occasion, now: UnixTime) {
        let Some(dropped) = self.unreported.due(occasion, true) else { return };
        self.unreported.report();
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
        counts.by_level.add(&core::mem::take(&mut self.by_level));
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
            let writers = Writers::Threads(Vec::new());
            self.streams.push(Stream::new(levels.clone(), writers, reporter.clone()));
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
                if let Writers::Threads(workers) = &mut stream.writers {
                    workers.push(worker);
                }
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
                Ok(()) => {
                    if stream.is_not_formatted {
                        stream.formatted_again();
                    }
                    first = Some(at);
                }
                Err(error) => stream.not_formatted(&error, time),
            },
        }
    }
}
