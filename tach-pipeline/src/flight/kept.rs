//! The recorder's items in the file of a pipeline, and those of a process that has ended.

use core::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::Arc;
use std::{io, panic};

use super::ring::{Block, Ring};
use super::snapshot::Snapshot;
use super::writing::Begun;
use super::{Flight, Recorder};
use crate::frame;
use crate::host;
use crate::incident::{Incident, Reporter};
use crate::spans::standing::Standing;
use crate::survive::{
    MOST_FILES, Recorded, Recording, RecordingFile, RecordingLeft, Skipped, Store,
};

/// How many files of processes stay if their recordings can't be written. The others are the room
/// of the processes that are killed next, whose records may be newer.
const MOST_THAT_STAY: usize = MOST_FILES / 2;

/// An item that a file has.
pub(crate) enum Kept<'a> {
    /// The record of an event.
    Event(&'a [u8]),
    /// The state and the records of a span.
    Span(Standing, &'a [u8]),
}

impl Ring {
    /// Passes all items, those of a block after those of the blocks before.
    fn each(&self, each: &mut dyn FnMut(&Kept<'_>)) {
        self.iter().for_each(|block| block.each(each));
    }
}

impl Block {
    fn each(&self, each: &mut dyn FnMut(&Kept<'_>)) {
        let records = frame::split_all(&self.bytes);
        records.filter(|it| !frame::is_of_span(it)).for_each(|it| each(&Kept::Event(it)));
        for kept in &self.spans {
            let span = kept.span(&self.bytes, &[]);
            each(&Kept::Span(Standing::of_ended(&span), span.records));
        }
    }

    /// Returns the event that was added last.
    fn last_event(&self, bytes: usize) -> Option<Kept<'_>> {
        Some(Kept::Event(self.bytes.get(self.bytes.len().checked_sub(bytes)?..)?))
    }

    /// Returns the span that was added last.
    fn last_span(&self) -> Option<Kept<'_>> {
        let span = self.spans.last()?.span(&self.bytes, &[]);
        Some(Kept::Span(Standing::of_ended(&span), span.records))
    }
}

impl Recorder {
    /// Keeps the items in the file too.
    pub(crate) fn keep(&mut self, store: &Arc<Store>) {
        self.kept = Some(Recording::new(store, self.ring.most(), self.ring.max_age()));
    }

    /// Adds the event of `bytes` that the ring has got last.
    pub(super) fn keep_event(&mut self, bytes: usize) {
        let Self { kept: Some(kept), ring, .. } = self else { return };
        if let Some(item) = ring.newest().last_event(bytes) {
            kept.add(&item, |each| ring.each(each));
        }
    }

    /// Adds the span that the ring has got last.
    pub(super) fn keep_span(&mut self) {
        let Self { kept: Some(kept), ring, .. } = self else { return };
        if let Some(item) = ring.newest().last_span() {
            kept.add(&item, |each| ring.each(each));
        }
    }

    /// Returns what the next commit names.
    pub(crate) fn kept(&mut self) -> Recorded {
        self.kept.as_mut().map(Recording::recorded).unwrap_or_default()
    }

    /// Notes that the commit counts.
    pub(crate) fn committed(&mut self) {
        self.kept.as_mut().into_iter().for_each(Recording::committed);
    }

    /// Writes what the recorders of processes that have ended had kept, on a new thread, since the
    /// back end must read the queues meanwhile. Returns the files if this recorder writes none.
    pub(crate) fn recovered(&self, files: Vec<RecordingFile>) -> Vec<RecordingFile> {
        if self.flight.files.is_none() || files.is_empty() {
            return files;
        }
        let names: Vec<_> = files.iter().map(|file| file.name().clone()).collect();
        let begun: Vec<_> = files.iter().map(|_| self.flight.writing.begin()).collect();
        let (flight, progress) = (Arc::clone(&self.flight), Arc::clone(&self.progress));
        let (redacted, reporter) = (Arc::clone(&self.redacted), self.reporter.clone());
        let started = host::spawn("tach-flight", move || {
            progress.waker.mark_thread();
            let younger = (0..files.len()).rev();
            for ((file, begun), younger) in files.into_iter().zip(begun).zip(younger) {
                let stays = younger < MOST_THAT_STAY;
                write_of(&flight, &file, begun, stays, &redacted, &mut reporter.clone());
            }
        });
        if let Err(error) = started {
            for name in &names {
                let file = Path::new(name);
                self.reporter.clone().report(&Incident::NotRecovered { file, error: &error });
            }
        }
        Vec::new()
    }
}

/// Writes what the recorder of a process that has ended had kept, and then removes the process's
/// file. If this process is killed before, the next one writes the same. If the file can't be
/// written and `stays`, the next one tries again.
fn write_of(
    flight: &Flight,
    file: &RecordingFile,
    begun: Begun,
    stays: bool,
    redacted: &Arc<[String]>,
    reporter: &mut Reporter,
) {
    let Some(files) = &flight.files else { return };
    let process = file.process;
    let written = panic::catch_unwind(AssertUnwindSafe(|| {
        let left = file.read().map_err(Unwritten::Read)?;
        let snapshot = snapshot(&left, Arc::clone(redacted));
        files.write_of(&snapshot, process).map_err(Unwritten::Write)
    }));
    let is_taken = |error: &io::Error| error.kind() == io::ErrorKind::AlreadyExists;
    let outcome = match written {
        Ok(Ok(path)) => Ok(path),
        Ok(Err(Unwritten::Read(error))) => {
            let file = Path::new(file.name());
            return report(&Incident::NotRecovered { file, error: &error }, begun, reporter);
        }
        // If the names are taken, processes have died each time that they wrote this file.
        Ok(Err(Unwritten::Write(error))) if stays && !is_taken(&error) => {
            let why = format!("its flight recorder's file can't be written now: {error}");
            let (file, error) = (Path::new(file.name()), &io::Error::new(error.kind(), why));
            return report(&Incident::NotRecovered { file, error }, begun, reporter);
        }
        Ok(Err(Unwritten::Write(error))) => Err(error),
        // It would panic at each start.
        Err(_) => Err(io::Error::other("the format panicked")),
    };
    let removed = file.remove();
    let incident = match &outcome {
        Ok(path) => Incident::RecordingRecovered { process, path },
        Err(error) => Incident::RecordingNotRecovered { process, error },
    };
    report(&incident, begun, reporter);
    if let Err(Skipped { name, why }) = removed {
        reporter.report(&Incident::NotRecovered { file: Path::new(&name), error: &why });
    }
}

/// Reports how the writing of a file has ended. A flush waits for the message on stderr, but not
/// for the user's function.
fn report(incident: &Incident<'_>, begun: Begun, reporter: &mut Reporter) {
    let begun = Some(begun).filter(|_| reporter.on_incident.is_none());
    reporter.report(incident);
    drop(begun);
}

/// Why a recorder's file was not written.
enum Unwritten {
    Read(io::Error),
    Write(io::Error),
}

fn snapshot(left: &RecordingLeft, redacted: Arc<[String]>) -> Snapshot {
    let mut ring = Ring::new(usize::MAX, left.age);
    for (time, event) in &left.events {
        ring.event(event, *time);
    }
    for span in left.spans.iter().map(|span| span.span(&[])).filter(|it| !it.is_unfinished) {
        ring.span(&span);
    }
    let mut snapshot = Snapshot::new(&ring, left.last, redacted);
    for span in left.spans.iter().map(|span| span.span(&[])).filter(|it| it.is_unfinished) {
        snapshot.add(&span);
    }
    snapshot
}
