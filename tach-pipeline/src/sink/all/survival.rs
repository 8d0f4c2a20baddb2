//! What the sinks of a pipeline do for records that outlive the process.

use std::sync::Arc;

use super::{Layout, Opened, Sinks};
use tach_core::UnixTime;

use crate::faults::Faults;
use crate::sink::batch::{Batch, KEPT};
use crate::sink::file::Target;
use crate::sink::spools::{LANES, Receiving};
use crate::sink::stream::{Stream, Writers};
use crate::sink::unreported::Occasion;
use crate::sink::worker::Worker;
use crate::stats::Items;

impl Opened {
    /// Adds a fault if the sinks can't write records that outlive the process.
    pub(crate) fn check_kept(&mut self, call: impl Fn() -> String, faults: &mut Faults) {
        let receiving = self.receiving();
        let few = format!("it needs {LANES} sinks at most");
        faults.unless(receiving.len() <= LANES, &call, &few);
        let files = receiving.iter().filter_map(|it| {
            let Target { device, file, .. } = it.file.as_ref()?.known_target();
            Some(((device, file), &*it.name))
        });
        let mut files: Vec<_> = files.collect();
        files.sort_unstable();
        for (_, name) in files.windows(2).filter(|two| two[0].0 == two[1].0).map(|two| two[1]) {
            let wanted = format!("{name} is the file of two sinks; give each sink its own file");
            faults.unless(false, &call, &wanted);
        }
    }

    /// Returns the sinks, in the order of the [counts](Self::counts).
    pub(crate) fn receiving(&mut self) -> Vec<Receiving<'_>> {
        let lanes = self.0.iter_mut().flat_map(|sink| &mut sink.lanes);
        let receiving = lanes.map(|lane| {
            let file = lane.writer.file().filter(|file| file.is_regular());
            let (name, items) = (&lane.counts.name, lane.counts.items);
            // The address of a collector is the same for all that it takes.
            let name = match items {
                Items::RECORDS => name.clone(),
                _ => format!("{name} for {}", items.as_str()),
            };
            Receiving { name, file }
        });
        receiving.collect()
    }
}

impl Sinks {
    /// Returns the events that wait for the pipeline's only sink.
    fn here(&self) -> Option<&Batch> {
        let stream = self.layouts.first()?.streams.first()?;
        matches!(stream.writers, Writers::Here(..)).then_some(&stream.batch)
    }

    /// Passes all events on to the sinks' threads and makes them count by `commit`. It gets how many
    /// events sinks have dropped that were not reported, and for each sink all events that the back
    /// end has added and the sink's thread has not taken. Returns whether there was room for them.
    /// If not, the threads have the events nevertheless. The only sink's events stay.
    pub(crate) fn commit(&mut self, commit: impl FnOnce(u64, &[&Batch]) -> bool) -> bool {
        if let Some(batch) = self.here() {
            return commit(self.unreported_drops(), &[batch]);
        }
        let mut takes = Vec::new();
        for Layout { formatter, streams } in &mut self.layouts {
            for stream in streams {
                stream.report_dropped(formatter, Occasion::Round);
                stream.count();
                let Writers::Threads(workers) = &mut stream.writers else { continue };
                for worker in workers {
                    let is_empty = stream.batch.is_empty();
                    takes.push(!is_empty && worker.makes_room(&stream.batch));
                }
            }
        }
        let dropped = self.unreported_drops();
        // A thread takes events under the lock. So it takes no event that does not count, except
        // those for which the store has no room.
        let mut states: Vec<_> =
            self.threads.iter().map(|thread| (&thread.link, thread.link.lock(), false)).collect();
        let mut takes = takes.into_iter();
        for stream in self.layouts.iter_mut().flat_map(|layout| &mut layout.streams) {
            let Writers::Threads(workers) = &mut stream.writers else { continue };
            for (worker, takes) in workers.iter_mut().zip(&mut takes) {
                let own = worker.take_own();
                let (link, lane) = worker.link();
                let state = states.iter_mut().find(|(other, ..)| Arc::ptr_eq(link, other));
                let Some((_, state, must_wake)) = state else { continue };
                *must_wake |= state.lanes[lane].append(&own);
                if takes {
                    *must_wake |= state.lanes[lane].append(&stream.batch);
                }
            }
        }
        let lanes = states.iter().flat_map(|(_, state, _)| &state.lanes);
        let all: Vec<_> = lanes.map(|lane| &lane.pending).collect();
        let has_room = commit(dropped, &all);
        drop(all);
        for (link, state, must_wake) in states {
            if must_wake {
                link.notify(state);
            }
        }
        for layout in &mut self.layouts {
            layout.streams.iter_mut().for_each(|stream| stream.batch.clear(KEPT));
        }
        has_room
    }

    /// Returns how many events sinks have dropped that were not reported.
    fn unreported_drops(&self) -> u64 {
        let streams = self.layouts.iter().flat_map(|layout| &layout.streams);
        streams.map(Stream::unreported).sum()
    }

    /// Adds events that a process left for a sink, which are written before all others. `ends` says
    /// where each of them ends.
    pub(crate) fn add_events(
        &mut self,
        (lane, bytes, ends): (usize, Vec<u8>, Vec<usize>),
        now: UnixTime,
    ) {
        let Some(counts) = self.progress.counts.sinks.get(lane) else { return };
        counts.taken.add(ends.len() as u64);
        let events = Batch::of(bytes, ends, now);
        for stream in self.layouts.iter_mut().flat_map(|layout| &mut layout.streams) {
            match &mut stream.writers {
                Writers::Here(..) => return stream.batch.append(&events),
                Writers::Threads(workers) => {
                    if let Some(worker) = workers.iter_mut().find(|it| it.is_of(counts)) {
                        return worker.add_own(&events);
                    }
                }
            }
        }
    }

    /// Returns whether all events are safe: they are written, or a sink's thread has them. Without
    /// a store, the thread must have written them too.
    pub(crate) fn is_written(&self, is_kept: bool) -> bool {
        let counts = &self.progress.counts;
        self.here().map_or_else(
            || is_kept || counts.sinks.iter().all(|sink| sink.waiting() == 0),
            Batch::is_empty,
        )
    }

    /// Waits until each sink has room for more events, unless it fails or stalls. Returns `false`
    /// if the wait would cost records of the queues.
    pub(crate) fn have_room(&mut self) -> bool {
        let mut streams = self.layouts.iter_mut().flat_map(|layout| &mut layout.streams);
        streams.all(|stream| match &mut stream.writers {
            Writers::Here(..) => true,
            Writers::Threads(workers) => workers.iter_mut().all(Worker::waits_for_room),
        })
    }
}
