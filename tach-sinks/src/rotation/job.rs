//! The old files of one log.

use std::ffi::OsStr;
use std::path::Path;

use tach_core::UnixTime;
use tach_files::{Entry, Place};

use super::Rotation;
use super::names::Old;

/// The old files of one log.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) place: Place,
    pub(crate) rotation: Rotation,
    /// The log itself. Old files must belong to the same owner.
    pub(crate) log: Entry,
    /// The present time by the pipeline's clock.
    pub(crate) now: UnixTime,
}

impl Job {
    /// Reads the name of an old file of the log.
    pub(crate) fn read(&self, name: &OsStr) -> Option<Old> {
        self.rotation.names.read(name, self.place.name())
    }

    /// Returns whether a name is that of a compressed file while it is incomplete.
    pub(crate) fn is_part(&self, name: &OsStr) -> bool {
        let path = Path::new(name);
        let is_part = path.extension() == Some("part".as_ref());
        let done = path.file_stem().filter(|_| is_part);
        done.and_then(|done| self.read(done)).is_some_and(|old| old.is_compressed)
    }
}
