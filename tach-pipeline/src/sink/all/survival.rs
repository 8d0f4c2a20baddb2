//! What the sinks of a pipeline do for records that outlive the process.

use super::{OpenLane, Opened, Sinks};
use tach_core::UnixTime;
use tach_sinks::adapter::{LANES, LogFile};

use crate::faults::Faults;
use crate::sink::batch::Batch;
use crate::sink::stream::Stream;
use crate::sink::worker::Worker;
use crate::stats::SinkCounts;

/// An open sink that takes over what processes have left: its counts, and the regular file, if it
/// is one.
pub(crate) type Receiving<'a> = (&'a SinkCounts, Option<&'a mut LogFile>);

impl Opened {
    /// Adds a fault if the sinks can't write records that outlive the process.
    pub(crate) fn check_kept(&mut self, call: impl Fn() -> String, faults: &mut Faults) {
        let receiving = self.receiving();
        let few = format!("it needs {LANES} sinks at most");
        faults.unless(receiving.len() <= LANES, &call, &few);
    }

    /// Returns the sinks, in the order of their indexes.
    pub(crate) fn receiving(&mut self) -> Vec<Receiving<'_>> {
        let lanes = self.0.iter_mut().flat_map(|sink| &mut sink.lanes);
        let receiving = lanes.map(|OpenLane { writer, counts, .. }| {
            (&**counts, writer.file().filter(|file| file.is_regular()))
        });
        receiving.collect()
    }
}

/// Events that not all sinks have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Waiting {
    /// How many events wait for sinks of this machine, and for collectors.
    pub(crate) local: u64,
    pub(crate) remote: u64,
    /// Whether one of these sinks fails.
    pub(crate) is_failing: bool,
}

impl Waiting {
    pub(crate) fn events(&self) -> u64 {
        self.local + self.remote
    }
}

impl Sinks {
    /// Returns whether the back end itself writes to the only sink.
    pub(crate) fn are_alone(&self) -> bool {
        self.threads.is_empty()
    }

    /// Replaces `came` by how many events came for each sink, but for those that were dropped at
    /// once.
    pub(crate) fn taken(&self, came: &mut Vec<u64>) {
        came.clear();
        came.extend(self.progress.counts.sinks().iter().map(|sink| sink.came()));
    }

    /// Returns how many of the events wait that were the first to come for each sink. What a file
    /// has of those for a collector does not wait.
    pub(crate) fn waiting_of(&self, came: &[u64]) -> Waiting {
        let mut waiting = Waiting::default();
        for (lane, (sink, came)) in self.progress.counts.sinks().iter().zip(came).enumerate() {
            let left = sink.left();
            let has = self.notes.as_ref().map_or([0, 0], |notes| notes.has(lane));
            let left = if (has[0]..has[1]).contains(&left) { has[1] } else { left };
            let events = came.saturating_sub(left);
            *if sink.is_remote { &mut waiting.remote } else { &mut waiting.local } += events;
            waiting.is_failing |= events > 0 && (sink.is_failing.get() || sink.is_stalled.get());
        }
        waiting
    }

    /// Returns whether all sinks are collectors.
    pub(crate) fn are_remote(&self) -> bool {
        self.progress.counts.sinks().iter().all(|sink| sink.is_remote)
    }

    /// Copies the events that wait for the threads of collectors to the file.
    pub(crate) fn gather(&self) {
        let Some(notes) = &self.notes else { return };
        let streams = self.layouts.iter().flat_map(|layout| &layout.streams);
        let sinks = self.progress.counts.sinks();
        for worker in streams.flat_map(|stream| &stream.workers) {
            let lane = sinks.iter().position(|counts| counts.is_remote && worker.is_of(counts));
            let Some(lane) = lane else { continue };
            let (link, at) = worker.link();
            // The thread takes events under the lock.
            let state = link.lock();
            let pending = &state.lanes[at].pending;
            let came = sinks[lane].came().saturating_sub(worker.own_events());
            notes.gathers(lane, pending.bytes(), pending.ends(), came);
        }
    }

    /// Returns how many events sinks have dropped that were not reported, and how many were ever
    /// dropped before they waited.
    pub(crate) fn drops(&self) -> [u64; 2] {
        let streams = self.layouts.iter().flat_map(|layout| &layout.streams);
        let sinks = self.progress.counts.sinks();
        let refused = sinks.iter().map(|sink| sink.refused.get()).sum();
        [streams.map(Stream::unreported).sum(), refused]
    }

    /// Adds events that a process left for a collector, which are sent before all others. `ends`
    /// says where each of them ends.
    pub(crate) fn add_events(
        &mut self,
        (lane, bytes, ends): (usize, Vec<u8>, Vec<usize>),
        now: UnixTime,
    ) {
        let sinks = self.progress.counts.sinks();
        let Some(counts) = sinks.get(lane) else { return };
        counts.taken.add(ends.len() as u64);
        let events = Batch::of(bytes, ends, (now, None));
        for stream in self.layouts.iter_mut().flat_map(|layout| &mut layout.streams) {
            if let Some(worker) = stream.workers.iter_mut().find(|it| it.is_of(counts)) {
                return worker.add_own(&events);
            }
        }
    }

    /// Waits until each sink has room for more events, unless it fails or stalls. Returns `false`
    /// if the wait would cost records of the queues.
    pub(crate) fn have_room(&mut self) -> bool {
        let mut streams = self.layouts.iter_mut().flat_map(|layout| &mut layout.streams);
        streams.all(|stream| stream.workers.iter_mut().all(Worker::waits_for_room))
    }
}
