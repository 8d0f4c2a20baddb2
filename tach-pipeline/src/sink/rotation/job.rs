//! The old files of one log.

use std::ffi::OsStr;
use std::path::Path;

use tach_core::UnixTime;
use tach_files::{Entry, Place};

use super::Rotation;
use super::names::Old;

/// The old files of one log.
pub(super) struct Job {
    pub(super) place: Place,
    pub(super) rotation: Rotation,
    /// The log itself. Old files must belong to the same owner.
    pub(super) log: Entry,
    /// The present time by the pipeline's clock.
    pub(super) now: UnixTime,
}

impl Job {
    /// Reads the name of an old file of the log.
    pub(super) fn read(&self, name: &OsStr) -> Option<Old> {
        self.rotation.names.read(name, self.place.name())
    }

    /// Returns whether a name is that of a compressed file while it is incomplete.
    pub(super) fn is_part(&self, name: &OsStr) -> bool {
        let path = Path::new(name);
        let is_part = path.extension() == Some("part".as_ref());
        let done = path.file_stem().filter(|_| is_part);
        done.and_then(|done| self.read(done)).is_some_and(|old| old.is_compressed)
    }
}
