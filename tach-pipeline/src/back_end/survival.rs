//! Commits what was passed on, so that it outlives the process, and passes on the records of
//! processes that have ended.

use core::mem;
use core::time::Duration;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use std::{io, thread};

use tach_core::UnixTime;

use super::assembly::Spans;
use super::inboxes::Inboxes;
use super::selection::{Selected, Selection};
use crate::frame::Frame;
use crate::incident::Incident;
use crate::queue::file::RingFile;
use crate::queue::{Loss, WhenFull};
use crate::shared::Shared;
use crate::sink::all::Sinks;
use crate::sink::all::survival::Waiting;
use crate::stats::Dropped;
use tach_sinks::adapter::Notes;

/// How long records stay in the queues for a sink that is slow, if the queues have no room for
/// others. After that they are in memory alone.
const LONGEST_HELD: Duration = Duration::from_millis(250);
/// How long a flush waits until records count, and a recovery for a collector that fails.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// How often a flush looks whether what was passed on is written.
const BETWEEN_LOOKS: Duration = Duration::from_micros(200);

/// The file of a pipeline, which says what was passed on.
pub(crate) trait Ledger: Send {
    /// Adds what the pipeline's flight recorder gets from now on.
    fn attach(&mut self, spans: &mut Spans);

    /// Looks now and then whether the file is of use, and begins another one if it is not. Returns
    /// whether there is another one, or none any more.
    ///
    /// # Errors
    ///
    /// If the file was of no use, or there is still none: if nobody was told before.
    fn renew(&mut self) -> io::Result<bool>;

    /// Notes how far the pipeline has come, which counts after the next [commit](Self::commit). If
    /// the pipeline's only sink `is_alone`, a write of its file may say so before.
    fn prepare(&mut self, progress: &Progress, is_alone: bool);

    /// Makes the progress count.
    fn commit(&mut self, progress: &Progress);

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

    /// Marks how far the file was passed on. Returns whether that is further than was noted.
    fn mark(&mut self) -> bool;

    /// Notes in the file that all up to the mark is written, and gives its room back.
    ///
    /// # Errors
    ///
    /// If that fails.
    fn note(&mut self) -> Result<(), Skipped>;
}

/// How far the pipeline has come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// For each ring, how many of its words were passed on.
    pub(crate) positions: Vec<u64>,
    /// How many dropped records were reported.
    pub(crate) reported: u64,
    /// How often the last record was repeated.
    pub(crate) repeats: u64,
    /// How many records over the rate limit were reported.
    pub(crate) refused: u64,
    /// How many events sinks have dropped that were not reported, or have in memory alone.
    pub(crate) sinks_lost: u64,
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

/// A pipeline's own file, as its rooms see it, and those of processes that have ended.
pub(crate) struct Found {
    pub(crate) rings: Arc<dyn RingFile>,
    pub(crate) notes: Arc<dyn Notes>,
    pub(crate) ledger: Box<dyn Ledger>,
    /// Why there is no file yet.
    pub(crate) fault: Option<io::Error>,
    pub(crate) recovery: Box<dyn Recovery>,
    pub(crate) skipped: Vec<Skipped>,
    /// How many records of processes that have ended are lost.
    pub(crate) lost: u64,
    /// Whether one more file would be too many.
    pub(crate) is_full: bool,
}

/// Records that were passed on, and that not all sinks may have written.
struct Held {
    since: Instant,
    /// Whether the sinks have got the records.
    came: bool,
}

pub(crate) struct Survival {
    folder: PathBuf,
    ledger: Box<dyn Ledger>,
    recovery: Box<dyn Recovery>,
    progress: Progress,
    /// Whether `progress` is prepared and does not count yet.
    held: Option<Held>,
    /// How many events came for each sink before the records that are held, and what the sinks had
    /// [dropped](Sinks::drops) by then.
    came: Vec<u64>,
    drops: [u64; 2],
    /// Whether the queues had little room since records last counted. A caller that waits for room
    /// says so once.
    lacks_room: bool,
    /// How many events had come for each sink when the recovery was marked.
    passed: Vec<u64>,
    /// Whether these are not all written. When they are, that is noted in the file.
    is_marked: bool,
    /// Whether all of the file was passed on.
    is_over: bool,
    /// Since when records wait for a collector.
    remote_waits: Option<Instant>,
    /// How many records of processes that have ended are lost and not reported yet.
    lost: u64,
    when_full: WhenFull,
}

impl Survival {
    pub(crate) fn new(
        folder: &Path,
        ledger: Box<dyn Ledger>,
        recovery: Box<dyn Recovery>,
        lost: u64,
        when_full: WhenFull,
    ) -> Self {
        Self {
            folder: folder.to_owned(),
            ledger,
            recovery,
            progress: Progress::default(),
            held: None,
            came: Vec::new(),
            drops: [0; 2],
            lacks_room: false,
            passed: Vec::new(),
            is_marked: false,
            is_over: false,
            remote_waits: None,
            lost,
            when_full,
        }
    }

    /// Adds what the pipeline's flight recorder gets to the file from now on.
    pub(super) fn attach(&mut self, spans: &mut Spans) {
        self.ledger.attach(spans);
    }

    /// Notes how far the records were passed on. Call before the sinks write.
    pub(super) fn prepare(&mut self, inboxes: &mut Inboxes, selection: &Selection, sinks: &Sinks) {
        let Self { ledger, progress, held, .. } = self;
        let renewed = ledger.renew();
        if let Err(error) = &renewed {
            let incident = Incident::NotKept { folder: &self.folder, error };
            sinks.reporter.clone().report(&incident);
        }
        if renewed.unwrap_or(true) {
            progress.positions.clear();
            *held = None;
        }
        if held.is_some() {
            return;
        }
        inboxes.positions(|number, position| {
            let Ok(at) = usize::try_from(number) else { return };
            if progress.positions.len() <= at {
                progress.positions.resize(at + 1, 0);
            }
            progress.positions[at] = position;
        });
        progress.reported = sinks.reported_drops;
        progress.repeats = selection.repeats();
        ledger.prepare(progress, sinks.are_alone());
        *held = Some(Held { since: Instant::now(), came: false });
    }

    /// Notes whether the queues have little room.
    pub(super) fn note_pressure(&mut self, is_on: bool) {
        self.lacks_room |= is_on;
    }

    /// Makes the records count, and frees their room in the queues, if all sinks have written them,
    /// or the file has them. Call after the sinks got them. What a sink has not written that fails
    /// stays in the queues while these have room.
    pub(super) fn commit(&mut self, inboxes: &mut Inboxes, sinks: &Sinks) {
        let Self { ledger, progress, held, came, drops, lacks_room, .. } = self;
        let Some(Held { since, came: have_come }) = held else { return };
        sinks.gather();
        if !mem::replace(have_come, true) {
            sinks.taken(came);
            *drops = sinks.drops();
        }
        let waiting = sinks.waiting_of(came);
        let is_late = waiting.is_failing || since.elapsed() >= LONGEST_HELD;
        if waiting.events() == 0 || is_late && *lacks_room {
            let [unreported, refused] = sinks.drops();
            // Those that were refused since are of records that the rings still have.
            let given_up = unreported.saturating_sub(refused - drops[1]);
            progress.sinks_lost = unreported.min(given_up.max(drops[0])) + waiting.events();
            ledger.commit(progress);
            inboxes.free();
            (*held, *lacks_room) = (None, false);
        }
    }

    /// Notes that records over the rate limit are reported. The report counts with the next commit.
    pub(super) fn refused(&mut self, count: u64) {
        self.progress.refused += count;
    }

    /// Waits until the records count, unless a sink fails or is slow. Call before a flush is done:
    /// the process may end then.
    pub(super) fn settle(&mut self, inboxes: &mut Inboxes, sinks: &Sinks) {
        let start = Instant::now();
        while let Some(Held { came: true, .. }) = &self.held {
            if sinks.waiting_of(&self.came).is_failing || start.elapsed() >= LONGEST_WAIT {
                return;
            }
            thread::sleep(BETWEEN_LOOKS);
            self.commit(inboxes, sinks);
        }
    }

    /// Returns whether records of a process that has ended wait, or records that were passed on do
    /// not count yet. Those that wait for a sink that fails take longer than a nap.
    pub(super) fn is_waiting(&self, sinks: &Sinks) -> bool {
        let is_failing = |came: &[u64]| sinks.waiting_of(came).is_failing;
        let is_late = self.is_marked && is_failing(&self.passed);
        self.held.is_some() && !is_failing(&self.came) || !is_late && !self.recovery.is_empty()
    }

    /// Passes on the records of processes that have ended. If a sink fails or has no room, or the
    /// pipeline's own queues need their turn, a later call goes on.
    pub(super) fn recover(
        &mut self,
        selection: &mut Selection,
        shared: &Shared,
        spans: &Spans,
        sinks: &mut Sinks,
        is_asked: bool,
    ) {
        let now = shared.now();
        if self.lost > 0 {
            let records = Dropped::new(mem::take(&mut self.lost), now, now);
            sinks.queue_dropped(&Loss { records, spans: 0, is_incomplete: false });
        }
        if self.recovery.is_empty() {
            return;
        }
        sinks.begin_round(&shared.filters);
        loop {
            self.note_passed(sinks);
            let start = Instant::now();
            while self.is_over && !self.end_file(sinks) {
                if !is_asked || start.elapsed() >= LONGEST_WAIT {
                    return;
                }
                thread::sleep(BETWEEN_LOOKS);
            }
            if !sinks.have_room() {
                return;
            }
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
            self.is_over = left.is_end;
            if left.is_end || left.must_count || sinks.is_full() {
                sinks.write(false);
                sinks.gather();
                self.mark(sinks);
                // Nobody reads the queues of this process meanwhile.
                if self.when_full != WhenFull::Block && shared.progress.signals.pressure.is_on() {
                    return;
                }
            }
        }
    }

    /// Marks how far the file of a process was passed on, unless an earlier mark is not noted yet.
    fn mark(&mut self, sinks: &Sinks) {
        if !self.is_marked && self.recovery.mark() {
            sinks.taken(&mut self.passed);
            self.is_marked = true;
        }
    }

    /// Notes how far the file of a process was passed on, as far as it is written. A collector that
    /// fails holds nothing up for long, unless there are only collectors.
    fn note_passed(&mut self, sinks: &Sinks) {
        if !self.is_marked {
            return;
        }
        let Waiting { local, remote, is_failing } = sinks.waiting_of(&self.passed);
        if remote == 0 {
            self.remote_waits = None;
        }
        let mut since = || self.remote_waits.get_or_insert_with(Instant::now).elapsed();
        let gives_up = remote > 0 && since() >= LONGEST_WAIT && is_failing && !sinks.are_remote();
        if local > 0 || remote > 0 && !gives_up {
            return;
        }
        // What is in memory alone counts with the next commit.
        self.lacks_room |= gives_up;
        if let Err(skipped) = self.recovery.note() {
            stays(sinks, &skipped);
        }
        self.is_marked = false;
    }

    /// Removes the file of a process of which all was passed on. Returns `false` if not all of that
    /// is written yet.
    fn end_file(&mut self, sinks: &Sinks) -> bool {
        self.note_passed(sinks);
        self.mark(sinks);
        self.note_passed(sinks);
        if self.is_marked {
            return false;
        }
        if let Err(skipped) = self.recovery.end() {
            stays(sinks, &skipped);
        }
        self.is_over = false;
        true
    }

    /// Removes the file, if everything `is_written`.
    pub(super) fn end(&mut self, is_written: bool, sinks: &Sinks) {
        self.note_passed(sinks);
        if is_written {
            self.ledger.remove();
        }
    }
}

fn stays(sinks: &Sinks, Skipped { name, why }: &Skipped) {
    let incident = Incident::NotRecovered { file: Path::new(name), error: why };
    sinks.reporter.clone().report(&incident);
}
