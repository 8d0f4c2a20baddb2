//! The items of the flight recorder in the file of a pipeline, and those of a process that has ended.

use core::panic::AssertUnwindSafe;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{io, panic};

use arc_swap::ArcSwapOption;

use super::contents;
use super::dead::Dead;
use super::store::{Kept, Recording, Store};
use crate::flight::files::Files;
use crate::flight::recorder::Keeps;
use crate::flight::ring::{Block, Ring};
use crate::flight::writing::Begun;
use crate::flight::{Flight, Recorder, Snapshot};
use crate::incident::{Incident, Reporter};
use tach_record::host;

/// How many processes in a row may be killed while they write the file of one that has ended.
const TRIES: u64 = 16;

/// The items of a recorder in the file that there is now.
struct Recorded {
    current: Arc<ArcSwapOption<Store>>,
    recording: Option<Recording>,
}

impl Recorded {
    /// Begins anew if there is another file.
    fn begin(&mut self, ring: &Ring) {
        let store = self.current.load();
        let Some(store) = &*store else { return };
        if !self.recording.as_ref().is_some_and(|recording| recording.is_of(store)) {
            self.recording = Some(Recording::new(store, ring.most(), ring.max_age));
        }
    }

    fn add(&mut self, ring: &Ring, item: &Kept<'_>) {
        self.begin(ring);
        self.recording.iter_mut().for_each(|recording| recording.add(item));
    }
}

impl Keeps for Recorded {
    fn event(&mut self, bytes: usize, ring: &Ring) {
        let newest = &ring.current.bytes;
        let start = newest.len().saturating_sub(bytes);
        self.add(ring, &Kept::Event(&newest[start..]));
    }

    fn span(&mut self, ring: &Ring) {
        let Block { bytes, spans, .. } = &ring.current;
        if let Some(span) = spans.last() {
            self.add(ring, &Kept::Span(&span.span(bytes, &[])));
        }
    }
}

/// Keeps the items of a recorder in the pipeline's file.
pub(super) fn attach(recorder: &mut Recorder, current: &Arc<ArcSwapOption<Store>>) {
    let mut keeps = Recorded { current: Arc::clone(current), recording: None };
    // A process that dies before the first item has a recorder too.
    keeps.begin(&recorder.ring);
    recorder.keeps = Some(Box::new(keeps));
}

/// The file of a process that has ended, of which nothing is left but what its flight recorder had
/// kept.
pub(super) struct RecordingFile {
    pub(super) dead: Dead,
    /// The last events, which the recorder may not have got.
    pub(super) later: VecDeque<Vec<u8>>,
}

/// Writes what the recorders of processes that have ended had kept, on a new thread, since the back
/// end must read the queues meanwhile. Returns the files if the recorder writes none.
pub(super) fn write_all(recorder: &Recorder, files: Vec<RecordingFile>) -> Vec<RecordingFile> {
    if recorder.flight.files.is_none() || files.is_empty() {
        return files;
    }
    let first = files[0].dead.name().clone();
    let begun: Vec<_> = files.iter().map(|_| recorder.flight.writing.begin()).collect();
    let (flight, progress) = (Arc::clone(&recorder.flight), Arc::clone(&recorder.progress));
    let (redacted, reporter) = (Arc::clone(&recorder.redacted), recorder.reporter.clone());
    let started = host::spawn("tach-flight", move || {
        progress.signals.waker.mark_thread();
        for (file, begun) in files.into_iter().zip(begun) {
            write_one(&flight, &file, begun, &redacted, &mut reporter.clone());
        }
    });
    if let Err(error) = started {
        let incident = Incident::NotRecovered { file: Path::new(&first), error: &error };
        recorder.reporter.clone().report(&incident);
    }
    Vec::new()
}

/// Writes what the recorder of a process that has ended had kept, and then removes the process's
/// file. If this process is killed before, or the file can't be written, the next one writes the
/// same.
fn write_one(
    flight: &Flight,
    file: &RecordingFile,
    begun: Begun,
    redacted: &Arc<[String]>,
    reporter: &mut Reporter,
) {
    let Some(files) = &flight.files else { return };
    let RecordingFile { dead, later } = file;
    let mut process = 0;
    let written = panic::catch_unwind(AssertUnwindSafe(|| {
        let image = dead.image()?;
        process = image.process();
        let (ring, last) = contents::recorded(&image, later.iter().map(Vec::as_slice));
        let snapshot = Snapshot::new(&ring, last, Arc::clone(redacted));
        drop(ring);
        write_file(files, &snapshot, process)
    }));
    // A format that panics would panic at each start. If the names are taken, processes have died
    // each time that they wrote this file.
    let outcome = match written {
        Ok(Err(error)) if error.kind() != io::ErrorKind::AlreadyExists => {
            let why = format!("its flight recorder's file can't be written now: {error}");
            let (file, error) = (Path::new(dead.name()), &io::Error::new(error.kind(), why));
            return report(&Incident::NotRecovered { file, error }, begun, reporter);
        }
        Ok(outcome) => outcome,
        Err(_) => Err(io::Error::other("the format panicked")),
    };
    let removed = dead.remove();
    let incident = match &outcome {
        Ok(path) => Incident::RecordingRecovered { process, path },
        Err(error) => Incident::RecordingNotRecovered { process, error },
    };
    report(&incident, begun, reporter);
    if let Err(error) = removed {
        reporter.report(&Incident::NotRecovered { file: Path::new(dead.name()), error: &error });
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
