//! What the sinks of a pipeline do for records that outlive the process.

use std::sync::Arc;

use super::{Layout, Opened, Sinks};
use tach_core::UnixTime;

use crate::faults::Faults;
use crate::incident::Incident;
use crate::sink::batch::{Batch, KEPT};
use crate::sink::stream::{Stream, Writers};
use crate::sink::unreported::Occasion;
use crate::sink::worker::Worker;
use crate::stats::Items;
use crate::survive::{Events, LANES, Named, Progress, Receiving, Store, Unwritten};

impl Opened {
    /// Adds a fault if the sinks can't write records that outlive the process.
    pub(crate) fn check_kept(&mut self, call: impl Fn() -> String, faults: &mut Faults) {
        let few = format!("it needs {LANES} sinks at most");
        faults.unless(self.lanes().count() <= LANES, &call, &few);
        let ids = self.0.iter_mut().flat_map(|sink| &mut sink.lanes);
        let mut ids: Vec<_> = ids
            .filter_map(|lane| lane.writer.file().filter(|it| it.is_regular()))
            .map(|it| it.known_target())
            .collect();
        ids.sort_by_key(|it| (it.device, it.file));
        let before = ids.len();
        ids.dedup_by_key(|it| (it.device, it.file));
        let wanted = "two sinks have one file; give each sink its own file";
        faults.unless(ids.len() == before, &call, wanted);
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
            let named = Named { name, is_file: file.is_some() };
            Receiving { named, file: file.map(|file| file as _) }
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

    /// Passes all events on to the sinks' threads and makes them count, with `progress`. The only
    /// sink's events stay. Returns whether the store had room. If not, the threads have the events
    /// nevertheless.
    pub(crate) fn commit(&mut self, store: &Store, progress: &mut Progress) -> bool {
        if let Some(batch) = self.here() {
            progress.sinks_dropped = self.unreported_drops();
            let events = Events { lane: 0, bytes: batch.bytes(), ends: batch.ends() };
            return store.commit(progress, &[events]);
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
        progress.sinks_dropped = self.unreported_drops();
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
        let lanes = states.iter().flat_map(|(_, state, _)| &state.lanes).enumerate();
        let all: Vec<_> = lanes
            .map(|(lane, it)| Events { lane, bytes: it.pending.bytes(), ends: it.pending.ends() })
            .collect();
        let has_room = store.commit(progress, &all);
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

    /// Adds events that a process left for a sink, which are written before all others.
    pub(crate) fn add_events(&mut self, events: Unwritten, now: UnixTime) {
        let Unwritten { lane, bytes, ends } = events;
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

    /// Returns how many records were ever reported as dropped by the queues.
    pub(crate) const fn reported_drops(&self) -> u64 {
        self.reported_drops
    }

    /// Reports an incident.
    pub(crate) fn note(&self, incident: &Incident<'_>) {
        self.reporter.clone().report(incident);
    }
}
