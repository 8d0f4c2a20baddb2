//! A file that is appended to, rotated, and opened again if it was moved or deleted.

use core::mem;
use core::time::Duration;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::thread::Builder;
use std::time::Instant;

use tach_core::UnixTime;
use tach_files::{Access, Entry, Folder, Place};

use crate::batch::{BATCH, Batch};
use crate::faults::Faults;
use crate::os::{HAS_IDENTITIES, most_together};
use crate::rotation::{Rotation, Spawn, Tidying};

/// The shortest time between two checks of whether the file was moved.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);
/// The least difference between the times in the names of two files.
const AFTER: Duration = Duration::from_micros(1);
/// The most attempts to open a file that no other process compresses.
const TRIES: usize = 8;
/// The mode of a new file, less the umask.
pub const FILE_MODE: u32 = 0o640;
/// All permission bits of a mode, and the bit that lets the owner write.
const ALL_RIGHTS: u32 = 0o777;
const OWNER_WRITES: u32 = 0o200;

/// When a write waits until its records are on the disk: see [`File::sync`](crate::File::sync).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(rename_all = "snake_case"))]
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
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Whether the file stays open after it was moved or deleted.
    pub is_kept: bool,
    /// When the file is rotated.
    pub rotation: Option<Rotation>,
    /// The mode of a new file, whatever the umask.
    pub mode: Option<u32>,
    /// When a write waits for the disk.
    pub sync: SyncPolicy,
    /// Starts a thread. By default the thread is like any other of the process.
    pub spawn: Spawn,
}

impl Default for Options {
    #[inline]
    fn default() -> Self {
        let spawn: Spawn = |name, run| Builder::new().name(name.to_owned()).spawn(run);
        Self { is_kept: false, rotation: None, mode: None, sync: SyncPolicy::Never, spawn }
    }
}

impl Options {
    /// Adds a fault for each option that can't work for the file at `path`, which was set on what
    /// the call `of` returns.
    pub fn check(&self, faults: &mut Faults, of: &str, path: &Path) {
        if let Some(rotation) = self.rotation {
            rotation.check(faults, of, path);
        }
        if let Some(mode) = self.mode {
            let is_mode = mode & !ALL_RIGHTS == 0 && mode & OWNER_WRITES != 0;
            let call = || format!("{of}.mode({mode:#o})");
            let wanted = "a mode is octal, 0o777 at most, and lets the owner write, such as 0o640";
            faults.unless(is_mode, call, wanted);
        }
    }

    fn access(&self) -> Access {
        self.mode.map_or(Access::at_most(FILE_MODE), Access::exactly)
    }
}

/// The place of what an output is about to write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Target {
    /// The number of the device.
    pub device: u64,
    /// The number of the file on it.
    pub file: u64,
    /// A lower bound of the file's length.
    pub length: u64,
}

/// A file that is appended to, rotated, and opened again if it was moved or deleted.
#[derive(Debug)]
pub struct LogFile {
    /// `None` for a device, a FIFO or a standard stream. These stay open: they are neither rotated
    /// nor opened again.
    pub place: Option<Place>,
    /// The open file.
    pub file: File,
    options: Options,
    /// The file's length in bytes. What other processes write to it counts at the next check of the
    /// path.
    pub length: u64,
    /// When the first and the last record in the file happened, kept up to date only if the file is
    /// rotated. For records of earlier processes, the time of the last write. `begun` is always
    /// later than that of the previous file, even if the clock was set back or recovered records
    /// are older: cleaning deletes the files with the earliest names first.
    begun: UnixTime,
    written: UnixTime,
    /// The time of the next record, or else the present time, by the pipeline's clock, which may
    /// differ from the system's.
    now: UnixTime,
    tidying: Tidying,
    /// The identity, the mode and the owner of the file, read when the file was opened.
    pub entry: Entry,
    /// Whether the file system counts the links to a file. If it doesn't, a count of zero does not
    /// show that the file was deleted.
    has_links: bool,
    /// How many bytes of one write stay together, without other writers' bytes between them: few if
    /// this is a FIFO.
    pub(crate) most_together: usize,
    /// When the path was last checked.
    looked: Instant,
    /// Whether the last sync failed, so that the bytes of the last write may not be on the disk.
    is_unsynced: bool,
}

/// What is known of a file that is open.
#[derive(Debug, Clone)]
pub struct KnownFile {
    place: Place,
    /// The file that was at the place.
    entry: Entry,
    is_rotated: bool,
}

#[expect(clippy::must_use_candidate, reason = "hidden")]
impl KnownFile {
    /// Returns whether both are one file, and at least one of them rotates it.
    pub fn shares_rotation(&self, other: &Self) -> bool {
        // Compare the paths too: some file systems have no file ids, and a rotation changes the id.
        let is_known = self.entry.id().is_some() && other.entry.id().is_some();
        let is_same = is_known && !self.entry.is_other(&other.entry)
            || self.place.path() == other.place.path();
        (self.is_rotated || other.is_rotated) && is_same
    }
}

#[expect(clippy::must_use_candidate, reason = "hidden")]
impl LogFile {
    /// Opens a file for appending. Creates the file and its folders if they are missing. Symbolic
    /// links in the path are resolved now. Later calls don't follow links.
    ///
    /// # Errors
    ///
    /// If the file can't be opened.
    pub fn open(path: &Path, options: Options) -> io::Result<Self> {
        if let Some(file) = tach_files::open_special(path)? {
            return Self::new(None, file, options);
        }
        Self::at(Place::of(path)?, options, &options.access())
    }

    /// Checks that the file can be rotated where it is.
    ///
    /// # Errors
    ///
    /// If other users may write the folder, and this process has more rights than they.
    pub(crate) fn check_rotation(&self) -> io::Result<()> {
        match (&self.place, self.rotation()) {
            (Some(place), Some(_)) => place.make_folder()?.refuse_if_shared(),
            _ => Ok(()),
        }
    }

    fn at(mut place: Place, options: Options, access: &Access) -> io::Result<Self> {
        let folder = place.make_folder()?;
        let file = append(&folder, place.name(), access)?;
        if options.sync == SyncPolicy::Every {
            // Sync the folder too: otherwise a power loss may remove the new file's name, whatever
            // was synced of its contents.
            folder.sync()?;
        }
        place.keep(folder);
        Self::new(Some(place), file, options)
    }

    fn new(place: Option<Place>, file: File, options: Options) -> io::Result<Self> {
        let entry = Entry::of(&file)?;
        let most_together = most_together(&file);
        // The file is at the path, so it has at least one link. If the count is zero, the file
        // system does not count links.
        let is_at_path =
            |place: &Place| found(place).is_ok_and(|it| it.is_some_and(|it| !it.is_other(&entry)));
        let has_links = entry.links() > 0 || !place.as_ref().is_some_and(is_at_path);
        // Some file systems store no modification time. Then the first period begins now.
        let written = entry.modified().map_or_else(UnixTime::now, UnixTime::from_system_time);
        Ok(Self {
            place,
            file,
            options,
            length: entry.length(),
            begun: if entry.length() == 0 { UnixTime::EPOCH } else { written },
            written,
            now: written,
            tidying: Tidying::default(),
            entry,
            has_links,
            most_together,
            looked: Instant::now(),
            is_unsynced: false,
        })
    }

    /// Opens the path again. If the file is missing, creates one with the mode and the owner of the
    /// old file.
    ///
    /// # Errors
    ///
    /// If the path can't be opened. The old file stays open.
    pub(crate) fn reopen(&mut self) -> io::Result<()> {
        let Some(place) = self.place.clone() else { return Ok(()) };
        // The mode may have been changed since the file was opened.
        let access = Access::of(&self.file)?;
        let new = Self::at(place, self.options, &access)?;
        let after = self.begun.saturating_add(AFTER);
        let begun = if new.length == 0 { after } else { new.begun };
        let tidying = mem::take(&mut self.tidying);
        let new = Self { tidying, begun, now: self.now, ..new };
        let old = mem::replace(self, new).file;
        self.tidying.writes(self.entry);
        // Unlock explicitly: closing would keep the lock as long as a forked child has the old file
        // open, which the child never writes.
        tach_files::unlock(&old);
        Ok(())
    }

    /// Returns whether this is a regular file, and no device, FIFO or standard stream.
    pub const fn is_regular(&self) -> bool {
        self.place.is_some()
    }

    /// Returns what is known of a regular file from now on.
    pub fn known(&self) -> Option<KnownFile> {
        let (place, is_rotated) = (self.place.clone()?, self.is_rotated());
        Some(KnownFile { place, entry: self.entry, is_rotated })
    }

    /// Returns the file, with a lower bound of its length.
    pub fn known_target(&self) -> Target {
        let (device, file) = self.entry.id().unwrap_or_default();
        Target { device, file, length: self.length }
    }

    /// Writes bytes, and syncs the file if its options say so.
    ///
    /// # Errors
    ///
    /// If the bytes can't be written, or can't be synced to the disk. If the sync failed, the bytes
    /// are already in the file. The caller writes them a second time, which succeeds once the disk
    /// works.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_unsynced {
            // Sync first: otherwise each failed try would append the same bytes to the file once
            // more.
            self.sync()?;
        }
        let count = self.file.write(bytes)?;
        if self.length == 0 {
            self.begun = self.begun.max(self.now);
        }
        self.length += count as u64;
        self.written = self.now;
        // If only a part was written, the caller writes the rest next. Sync after that.
        if self.options.sync == SyncPolicy::Every && count == bytes.len() {
            self.sync()?;
        }
        Ok(count)
    }

    fn sync(&mut self) -> io::Result<()> {
        let synced = match self.file.sync_data() {
            // Devices, FIFOs and some file systems can't be synced.
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

    /// Returns whether the file must be rotated before more of the batch is written.
    pub(crate) fn is_due<L: Copy>(&mut self, batch: &Batch<L>) -> bool {
        self.now = batch.time().unwrap_or(self.now);
        let (length, more) = (self.length, batch.next(BATCH).len());
        let is_due = |it: Rotation| it.is_due(length, more, self.written, self.now);
        self.rotation().is_some_and(is_due)
    }

    /// Returns the bytes for the next write: records that belong to one file.
    pub(crate) fn next<'a, L: Copy>(&mut self, batch: &'a Batch<L>) -> &'a [u8] {
        self.now = batch.time().unwrap_or(self.now);
        let (most, rotation) = (BATCH.min(self.most_together), self.rotation());
        batch.next_until(most, |time| rotation.is_some_and(|it| it.has_ended(self.now, time)))
    }

    /// Notes the present time by the pipeline's clock, before the first record.
    pub(crate) fn begin(&mut self, now: UnixTime) {
        self.now = now;
    }

    pub(crate) fn is_rotated(&self) -> bool {
        self.rotation().is_some()
    }

    /// Returns whether the file is empty. Asks the system, since other processes may have written
    /// the file since the last look.
    pub(crate) fn is_empty(&self) -> bool {
        Entry::of(&self.file).map_or(self.length, |it| it.length()) == 0
    }

    /// Returns whether the file must be rotated before the first write.
    pub(crate) fn is_due_at_start(&self) -> bool {
        !self.is_empty() && self.rotation().is_some_and(|rotation| rotation.is_at_start())
    }

    /// Renames the file for a rotation. Call [`reopen`](Self::reopen) next.
    ///
    /// # Errors
    ///
    /// If the file can't be renamed.
    pub(crate) fn move_away(&self) -> io::Result<()> {
        let (Some(place), Some(rotation)) = (&self.place, self.rotation()) else { return Ok(()) };
        // If the folder was removed, create it, since `reopen` needs it. There is no file to rename
        // then.
        let folder = place.make_folder()?;
        folder.refuse_if_shared()?;
        let is_other = |found: Option<Entry>| found.is_none_or(|it| it.is_other(&self.entry));
        rotation.alone(&folder, || {
            // If another file is at the path, somebody else has already moved this one.
            if is_other(folder.entry(place.name())?) {
                return Ok(());
            }
            let old = match rotation.rename(&folder, place.name(), &self.entry, self.begun) {
                // Another process has moved the file between the check and the renaming.
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                renamed => renamed?,
            };
            if is_other(folder.entry(&old)?) {
                // Another process moved our file first, so we renamed its new one. Rename that
                // back. If the path is taken again, it stays an old file.
                let _taken = folder.rename_new(&old, place.name());
            } else {
                // The age of a rotated file counts from its modification time. If setting that
                // fails, since the file is another user's, the age counts from the last write.
                let _last_write = self.file.set_modified(self.now.into());
            }
            Ok(())
        })
    }

    /// Begins to compress and delete old files.
    ///
    /// # Errors
    ///
    /// If the thread can't be started.
    pub(crate) fn tidy(&mut self) -> io::Result<()> {
        match (self.rotation(), self.place.clone()) {
            (Some(rotation), Some(place)) => {
                self.tidying.begin(place, rotation, self.entry, self.now, self.options.spawn)
            }
            _ => Ok(()),
        }
    }

    /// Returns how compressing and deleting old files ended, if it has ended since the last call.
    pub(crate) fn tidied(&self) -> Option<io::Result<()>> {
        self.tidying.outcome()
    }

    /// Returns whether the path is empty or leads to another file. Checks at most once a second,
    /// and returns `false` in between. Each check also reads the length again, and takes the lock
    /// if another program had it when the file was opened.
    pub(crate) fn is_moved(&mut self) -> bool {
        let Some(place) = &self.place else { return false };
        if self.looked.elapsed() < BETWEEN_LOOKS {
            return false;
        }
        self.looked = Instant::now();
        let _else_next_time = tach_files::try_lock_shared(&self.file);
        self.length = Entry::of(&self.file).map_or(self.length, |it| it.length());
        let is_other = |found: Option<Entry>| found.is_none_or(|it| it.is_other(&self.entry));
        self.is_followed() && found(place).is_ok_and(is_other)
    }

    /// Returns whether no path leads to the file, so that its contents are lost.
    pub(crate) fn is_deleted(&self) -> bool {
        self.place.is_some()
            && self.is_followed()
            && self.has_links
            && Entry::of(&self.file).is_ok_and(|it| it.links() == 0)
    }

    fn is_followed(&self) -> bool {
        HAS_IDENTITIES && !self.options.is_kept
    }
}

/// Opens a log for appending, with a shared lock: no process compresses the file before it is
/// closed. If another program keeps an exclusive lock, the log has no lock until a
/// [check](LogFile::is_moved) takes it.
fn append(folder: &Folder, name: &OsStr, access: &Access) -> io::Result<File> {
    for _ in 0..TRIES {
        let file = folder.append(name, access)?;
        let is_locked = tach_files::try_lock_shared(&file);
        let opened = Entry::of(&file)?;
        if is_locked && folder.entry(name)?.is_some_and(|found| !found.is_other(&opened)) {
            return Ok(file);
        }
        // Between the opening and the lock, another process rotated the file, and perhaps began to
        // compress it. The next try opens the new file.
    }
    folder.append(name, access)
}

fn found(place: &Place) -> io::Result<Option<Entry>> {
    place.folder()?.entry(place.name())
}

fn is_without_disk(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported)
}
