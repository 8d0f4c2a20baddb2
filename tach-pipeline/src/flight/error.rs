//! The errors of the flight recorder.

use std::io;
use std::path::Path;

use crate::error::{Class, Error};

impl Error {
    /// Returns the error for a folder that can't be used.
    pub(super) fn folder(path: &Path, error: io::Error) -> Self {
        let path = path.display();
        let mut message =
            format!("can't write the flight recorder's files to the folder {path}: {error}");
        // An error with an inner error already names the remedy. Others need one.
        if error.get_ref().is_none() {
            message.push_str(
                "; it must be a folder where this process can make files, or a new one in such a \
                 folder",
            );
        }
        Self::other(Class::Open, message, Some(error))
    }

    pub(super) fn no_folder() -> Self {
        let message = "the flight recorder writes files after a panic or a slow span, and has no \
                       folder for them; name one by FlightRecorder::folder";
        Self::other(Class::Open, message.to_owned(), None)
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
