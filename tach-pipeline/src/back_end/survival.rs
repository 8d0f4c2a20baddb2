//! Commits what was passed on, so that it outlives the process, and passes on the records of
//! processes that have ended.

use core::time::Duration;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use tach_core::UnixTime;

use super::assembly::Spans;
use super::inboxes::Inboxes;
use super::selection::{Selected, Selection};
use crate::frame::Frame;
use crate::incident::Incident;
use crate::queue::WhenFull;
use crate::queue::file::RingFile;
use crate::shared::Shared;
use crate::sink::all::Sinks;
use crate::sink::batch::Batch;
use crate::sink::spools::SpoolFile;

/// How long records stay in the queues because their events find no room in the file, and the sink
/// does not take them. After that they are in memory alone.
const LONGEST_HELD: Duration = Duration::from_secs(1);

/// The file of a pipeline, which says what was passed on.
pub(crate) trait Ledger: Send {
    /// Adds what the pipeline's flight recorder gets from now on.
    fn attach(&mut self, spans: &mut Spans);

    /// Begins a commit.
    fn begin(&mut self);

    /// Makes `progress` count, and the events of all sinks with it, all at once. The events of a
    /// sink contain those of the last commit, unless the sink's thread has taken them since.
    /// Returns whether there was room. If not, nothing has changed.
    fn commit(&mut self, progress: &Progress, all: &[&Batch]) -> bool;

    /// Makes `progress` count, although the file has no room for all events of a commit. The events
    /// that are not in the file are lost if the process ends before they are written.
    fn commit_without(&mut self, progress: &Progress);

    /// Notes that the last commit counts.
    fn committed(&mut self);

    /// Removes the file. Call after everything was written.
    fn remove(&self);
}

/// What processes that have ended have left.
pub(crate) trait Recovery: Send {
    fn is_empty(&self) -> bool;

    /// Returns what is passed on next, or `None` if nothing is left.
    ///
    /// # Errors
    ///
    /// If a file can't be read. The file stays, and later calls continue with the next file.
    fn next(&mut self, now: UnixTime) -> Result<Option<Piece>, Skipped>;

    /// Ends a file after all that was passed on of it counts.
    ///
    /// # Errors
    ///
    /// If that fails.
    fn end(&mut self) -> Result<(), Skipped>;

    /// Passes what flight recorders had kept to the recorder. Call after all was passed on. Returns
    /// the files that stay.
    fn write_recordings(&mut self, to: &Spans) -> Vec<Skipped>;

    /// Returns the number of the file that is being passed on, and how many of its items were.
    fn takes(&self) -> (u64, u64);

    /// Notes how far the file was passed on. Call before the ledger is removed.
    ///
    /// # Errors
    ///
    /// If that fails.
    fn pause(&self) -> io::Result<()>;
}

/// How far the pipeline has come.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// For each ring, how many of its words were passed on.
    pub(crate) positions: Vec<u64>,
    /// How many dropped records were reported.
    pub(crate) reported: u64,
    /// How often the last record was repeated, and from when to when.
    pub(crate) repeats: Option<(u64, UnixTime, UnixTime)>,
    /// The file that is being taken over, and how many of its items were passed on.
    pub(crate) takes: (u64, u64),
    /// How many records over the rate limit were reported.
    pub(crate) refused: u64,
    /// How many events sinks have dropped that were not reported.
    pub(crate) sinks_dropped: u64,
}

/// A part of what a process has left.
#[derive(Default)]
pub(crate) struct Piece {
    /// A record of the pipeline's own about the process.
    pub(crate) report: Option<Vec<u8>>,
    /// The number of a sink, events in its format, and where each of them ends.
    pub(crate) events: Option<(usize, Vec<u8>, Vec<usize>)>,
    /// A record of the process, and when it happened.
    pub(crate) record: Option<(Vec<u8>, UnixTime)>,
    /// Whether this must be written and count before the next part is passed on.
    pub(crate) must_count: bool,
    /// Whether all of a file was passed on.
    pub(crate) is_end: bool,
}

/// A file that stays as it is, and why.
#[derive(Debug)]
pub(crate) struct Skipped {
    pub(crate) name: OsString,
    pub(crate) why: io::Error,
}

/// A pipeline's own file, and those of processes that have ended.
pub(crate) struct Found {
    /// An error if the files of processes that have ended take all the room.
    pub(crate) own: io::Result<OwnFile>,
    pub(crate) recovery: Box<dyn Recovery>,
    pub(crate) skipped: Vec<Skipped>,
}

/// The file of a pipeline, as its rooms see it.
pub(crate) struct OwnFile {
    pub(crate) rings: Arc<dyn RingFile>,
    pub(crate) spools: Arc<dyn SpoolFile>,
    pub(crate) ledger: Box<dyn Ledger>,
}

pub(crate) struct Survival {
    /// `None` if records are passed on, and the pipeline's own don't outlive the process.
    ledger: Option<Box<dyn Ledger>>,
    recovery: Box<dyn Recovery>,
    progress: Progress,
    /// Since when events find no room in the file.
    behind: Option<Instant>,
    when_full: WhenFull,
}

impl Survival {
    pub(crate) fn new(
        ledger: Option<Box<dyn Ledger>>,
        recovery: Box<dyn Recovery>,
        when_full: WhenFull,
    ) -> Self {
        Self { ledger, recovery, progress: Progress::default(), behind: None, when_full }
    }

    /// Adds what the pipeline's flight recorder gets to the file from now on.
    pub(super) fn attach(&mut self, spans: &mut Spans) {
        self.ledger.iter_mut().for_each(|ledger| ledger.attach(spans));
    }

    /// Passes everything on to the sinks, makes it count and frees its room in the queues. Call
    /// before a pipeline's only sink writes.
    pub(super) fn commit(
        &mut self,
        inboxes: &mut Inboxes,
        selection: &Selection,
        sinks: &mut Sinks,
    ) {
        let Self { ledger: Some(ledger), progress, .. } = &mut *self else { return };
        ledger.begin();
        inboxes.positions(|number, position| {
            let Ok(at) = usize::try_from(number) else { return };
            if progress.positions.len() <= at {
                progress.positions.resize(at + 1, 0);
            }
            progress.positions[at] = position;
        });
        if self.commit_progress(selection, sinks) {
            inboxes.free();
        }
    }

    /// Returns whether everything counts.
    fn commit_progress(&mut self, selection: &Selection, sinks: &mut Sinks) -> bool {
        let Self { ledger: Some(ledger), recovery, progress, behind, .. } = self else {
            return true;
        };
        progress.reported = sinks.reported_drops;
        progress.repeats = selection.repeats();
        progress.takes = recovery.takes();
        let mut counts = sinks.commit(|dropped, events| {
            progress.sinks_dropped = dropped;
            ledger.commit(progress, events)
        });
        if counts {
            *behind = None;
        } else if behind.get_or_insert_with(Instant::now).elapsed() >= LONGEST_HELD {
            ledger.commit_without(progress);
            counts = true;
        }
        if counts {
            ledger.committed();
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
        spans: &Spans,
        sinks: &mut Sinks,
    ) {
        if self.recovery.is_empty()
            || !sinks.is_written(self.ledger.is_some())
            || !sinks.have_room()
        {
            return;
        }
        sinks.begin_round(&shared.filters);
        loop {
            let now = shared.now();
            let left = match self.recovery.next(now) {
                Ok(Some(left)) => left,
                Ok(None) => {
                    let skipped = self.recovery.write_recordings(spans);
                    return skipped.iter().for_each(|skipped| stays(sinks, skipped));
                }
                Err(skipped) => {
                    stays(sinks, &skipped);
                    continue;
                }
            };
            if let Some(record) = left.report.as_deref().and_then(Frame::read) {
                sinks.record(&record, now);
            }
            if let Some(events) = left.events {
                sinks.add_events(events, now);
            }
            if let Some((record, time)) = left.record {
                selection.record(&record, time, &shared.filters, |record, time, selected| {
                    if selected != Selected::Count {
                        sinks.came(record.level);
                    }
                    if selected != Selected::Repeated {
                        sinks.record(record, time);
                    }
                });
            }
            if (left.must_count || sinks.is_full()) && !self.write(selection, shared, sinks) {
                return;
            }
            if left.is_end {
                if let Err(skipped) = self.recovery.end() {
                    stays(sinks, &skipped);
                }
            }
        }
    }

    /// Writes what was passed on. Returns whether all of it is written and counts, and more may be
    /// passed on at once.
    fn write(&mut self, selection: &Selection, shared: &Shared, sinks: &mut Sinks) -> bool {
        let counts = self.commit_progress(selection, sinks);
        sinks.write(false);
        let is_written = sinks.is_written(self.ledger.is_some());
        let is_safe = is_written && (counts || self.commit_progress(selection, sinks));
        // Without a file of its own, a pipeline that is killed now writes these records again.
        let may_go_on = sinks.have_room() && !self.would_drop(shared);
        is_safe && may_go_on && (self.ledger.is_some() || self.recovery.pause().is_ok())
    }

    /// Returns whether records of this process would soon be dropped, since nobody reads its queues.
    fn would_drop(&self, shared: &Shared) -> bool {
        self.when_full != WhenFull::Block && shared.channel.progress.pressure.is_on()
    }

    /// Removes the file, if everything `is_written`.
    pub(super) fn end(&mut self, is_written: bool) {
        // A file whose records were passed on in part must know that before this one is removed.
        if is_written && self.recovery.pause().is_ok() {
            self.ledger.iter().for_each(|ledger| ledger.remove());
        }
    }
}

fn stays(sinks: &Sinks, Skipped { name, why }: &Skipped) {
    let incident = Incident::NotRecovered { file: Path::new(name), error: why };
    sinks.reporter.clone().report(&incident);
}
