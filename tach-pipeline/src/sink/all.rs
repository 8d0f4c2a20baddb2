//! All sinks of a pipeline.

mod opened;
#[cfg(feature = "tracing")]
mod signals;
pub(crate) mod survival;
#[cfg(feature = "config")]
mod swap;

use std::sync::Arc;

use log::LevelFilter;
use tach_core::UnixTime;
use tach_sinks::adapter::Notes;

pub(crate) use self::opened::Opened;
use self::opened::{OpenLane, OpenSink};
#[cfg(feature = "config")]
pub(crate) use self::swap::{RESTART, Swap};
use super::batch::{BATCH, Batch};
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
use crate::stats::{ByLevel, Items, SINK_FAILED};

/// The sinks at work.
pub(crate) struct Sinks {
    streams: Vec<Stream>,
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
    /// How many of these are spans.
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
            streams: Vec::new(),
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
            let is_filtered = formatter.content.items.are_filtered();
            let levels = if is_filtered { levels.clone() } else { Levels::all(LevelFilter::Trace) };
            let mut stream = Stream::new(formatter, levels, Arc::clone(&counts), reporter.clone());
            stream.here = here.take();
            stream.worker = self.threads.last().map(|thread| {
                let link = (Arc::clone(&thread.link), lane);
                Worker::new(link, patience, Arc::clone(&self.progress), counts, reporter)
            });
            self.streams.push(stream);
        }
        begin
    }

    /// Returns whether the program has set filters for sinks since the last round began.
    pub(crate) fn are_filters_new(&self, filters: &Filters) -> bool {
        filters.new_takers(&self.takers).is_some()
    }

    /// Applies the filters that the program has set for sinks at run time. Call after the queues
    /// were read, so that a record which was logged after its filter was set meets that filter.
    pub(crate) fn begin_round(&mut self, filters: &Filters) {
        if let Some(takers) = filters.new_takers(&self.takers) {
            self.takers = takers;
            self.refilter();
        }
    }

    #[cold]
    fn refilter(&mut self) {
        let Self { streams, takers, progress, .. } = self;
        let sinks = progress.counts.sinks();
        for stream in streams.iter_mut().filter(|it| it.formatter.content.items.are_filtered()) {
            let at = sinks.iter().position(|counts| Arc::ptr_eq(counts, &stream.counts));
            if let Some(levels) = at.and_then(|at| takers.get(at)) {
                stream.levels = levels.clone();
            }
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
        self.streams.iter_mut().for_each(|stream| stream.record(record, time));
        self.pass_on_if_full();
    }

    /// Passes the events on if a sink has many. Events that are to outlive the process wait for a
    /// [write](Self::is_full) instead, which is noted in the file.
    fn pass_on_if_full(&mut self) {
        if self.notes.is_none() && !self.threads.is_empty() && self.is_full() {
            self.pass_on();
        }
    }

    /// Serves the sinks with room first, so that a full sink delays no other.
    fn pass_on(&mut self) {
        self.streams.iter_mut().for_each(Stream::pass_on);
        self.streams.iter_mut().for_each(Stream::wait_for_room);
    }

    /// Returns whether dropped events were not reported yet.
    pub(crate) fn are_to_report(&self) -> bool {
        self.unreported.dropped.is_some()
            || self.streams.iter().any(|stream| stream.unreported() > 0)
    }

    /// Returns whether enough events that are to outlive the process wait for a write.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.streams.iter().any(|stream| stream.batch.len() >= BATCH)
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

    /// If queues dropped records, adds a record that states their number. Before the end, waits
    /// until a second after the last such record.
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
            self.streams.iter_mut().for_each(|stream| stream.record(&record, now));
        }
    }

    /// Adds a record of how many spans or durations were dropped, for each sink that dropped any.
    fn report_dropped_spans(&mut self, occasion: Occasion) {
        let mut reports = Vec::new();
        for stream in self.streams.iter_mut().filter(|stream| !stream.formatter.takes_events()) {
            stream.take_dropped(occasion, |counts, dropped| {
                let (what, sink) = (counts.items.as_str(), &counts.name);
                let message = format!("{what} for {sink} dropped {SINK_FAILED}");
                reports.push((dropped.to, report::dropped(dropped, dropped.to, &message)));
            });
        }
        for (time, bytes) in reports {
            if let Some(record) = Frame::read(&bytes) {
                self.streams.iter_mut().for_each(|stream| stream.record(&record, time));
            }
        }
    }

    /// Writes the records to the only sink, or passes them to the sinks' threads. Then opens the
    /// files again if `reopens`.
    pub(crate) fn write(&mut self, reopens: bool) {
        self.count();
        self.report_dropped_spans(Occasion::Round);
        self.pass_on();
        if reopens {
            self.reopen();
        }
    }

    /// Opens the files again, after the events that were already passed on are written.
    fn reopen(&mut self) {
        self.streams.iter_mut().for_each(Stream::reopen_here);
        self.threads.iter().for_each(Thread::reopen);
    }

    fn count(&mut self) {
        self.progress.counts.records.add(core::mem::take(&mut self.records));
        self.progress.counts.by_level.count(&core::mem::take(&mut self.by_level));
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
        self.streams.iter_mut().for_each(|stream| stream.pass_on_all(occasion));
        self.streams.iter_mut().fold(None, |failure, stream| {
            stream.wait_for_room();
            failure.or(stream.flush_here(occasion).err())
        })
    }
}
