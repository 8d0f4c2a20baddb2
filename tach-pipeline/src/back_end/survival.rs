//! Commits what was passed on, so that it outlives the process, and passes on the records of
//! processes that have ended.

use core::time::Duration;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::inboxes::Inboxes;
use super::selection::{Selected, Selection};
use super::spans::{Kept, Spans};
use crate::frame::Frame;
use crate::incident::Incident;
use crate::queue::WhenFull;
use crate::report;
use crate::shared::Shared;
use crate::sink::all::Sinks;
use crate::survive::{Next, Progress, Recovery, Skipped, Store};

/// How long records stay in the queues because their events find no room in the file, and the sink
/// does not take them. After that they are in memory alone.
const LONGEST_HELD: Duration = Duration::from_secs(1);

pub(crate) struct Survival {
    /// `None` if records are passed on, and the pipeline's own don't outlive the process.
    store: Option<Arc<Store>>,
    recovery: Recovery,
    progress: Progress,
    /// The spans that wait, in the file.
    kept: Option<Kept>,
    /// Since when events find no room in the file.
    behind: Option<Instant>,
    when_full: WhenFull,
}

impl Survival {
    pub(crate) fn new(store: Option<Arc<Store>>, recovery: Recovery, when_full: WhenFull) -> Self {
        let kept = store.as_ref().map(Kept::new);
        Self { store, recovery, progress: Progress::default(), kept, behind: None, when_full }
    }

    /// Returns the file.
    pub(crate) const fn store(&self) -> Option<&Arc<Store>> {
        self.store.as_ref()
    }

    /// Passes everything on to the sinks, makes it count and frees its room in the queues. Call
    /// before a pipeline's only sink writes.
    pub(super) fn commit(
        &mut self,
        inboxes: &mut Inboxes,
        selection: &Selection,
        spans: &mut Spans,
        sinks: &mut Sinks,
    ) {
        let Self { store: Some(store), progress, kept, .. } = &mut *self else { return };
        store.line();
        if let Some(kept) = kept {
            kept.add(spans, progress);
        }
        inboxes.positions(|number, position| {
            let Ok(at) = usize::try_from(number) else { return };
            if progress.positions.len() <= at {
                progress.positions.resize(at + 1, 0);
            }
            progress.positions[at] = position;
        });
        if self.commit_progress(selection, spans, sinks) {
            inboxes.free();
        }
    }

    /// Returns whether everything counts.
    fn commit_progress(
        &mut self,
        selection: &Selection,
        spans: &mut Spans,
        sinks: &mut Sinks,
    ) -> bool {
        let Self { store: Some(store), recovery, progress, kept, behind, .. } = self else {
            return true;
        };
        progress.reported = sinks.reported_drops();
        progress.repeats = selection.repeats();
        progress.takes = recovery.takes();
        let mut counts = sinks.commit(store, progress);
        if counts {
            *behind = None;
        } else if behind.get_or_insert_with(Instant::now).elapsed() >= LONGEST_HELD {
            store.commit_without(progress);
            counts = true;
        }
        if let Some(kept) = kept.as_mut().filter(|_| counts) {
            kept.committed(spans);
        }
        counts
    }

    /// Notes that records over the rate limit are reported. The report counts with the next commit.
    pub(super) fn refused(&mut self, count: u64) {
        self.progress.refused += count;
    }

    /// Returns whether events that were written found no room in the file, so that a commit is due.
    pub(super) const fn is_behind(&self) -> bool {
        self.behind.is_some()
    }

    /// Returns whether records of a process that has ended wait.
    pub(super) fn is_waiting(&self) -> bool {
        !self.recovery.is_empty()
    }

    /// Passes on the records of processes that have ended. If a sink fails or has no room, or the
    /// pipeline's own queues need their turn, a later call goes on.
    pub(super) fn recover(
        &mut self,
        selection: &mut Selection,
        shared: &Shared,
        spans: &mut Spans,
        sinks: &mut Sinks,
    ) {
        if self.recovery.is_empty() || !sinks.is_written(self.store.is_some()) || !sinks.have_room()
        {
            return;
        }
        sinks.begin_round(&shared.filters);
        loop {
            match self.recovery.next() {
                Ok(None) => {
                    for unwanted in spans.recorded_by(self.recovery.take_recordings()) {
                        if let Err(skipped) = unwanted.remove() {
                            stays(sinks, &skipped);
                        }
                    }
                    return;
                }
                Ok(Some(Next::Report(report))) => {
                    let now = shared.now();
                    if let Some(record) = Frame::read(&report::recovered(&report, now)) {
                        sinks.record(&record, now);
                    }
                    if !self.write(selection, shared, spans, sinks) {
                        return;
                    }
                }
                Ok(Some(Next::Doubtful(doubtful))) => {
                    let now = shared.now();
                    if let Some(record) = Frame::read(&report::doubtful(&doubtful, now)) {
                        sinks.record(&record, now);
                    }
                    // The record precedes the events in the sink.
                    if !self.write(selection, shared, spans, sinks) {
                        return;
                    }
                }
                Ok(Some(Next::Homeless(homeless))) => {
                    let now = shared.now();
                    let record = homeless.map(|it| report::homeless(&it, now));
                    if let Some(record) = record.as_deref().and_then(Frame::read) {
                        sinks.record(&record, now);
                    }
                    if !self.write(selection, shared, spans, sinks) {
                        return;
                    }
                }
                Ok(Some(Next::Events(events))) => {
                    sinks.add_events(events, shared.now());
                    if !self.write(selection, shared, spans, sinks) {
                        return;
                    }
                }
                Ok(Some(Next::Record(record, time))) => {
                    selection.record(&record, time, &shared.filters, |record, time, selected| {
                        if selected != Selected::Count {
                            sinks.came(record.level);
                        }
                        if selected != Selected::Repeated {
                            sinks.record(record, time);
                        }
                    });
                }
                Ok(Some(Next::Span(span))) => spans.recovered(&span, selection.redacted(), sinks),
                Ok(Some(Next::End)) => {
                    if !self.write(selection, shared, spans, sinks) {
                        return;
                    }
                    if let Err(skipped) = self.recovery.end() {
                        stays(sinks, &skipped);
                    }
                }
                Err(skipped) => stays(sinks, &skipped),
            }
            if sinks.is_full() && !self.write(selection, shared, spans, sinks) {
                return;
            }
        }
    }

    /// Writes what was passed on. Returns whether all of it is written and counts, and more may be
    /// passed on at once.
    fn write(
        &mut self,
        selection: &Selection,
        shared: &Shared,
        spans: &mut Spans,
        sinks: &mut Sinks,
    ) -> bool {
        let counts = self.commit_progress(selection, spans, sinks);
        sinks.write(false);
        let is_written = sinks.is_written(self.store.is_some());
        let is_safe = is_written && (counts || self.commit_progress(selection, spans, sinks));
        // Without a file of its own, a pipeline that is killed now writes these records again.
        let may_go_on = sinks.have_room() && !self.would_drop(shared);
        is_safe && may_go_on && (self.store.is_some() || self.recovery.pause().is_ok())
    }

    /// Returns whether records of this process would soon be dropped, since nobody reads its queues.
    fn would_drop(&self, shared: &Shared) -> bool {
        self.when_full != WhenFull::Block && shared.channel.progress.pressure.is_on()
    }

    /// Removes the file, if everything `is_written`.
    pub(super) fn end(&mut self, is_written: bool) {
        // A file whose records were passed on in part must know that before this one is removed.
        if is_written && self.recovery.pause().is_ok() {
            if let Some(store) = &self.store {
                store.remove();
            }
        }
    }
}

fn stays(sinks: &Sinks, Skipped { name, why }: &Skipped) {
    sinks.note(&Incident::NotRecovered { file: Path::new(name), error: why });
}
