//! A file that is appended to, rotated, and opened again if it was moved or deleted.

use core::mem;
use core::time::Duration;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Instant;

use tach_core::UnixTime;
use tach_files::{Access, Entry, Place};

use super::rotation::{Rotation, Tidying};
use crate::faults::Faults;
use crate::host::FILE_MODE;

/// How often the path is looked at.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);
/// The bits of a mode, and the one that lets the owner write.
const ALL_RIGHTS: u32 = 0o777;
const OWNER_WRITES: u32 = 0o200;

/// When a write waits until its records are on the disk: see [`Sink::sync`](crate::Sink::sync).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum SyncPolicy {
    /// Never: the system writes the records to the disk some seconds later. Written records outlive
    /// the process, but not a machine that loses power.
    #[default]
    Never,
    /// At every write.
    Every,
}

/// Options of a file.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Options {
    /// Whether the file stays open if it was moved or deleted.
    pub(super) is_kept: bool,
    pub(super) rotation: Option<Rotation>,
    /// The mode of a new file, whatever the umask.
    pub(super) mode: Option<u32>,
    pub(super) sync: SyncPolicy,
}

impl Options {
    /// Adds a fault for each option that can't work for the file at `path`.
    pub(super) fn check(&self, faults: &mut Faults, path: &Path) {
        if let Some(rotation) = self.rotation {
            rotation.check(faults, path);
        }
        if let Some(mode) = self.mode {
            let is_mode = mode & !ALL_RIGHTS == 0 && mode & OWNER_WRITES != 0;
            let call = || format!("Sink::file(\"{}\").mode({mode:#o})", path.display());
            let wanted = "a mode is octal, 0o777 at most, and lets the owner write, such as 0o640";
            faults.unless(is_mode, call, wanted);
        }
    }

    fn access(&self) -> Access {
        self.mode.map_or(Access::at_most(FILE_MODE), Access::exactly)
    }
}

pub(super) struct LogFile {
    /// `None` for a device, a FIFO or a standard stream, which stays open: it is neither renamed
    /// nor followed.
    place: Option<Place>,
    file: File,
    options: Options,
    /// How many bytes the file has, and when it was last written, if it is rotated.
    length: u64,
    written: UnixTime,
    tidying: Tidying,
    /// What was opened.
    entry: Entry,
    /// Some file systems count no links.
    has_links: bool,
    /// When the path was looked at last.
    looked: Instant,
    /// Whether the disk refused what was written last.
    is_unsynced: bool,
}

impl LogFile {
    /// Opens a file for appending, and creates it and its folders if they are missing. Links of the
    /// path are resolved now, and no later call follows any.
    ///
    /// # Errors
    ///
    /// If that fails, or if the file is to be rotated in a folder where it must not be.
    pub(super) fn open(path: &Path, options: Options) -> io::Result<Self> {
        if let Some(file) = tach_files::open_special(path)? {
            let entry = Entry::of(&file)?;
            return Ok(Self::new(None, file, options, entry));
        }
        let place = Place::of(path)?;
        if options.rotation.is_some() {
            place.make_folder()?.refuse_if_shared()?;
        }
        Self::at(place, options, &options.access())
    }

    fn at(place: Place, options: Options, access: &Access) -> io::Result<Self> {
        let folder = place.make_folder()?;
        let file = folder.append(place.name(), access)?;
        let entry = Entry::of(&file)?;
        Ok(Self::new(Some(place), file, options, entry))
    }

    fn new(place: Option<Place>, file: File, options: Options, entry: Entry) -> Self {
        let metadata = file.metadata().ok();
        let written = metadata.as_ref().and_then(|it| UnixTime::try_from(it.modified().ok()?).ok());
        // A file at the path that has no links is one whose links are not counted.
        let is_at_path = |place: &Place| {
            Entry::at(&place.path()).is_ok_and(|it| it.is_some_and(|it| !it.is_other(&entry)))
        };
        let has_links = entry.links() > 0 || !place.as_ref().is_some_and(is_at_path);
        Self {
            place,
            file,
            options,
            length: metadata.map_or(0, |it| it.len()),
            written: written.unwrap_or_else(UnixTime::now),
            tidying: Tidying::default(),
            entry,
            has_links,
            looked: Instant::now(),
            is_unsynced: false,
        }
    }

    /// Opens the path anew. If that fails, the old file stays. A new file gets the mode and the
    /// owner of the old one.
    ///
    /// # Errors
    ///
    /// If that fails.
    pub(super) fn reopen(&mut self) -> io::Result<()> {
        let Some(place) = self.place.clone() else { return Ok(()) };
        // The mode may have been changed since the file was opened.
        let access = Access::of(&Entry::of(&self.file)?);
        let new = Self::at(place, self.options, &access)?;
        *self = Self { tidying: mem::take(&mut self.tidying), ..new };
        self.tidying.writes(self.entry);
        Ok(())
    }

    /// # Errors
    ///
    /// If the bytes can't be written, or can't be brought to the disk. In the second case they are
    /// in the file, and are written again once the disk works.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_unsynced {
            // Otherwise each try would write them once more.
            self.sync()?;
        }
        let count = self.file.write(bytes)?;
        if self.rotation().is_some() {
            self.length += count as u64;
            self.written = UnixTime::now();
        }
        // The rest of a part comes next.
        if self.options.sync == SyncPolicy::Every && count == bytes.len() {
            self.sync()?;
        }
        Ok(count)
    }

    fn sync(&mut self) -> io::Result<()> {
        let synced = match self.file.sync_data() {
            // Devices, FIFOs and some file systems have no disk.
            Err(error) if is_without_disk(&error) => Ok(()),
            synced => synced,
        };
        self.is_unsynced = synced.is_err();
        synced
    }

    /// Returns the rotation, if this is a regular file.
    fn rotation(&self) -> Option<Rotation> {
        self.options.rotation.filter(|_| self.place.is_some())
    }

    /// Returns whether the file must be rotated before so many bytes are written.
    pub(super) fn is_due(&self, more: usize) -> bool {
        let is_due =
            |rotation: Rotation| rotation.is_due(self.length, more, self.written, UnixTime::now());
        self.rotation().is_some_and(is_due)
    }

    /// Returns whether both are one file that at least one of them rotates.
    pub(super) fn shares_rotation(&self, other: &Self) -> bool {
        let is_rotated = self.rotation().is_some() || other.rotation().is_some();
        // Except on Unix files have no identity.
        let is_other =
            || self.entry.is_other(&other.entry) || !cfg!(unix) && self.place != other.place;
        is_rotated && !is_other()
    }

    /// Renames the file and opens the path anew. If that fails, the old file stays.
    ///
    /// # Errors
    ///
    /// If that fails.
    pub(super) fn rotate(&mut self) -> io::Result<()> {
        let Some(place) = &self.place else { return Ok(()) };
        // A folder that is missing has no file to rename, and is made when the file is.
        let folder = place.make_folder()?;
        folder.refuse_if_shared()?;
        let found = folder.entry(place.name())?;
        // Otherwise somebody else moved it.
        if found.is_some_and(|found| !found.is_other(&self.entry)) {
            Rotation::rename(&folder, place.name(), UnixTime::now())?;
        }
        self.reopen()
    }

    /// Begins to compress and delete old files.
    ///
    /// # Errors
    ///
    /// If that can't begin, or failed the last time.
    pub(super) fn tidy(&mut self) -> io::Result<()> {
        match (self.rotation(), self.place.clone()) {
            (Some(rotation), Some(place)) => self.tidying.begin(place, rotation, self.entry),
            _ => Ok(()),
        }
    }

    /// Returns whether another file, or none, is at the path. Looks at most once a second.
    pub(super) fn is_moved(&mut self) -> bool {
        let Some(place) = self.place.as_ref().filter(|_| self.is_followed()) else { return false };
        if self.looked.elapsed() < BETWEEN_LOOKS {
            return false;
        }
        self.looked = Instant::now();
        match Entry::at(&place.path()) {
            Ok(found) => found.is_none_or(|found| found.is_other(&self.entry)),
            Err(_) => false,
        }
    }

    /// Returns whether no path leads to the file, so that its contents are lost.
    pub(super) fn is_deleted(&self) -> bool {
        self.place.is_some()
            && self.is_followed()
            && self.has_links
            && Entry::of(&self.file).is_ok_and(|it| it.links() == 0)
    }

    fn is_followed(&self) -> bool {
        cfg!(unix) && !self.options.is_kept
    }
}

fn is_without_disk(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported)
}
