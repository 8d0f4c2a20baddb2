//! What became of the flight recorder's files, as incidents and errors.

use core::time::Duration;
use std::io;
use std::path::Path;
use std::sync::Arc;

use tach_flight::options::NoFiles;
use tach_flight::recorder::Owner;
use tach_flight::requests::NoAnswer;

use crate::error::{Class, Error};
use crate::incident::{Incident, Reporter};
use crate::progress::Progress;

/// The back end's part of the recorder.
pub(crate) type Recorder = tach_flight::recorder::Recorder<Reports>;

/// Reports the recorder's files.
#[derive(Clone)]
pub(crate) struct Reports {
    pub(crate) progress: Arc<Progress>,
    pub(crate) reporter: Reporter,
}

impl Owner for Reports {
    fn mark_thread(&self) {
        self.progress.signals.waker.mark_thread();
    }

    fn calls_program(&self) -> bool {
        self.reporter.on_incident.is_some()
    }

    fn report(&self, process: Option<u64>, written: Result<&Path, &io::Error>) {
        self.reporter.clone().report(&match (process, written) {
            (None, Ok(path)) => Incident::Recorded { path },
            (None, Err(error)) => Incident::NotRecorded { error },
            (Some(process), Ok(path)) => Incident::RecordingRecovered { process, path },
            (Some(process), Err(error)) => Incident::RecordingNotRecovered { process, error },
        });
    }
}

impl Error {
    /// Returns the error for a recorder that can't write files.
    pub(crate) fn no_files(why: NoFiles) -> Self {
        let NoFiles::Folder(path, error) = why else {
            let message = "the flight recorder writes files after a panic or a slow span, and has no \
                           folder for them; name one by FlightRecorder::folder";
            return Self::other(Class::Open, message.to_owned(), None);
        };
        let path = path.display();
        let mut message =
            format!("can't write the flight recorder's files to the folder {path}: {error}");
        // An error with an inner error already names the remedy. Add one to any other error.
        if error.get_ref().is_none() {
            message.push_str(
                "; it must be a folder where this process can make files, or a new one in such a \
                 folder",
            );
        }
        Self::other(Class::Open, message, Some(error))
    }

    /// Returns the error for a snapshot that the back end did not make within `timeout`.
    pub(crate) fn no_snapshot(why: NoAnswer, timeout: Duration) -> Self {
        match why {
            NoAnswer::Ended => Self::ended(),
            NoAnswer::TimedOut => Self::timed_out(timeout, &[]),
        }
    }

    pub(crate) fn no_recorder() -> Self {
        let message = "the pipeline has no flight recorder; add one by Builder::flight_recorder";
        Self::other(Class::Other, message.to_owned(), None)
    }

    pub(crate) fn record(error: io::Error) -> Self {
        let message = format!("can't write the flight recorder's spans and events: {error}");
        Self::other(Class::Other, message, Some(error))
    }
}
