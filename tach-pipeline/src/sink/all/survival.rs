//! What the sinks of a pipeline do for records that outlive the process.

use super::{OpenLane, Opened, Sinks};
use tach_core::UnixTime;
use tach_record::keep::Waiting;
use tach_sinks::adapter::{Named, OpenSink};

use crate::sink::batch::Batch;
use crate::sink::stream::Stream;
use crate::sink::worker::Worker;
use crate::stats::{Items, SinkCounts};

impl Opened {
    /// Returns the sinks, in the order of their indexes.
    pub(crate) fn receiving(&mut self) -> Vec<OpenSink<'_>> {
        let lanes = self.0.iter_mut().flat_map(|sink| &mut sink.lanes);
        let kept = lanes.map(|OpenLane { writer, counts, .. }| {
            let SinkCounts { name, items, is_remote, .. } = &**counts;
            // Add the kind of items: the sinks of one collector all have its address as their name.
            let name = match *items {
                Items::RECORDS => name.clone(),
                _ => format!("{name} for {}", items.as_str()),
            };
            let file = writer.file().filter(|file| file.is_regular());
            (Named { name, is_remote: *is_remote }, file)
        });
        kept.collect()
    }
}

impl Sinks {
    /// Replaces `came` by the number of events that came for each sink, except for those that were
    /// dropped at once.
    pub(crate) fn taken(&self, came: &mut Vec<u64>) {
        came.clear();
        came.extend(self.progress.counts.sinks().iter().map(|sink| sink.came()));
    }

    /// Returns how many of the first `came` events of each sink still wait. Events for a collector
    /// that are in the file don't count.
    pub(crate) fn waiting_of(&self, came: &[u64]) -> Waiting {
        let mut waiting = Waiting::default();
        for (lane, (sink, came)) in self.progress.counts.sinks().iter().zip(came).enumerate() {
            let left = sink.left();
            let has = self.notes.as_ref().map_or(0..0, |notes| notes.has(lane));
            let left = if has.contains(&left) { has.end } else { left };
            let events = came.saturating_sub(left);
            *if sink.is_remote { &mut waiting.remote } else { &mut waiting.local } += events;
            waiting.is_failing |= events > 0 && (sink.is_failing.get() || sink.is_stalled.get());
        }
        waiting
    }

    /// Copies the events that wait for the threads of collectors to the file.
    pub(crate) fn gather(&self) {
        let Some(notes) = &self.notes else { return };
        let sinks = self.progress.counts.sinks();
        for worker in self.streams.iter().filter_map(|stream| stream.worker.as_ref()) {
            let lane = sinks.iter().position(|counts| counts.is_remote && worker.is_of(counts));
            let Some(lane) = lane else { continue };
            let (link, at) = worker.link();
            // Hold the lock: otherwise the sink's thread could take events between these reads.
            let state = link.lock();
            let pending = &state.lanes[at].pending;
            let came = sinks[lane].came();
            notes.gathers(lane, pending.bytes(), pending.ends(), came);
        }
    }

    /// Returns how many events sinks have dropped that the log does not mention.
    pub(crate) fn unreported(&self) -> u64 {
        self.streams.iter().map(Stream::unreported).sum()
    }

    /// Returns how many events were ever refused by a sink before they waited.
    pub(crate) fn refused(&self) -> u64 {
        self.progress.counts.sinks().iter().map(|sink| sink.refused.get()).sum()
    }

    /// Adds events that a process left for a collector. They are sent before all others. `ends`
    /// contains the end of each event.
    pub(crate) fn add_events(
        &mut self,
        (lane, bytes, ends): (usize, Vec<u8>, Vec<usize>),
        now: UnixTime,
    ) {
        let sinks = self.progress.counts.sinks();
        let Some(counts) = sinks.get(lane) else { return };
        counts.taken.add(ends.len() as u64);
        let events = Batch::of(bytes, ends, (now, None));
        let mut workers = self.streams.iter_mut().filter_map(|stream| stream.worker.as_mut());
        if let Some(worker) = workers.find(|worker| worker.is_of(counts)) {
            worker.add_left(&events);
        }
    }

    /// Returns whether each sink that neither fails nor stalls has room for more events.
    pub(crate) fn have_room(&self) -> bool {
        self.streams.iter().all(|stream| stream.worker.as_ref().is_none_or(Worker::has_room))
    }
}
