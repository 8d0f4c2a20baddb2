//! The items of the flight recorder in the file of a pipeline, and those of a process that has ended.

use core::panic::AssertUnwindSafe;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{io, panic};

use super::contents::{Contents, RecordingLeft, contents};
use super::dead::{Dead, MOST_FILES};
use super::store::{Kept, Recorded, Recording, Store};
use crate::back_end::survival::Skipped;
use crate::flight::files::Files;
use crate::flight::recorder::Keeps;
use crate::flight::ring::{Block, Ring};
use crate::flight::writing::Begun;
use crate::flight::{Flight, Recorder, Snapshot};
use crate::frame;
use crate::incident::{Incident, Reporter};
use crate::sync::Lock;
use tach_record::host;

/// How many files of processes stay if their recordings can't be written. The others are the room
/// of the processes that are killed next, whose records may be newer.
const MOST_THAT_STAY: usize = MOST_FILES / 2;
/// How many processes in a row may be killed while they write the file of one that has ended.
const TRIES: u64 = 16;

/// The items in a file, which the recorder adds and a commit counts.
#[derive(Clone)]
pub(super) struct SharedRecording(Arc<Lock<Recording>>);

impl SharedRecording {
    /// Keeps the items of a recorder.
    pub(super) fn attach(recorder: &mut Recorder, store: &Arc<Store>) -> Self {
        let recording = Recording::new(store, recorder.ring.most(), recorder.ring.max_age);
        let shared = Self(Arc::new(Lock::new(recording)));
        recorder.keeps = Some(Box::new(shared.clone()));
        shared
    }

    /// Returns what the next commit names.
    pub(super) fn recorded(&self) -> Recorded {
        self.0.lock().recorded()
    }

    /// Notes that the commit counts.
    pub(super) fn committed(&self) {
        self.0.lock().committed();
    }
}

impl Keeps for SharedRecording {
    fn event(&mut self, bytes: usize, ring: &Ring) {
        let newest = &ring.current.bytes;
        let event = newest.len().checked_sub(bytes).and_then(|start| newest.get(start..));
        if let Some(event) = event {
            self.0.lock().add(&Kept::Event(event), |each| each_of(ring, each));
        }
    }

    fn span(&mut self, ring: &Ring) {
        let Block { bytes, spans, .. } = &ring.current;
        if let Some(span) = spans.last() {
            let item = Kept::Span(&span.span(bytes, &[]));
            self.0.lock().add(&item, |each| each_of(ring, each));
        }
    }
}

/// Passes all items, those of a block after those of the blocks before.
fn each_of(ring: &Ring, each: &mut dyn FnMut(&Kept<'_>)) {
    for block in ring.iter() {
        let records = frame::split_all(&block.bytes);
        records.filter(|it| !frame::is_of_span(it)).for_each(|it| each(&Kept::Event(it)));
        for kept in &block.spans {
            each(&Kept::Span(&kept.span(&block.bytes, &[])));
        }
    }
}

/// The file of a process that has ended, of which nothing is left but what its flight recorder had
/// kept.
pub(super) struct RecordingFile {
    pub(super) dead: Dead,
    pub(super) process: u64,
    /// How many items were passed on.
    pub(super) taken: u64,
}

impl RecordingFile {
    /// Reads what the recorder had kept, with the records that were on their way.
    ///
    /// # Errors
    ///
    /// If the file can't be read.
    pub(super) fn read(&self) -> io::Result<RecordingLeft> {
        self.dead.with_image(|image| {
            let Contents { records, recording } = contents(image);
            recording.with(records)
        })
    }

    /// Removes the file. Call when the recording is written, or nothing writes it.
    ///
    /// # Errors
    ///
    /// If that fails.
    pub(super) fn remove(&self) -> Result<(), Skipped> {
        // If the name stays, the file says that it has nothing left.
        let removed = self.dead.note_taken(self.taken + 1).and_then(|()| self.dead.remove());
        removed.map_err(|why| Skipped { name: self.name().clone(), why })
    }

    pub(super) fn name(&self) -> &OsString {
        self.dead.name()
    }
}

/// Writes what the recorders of processes that have ended had kept, on a new thread, since the back
/// end must read the queues meanwhile. Returns the files if the recorder writes none.
pub(super) fn write_all(recorder: &Recorder, files: Vec<RecordingFile>) -> Vec<RecordingFile> {
    if recorder.flight.files.is_none() || files.is_empty() {
        return files;
    }
    let names: Vec<_> = files.iter().map(|file| file.name().clone()).collect();
    let begun: Vec<_> = files.iter().map(|_| recorder.flight.writing.begin()).collect();
    let (flight, progress) = (Arc::clone(&recorder.flight), Arc::clone(&recorder.progress));
    let (redacted, reporter) = (Arc::clone(&recorder.redacted), recorder.reporter.clone());
    let started = host::spawn("tach-flight", move || {
        progress.waker.mark_thread();
        let younger = (0..files.len()).rev();
        for ((file, begun), younger) in files.into_iter().zip(begun).zip(younger) {
            let stays = younger < MOST_THAT_STAY;
            write_one(&flight, &file, begun, stays, &redacted, &mut reporter.clone());
        }
    });
    if let Err(error) = started {
        for name in &names {
            let file = Path::new(name);
            recorder.reporter.clone().report(&Incident::NotRecovered { file, error: &error });
        }
    }
    Vec::new()
}

/// Writes what the recorder of a process that has ended had kept, and then removes the process's
/// file. If this process is killed before, the next one writes the same. If the file can't be
/// written and `stays`, the next one tries again.
fn write_one(
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
        write_file(files, &snapshot, process).map_err(Unwritten::Write)
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

/// Writes the file of a process that has ended, and returns its path.
fn write_file(files: &Files, snapshot: &Snapshot, process: u64) -> io::Result<PathBuf> {
    // A process that was killed while it wrote the file has left a partial one.
    let tries = (0..TRIES).map(|number| files.write_as(snapshot, process, number));
    let is_taken = |error: &io::Error| error.kind() == io::ErrorKind::AlreadyExists;
    let mut written = tries.skip_while(|written| written.as_ref().is_err_and(is_taken));
    written.next().unwrap_or_else(|| Err(io::ErrorKind::AlreadyExists.into()))
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
    for span in &left.spans {
        ring.span(&span.span());
    }
    Snapshot::new(&ring, left.last, redacted)
}
