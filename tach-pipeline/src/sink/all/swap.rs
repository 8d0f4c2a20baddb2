//! Closes and opens sinks between two records.

use core::mem;
use core::ops::Range;
use core::time::Duration;
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use log::LevelFilter;
use tach_core::UnixTime;

use super::{Opened, Sinks};
use crate::error::Error;
use crate::faults::Faults;
use crate::filter::{Filters, Levels};
use crate::frame::Wanted;
use crate::incident::Incident;
use crate::report;
use crate::sink::batch::Batch;
use crate::sink::known::Known;
use crate::sink::stream::Here;
use crate::sink::thread::{Begin, Idle, ServedLane, Thread};
use crate::sink::unreported::Occasion;
use crate::sink::worker::Worker;
use crate::stats::{Counts, Dropped, Items, SinkCounts};

/// How often a caller looks whether a sink that closes is done.
const BETWEEN_LOOKS: Duration = Duration::from_millis(1);
/// How long a thread without events may take to end.
const TO_END: Duration = Duration::from_millis(200);

/// Why a change is refused.
pub(crate) const RESTART: &str = "a running pipeline can't change it; start the process again";

/// The sinks that are closed and opened, by their indexes, and the filters of those that stay.
pub(crate) struct Swap {
    pub(crate) closes: Vec<Known>,
    pub(crate) opens: Opened,
    pub(crate) stay: Vec<(Range<usize>, Levels)>,
}

/// Closed sinks that still write the events they received before.
pub(crate) struct Swapped {
    closing: Vec<Closing>,
    /// The starts of new sinks that wait until a closed one has written to the same receiver.
    late: Vec<Begin>,
}

struct Closing {
    index: usize,
    thread: Thread,
    worker: Worker,
    /// The flush after which the thread ends.
    flush: u64,
}

impl Opened {
    /// Adds a fault for each sink that can't be opened while the pipeline runs, since its calls
    /// record only what is `wanted`.
    pub(crate) fn check_late(&self, wanted: Wanted, faults: &mut Faults) {
        for sink in &self.0 {
            let (mut found, mut more) = (Faults::default(), Wanted::default());
            sink.lanes.iter().for_each(|lane| lane.formatter.content.add_to(&mut more));
            let is_of_records = !(more.spans || more.durations);
            let call = || format!("the new sink {} of spans or durations", sink.receiver);
            found.unless(is_of_records, call, RESTART);
            let parts = |it: Wanted| [it.events, it.place, it.thread];
            let is_written = parts(more).iter().zip(parts(wanted)).all(|(more, had)| had || !more);
            let call = || format!("the file, the line or the thread in {}", sink.receiver);
            found.unless(is_written || !is_of_records, call, RESTART);
            sink.place.iter().for_each(|place| found.at(place));
            faults.append(&mut found);
        }
    }

    /// Gives each sink the index and the counts of a closed sink with its name, or an index after
    /// all others.
    pub(crate) fn assign(&mut self, counts: &Counts) {
        let mut sinks = Vec::clone(&counts.sinks());
        for sink in &mut self.0 {
            for lane in &mut sink.lanes {
                let own = &lane.counts;
                let is_its = |it: &Arc<SinkCounts>| {
                    it.is_free.get() && it.name == own.name && it.is_remote == own.is_remote
                };
                let free = sinks.iter().position(is_its);
                lane.index = free.unwrap_or(sinks.len());
                match free {
                    // Taking the counts leaves an entry without a name, so that no other new sink
                    // of this name gets the same index.
                    Some(at) => lane.counts = mem::take(&mut sinks[at]),
                    None => sinks.push(Arc::clone(own)),
                }
            }
        }
    }
}

impl Sinks {
    /// Closes and opens sinks. Earlier records still belong to the earlier sinks.
    ///
    /// # Errors
    ///
    /// If a thread can't be started. Nothing has changed.
    pub(crate) fn swap(
        &mut self,
        Swap { closes, opens, stay }: Swap,
        filters: &Filters,
        now: UnixTime,
    ) -> Result<Swapped, Error> {
        let mut swapped = Swapped { closing: Vec::new(), late: Vec::new() };
        if !closes.is_empty() || !opens.0.is_empty() {
            let count = opens.0.len() + usize::from(self.threads.is_empty());
            let idle: io::Result<Vec<_>> = (0..count).map(|_| Idle::start()).collect();
            let mut idle = idle.map_err(Error::thread)?.into_iter();
            if self.threads.is_empty() {
                idle.next().into_iter().for_each(|idle| self.leave_here(idle));
            }
            // A worker that is alone waits for its sink without end, so a stalled sink would block
            // the swap.
            self.workers().for_each(|worker| worker.is_alone = false);
            self.pass_on_all(Occasion::Flush);
            swapped.closing =
                closes.iter().filter_map(|known| self.close(known.indexes.start)).collect();
            filters.change_takers(|takers| {
                for known in &closes {
                    takers[known.indexes.start] = Levels::all(LevelFilter::Off);
                }
                // In `takers`, what is taken beside the sinks follows them. Insert a new sink before
                // it: an assignment would overwrite it.
                for (lane, levels) in opens.lanes().zip(opens.levels()) {
                    if lane.index < self.progress.counts.sinks().len() {
                        takers[lane.index] = levels;
                    } else {
                        takers.insert(lane.index, levels);
                    }
                }
            });
            for (sink, idle) in opens.0.into_iter().zip(idle) {
                let is_late = closes.iter().any(|it| it.receiver == sink.receiver);
                let begin = self.add(sink, Some(idle), now);
                if is_late { swapped.late.push(begin) } else { begin() }
            }
        }
        filters.change_takers(|takers| {
            for (indexes, levels) in stay {
                takers[indexes].fill(levels);
            }
        });
        self.begin_round(filters);
        let is_alone = self.threads.len() == 1;
        for worker in self.workers() {
            worker.is_alone = is_alone && !worker.counts.is_remote;
        }
        Ok(swapped)
    }

    fn workers(&mut self) -> impl Iterator<Item = &mut Worker> {
        self.streams.iter_mut().filter_map(|stream| stream.worker.as_mut())
    }

    /// Starts a thread for the sink to which the back end has written itself until now.
    fn leave_here(&mut self, idle: Idle) {
        let Some(stream) = self.streams.first_mut() else { return };
        stream.count();
        let Some(Here { output, buffer_bytes, patience }) = stream.here.take() else { return };
        let batch = mem::replace(&mut stream.batch, Batch::new());
        let (counts, reporter) = (Arc::clone(&output.owner.counts), output.owner.reporter.clone());
        let lane = ServedLane::new(output, 0, batch);
        let (thread, begin) = idle.serve(vec![lane], buffer_bytes, &self.progress, None);
        begin();
        let (link, progress) = (Arc::clone(&thread.link), Arc::clone(&self.progress));
        stream.worker = Some(Worker::new((link, 0), patience, progress, counts, reporter));
        self.threads.push(thread);
    }

    /// Closes a sink: passes it no more events, and flushes it.
    fn close(&mut self, index: usize) -> Option<Closing> {
        let counts = Arc::clone(&self.progress.counts.sinks()[index]);
        let at = self.streams.iter().position(|stream| Arc::ptr_eq(&stream.counts, &counts))?;
        let worker = self.streams.remove(at).worker?;
        let is_its = |thread: &Thread| Arc::ptr_eq(&thread.link, worker.link().0);
        let at = self.threads.iter().position(is_its)?;
        let thread = self.threads.remove(at);
        counts.is_closed.set(true);
        // This flush covers all events of the sink. Later requests concern none of them, since no
        // event follows.
        let flush = self.progress.flush.requested();
        thread.flush(flush);
        Some(Closing { index, thread, worker, flush })
    }

    /// Reports the events that are lost because a sink was closed before it had written them.
    pub(crate) fn report_closed(&mut self, name: &str, lost: &Dropped) {
        let (now, count) = (lost.to, lost.count);
        let items = Items::RECORDS.as_str();
        let message = format!("records dropped, since {name} was closed before they were written");
        let record = report::dropped(lost, now, &message);
        self.report(&Incident::Dropped { sink: Some(name), items, count }, &record, now);
    }
}

impl Swapped {
    /// Waits until the closed sinks have written everything, for `timeout` at most, and then starts
    /// the sinks that wait for them. Returns the names of the sinks that lose events, and how many,
    /// as of `now`.
    pub(crate) fn finish(self, timeout: Duration, now: UnixTime) -> Vec<(String, Dropped)> {
        let start = Instant::now();
        let left = || timeout.saturating_sub(start.elapsed());
        let closed = self.closing.into_iter().map(|closing| closing.finish(left(), now));
        let lost = closed.filter(|(_, lost)| lost.count > 0).collect();
        self.late.into_iter().for_each(|begin| begin());
        lost
    }
}

impl Closing {
    fn finish(self, timeout: Duration, now: UnixTime) -> (String, Dropped) {
        let Self { index, mut thread, worker, flush } = self;
        let start = Instant::now();
        let (progress, counts) = (Arc::clone(&worker.progress), Arc::clone(&worker.counts));
        let waits = || wait(timeout, || progress.flush.is_done(index, flush));
        progress.flush.within(timeout, waits);
        thread.end();
        let has_ended = || thread.handle.as_ref().is_none_or(JoinHandle::is_finished);
        // A thread that has written everything has only to exit, which a busy machine may delay.
        // Give it all the time that is left, and a stalled one only `TO_END`.
        let is_done = progress.flush.is_done(index, flush);
        let left = if is_done { timeout.saturating_sub(start.elapsed()) } else { TO_END };
        wait(left.max(TO_END), has_ended);
        counts.is_free.set(has_ended());
        let stalls = || Some(format!("{} was closed while it made no progress", counts.name));
        let failure = if has_ended() { thread.join() } else { stalls() };
        progress.flush.closed(index, failure);
        // Only the number of lost events is known here: the events, with their levels, belong to
        // the thread, which may be stalled.
        let mut lost = Dropped::new(counts.waiting(), now, now);
        counts.dropped.add(&lost);
        lost.count += worker.unreported();
        (counts.name.clone(), lost)
    }
}

/// Waits until something `is_done`, for `timeout` at most.
fn wait(timeout: Duration, is_done: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_done() && start.elapsed() < timeout {
        thread::sleep(BETWEEN_LOOKS);
    }
}
