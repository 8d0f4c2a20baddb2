//! The files of processes that have ended.

use core::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use tach_core::UnixTime;
use tach_files::PrivateFolder;
use tach_record::keep::{Each, Recording};
use tach_sinks::adapter::OpenSink;

use super::contents;
use super::image::{self, Image, Lane, Ring, Unreadable};
use super::layout::{MOST_BYTES, PAGE, head, ring};
use super::mapping::Mapping;
use super::owner::{self, Owned};
use super::set_aside;
use super::store;
use super::written;
use tach_core::adapter::program_name;
use tach_record::queue::ring::OVERHEAD;

/// How many files of processes that have ended may be in a folder. A program that ends soon after
/// each start, before it has passed anything on, must not fill the memory.
pub(super) const MOST_FILES: usize = 4;

/// The file of a process that has ended, which no other process uses.
pub(super) struct Dead {
    folder: Arc<PrivateFolder>,
    name: OsString,
    memory: Mapping,
    owned: Owned,
    length: u64,
    /// How many bytes of the file have blocks on the disk, at least. A file with fewer was cut.
    reserved: Cell<u64>,
    started: UnixTime,
    /// Whether the file stays, because its flight recorder's items are not written yet.
    is_kept: bool,
}

/// The name of a file that is left as it is, and why.
pub(super) type Skipped = (OsString, io::Error);

/// What was found in a folder.
#[derive(Default)]
pub(super) struct Found {
    /// In the order in which their pipelines were built.
    pub(super) dead: Vec<Dead>,
    /// The names of the files beyond [`MOST_FILES`], and how many records each of them has. They
    /// are closed here, because a process may have only so many files open.
    pub(super) surplus: Vec<(OsString, u64)>,
    pub(super) skipped: Vec<Skipped>,
}

/// Finds the files of this program's processes that have ended. Cuts the half of a line that a
/// process left off its log, removes files that contain nothing for us, so that they don't count as
/// surplus, and sets aside files that can't be read. Call under the lock of the folder.
///
/// # Errors
///
/// If the folder can't be read.
pub(super) fn find(folder: &Arc<PrivateFolder>, to: &mut [OpenSink<'_>]) -> io::Result<Found> {
    let mut found = Found::default();
    for name in folder.names()?.into_iter().filter(|name| owner::id_of(name).is_some()) {
        match look(folder, &name, to) {
            Ok(dead) => found.extend(dead),
            // A file that another process has removed needs no recovery.
            Err(why) if why.kind() == io::ErrorKind::NotFound => {}
            Err(why) => {
                if matches!(why.kind(), io::ErrorKind::InvalidData | io::ErrorKind::Unsupported) {
                    set_aside::set_aside(folder, &name);
                }
                found.skipped.push((name, why));
            }
        }
    }
    Ok(found)
}

impl Found {
    /// Adds a file. If there are more than [`MOST_FILES`] then, closes the oldest.
    fn extend(&mut self, dead: Option<Dead>) {
        self.dead.extend(dead);
        self.dead.sort_by_key(|dead| dead.started);
        if self.dead.len() > MOST_FILES {
            let oldest = self.dead.remove(0);
            let lost = oldest.image().map_or(0, |it| contents::summary(&it, it.left()).all());
            self.surplus.push((oldest.name.clone(), lost));
        }
    }
}

/// Removes a file whose records count as lost. Call under the lock of the folder.
///
/// # Errors
///
/// If that fails.
pub(super) fn give_up(folder: &PrivateFolder, name: &OsStr) -> io::Result<()> {
    // Mark everything as taken first: if the file can't be removed, a later process must not pass
    // on records that count as lost.
    let all = u64::MAX.to_ne_bytes();
    folder.open(name)?.write_all_at(&all, head::TAKEN as u64)?;
    folder.remove(name)
}

/// Opens a file, unless a process uses it or it belongs to another program. Cuts the half of a line
/// that its last write left, and removes the file if it contains nothing for us.
fn look(
    folder: &Arc<PrivateFolder>,
    name: &OsStr,
    to: &mut [OpenSink<'_>],
) -> io::Result<Option<Dead>> {
    let Some(dead) = Dead::open(folder, name)? else { return Ok(None) };
    dead.settle(to)?;
    if dead.is_of_use()? {
        dead.trim();
        return Ok(Some(dead));
    }
    dead.remove()?;
    Ok(None)
}

impl Dead {
    /// Opens a file, or returns `None` if a process uses it or it belongs to another program.
    /// Removes a file whose process ended before it wrote anything.
    fn open(folder: &Arc<PrivateFolder>, name: &OsStr) -> io::Result<Option<Self>> {
        let file = folder.open(name)?;
        // Read the head instead of mapping the file: a process that still uses the file may write
        // it now, and the bytes of a mapping must not change.
        let mut head = [0; PAGE];
        let there = file.read_at(&mut head, 0)?;
        let (owner, program) = image::owner(&head[..there]);
        let is_other = ![program_name(), ""].contains(&program);
        if is_other || owner.uses(&file) {
            return Ok(None);
        }
        match Image::read(&head[..there]) {
            Err(Unreadable::Empty) => return folder.remove(name).map(|()| None),
            Err(Unreadable::Foreign) => return Err(Unreadable::Foreign.into()),
            // A head that looks damaged may only lack the rest of the file. The whole file is read
            // below.
            Ok(_) | Err(Unreadable::Damaged) => {}
        }
        let found = file.metadata()?;
        let length = usize::try_from(found.len()).unwrap_or(usize::MAX);
        let memory = Mapping::of_dead(&file, length.clamp(1, MOST_BYTES + 1))?;
        let image = Image::read(memory.bytes())?;
        let (started, reserved) = (image.started(), image.reserved());
        // Records in a file that somebody has cut may be torn.
        if store::is_cut(&found, reserved, reserved) || image.lanes().is_none() {
            return Err(Unreadable::Damaged.into());
        }
        let (folder, name, length) = (Arc::clone(folder), name.to_owned(), found.len());
        let (own, reserved) = (Owned::new(file)?, Cell::new(reserved));
        let is_kept = false;
        Ok(Some(Self { folder, name, memory, owned: own, length, reserved, started, is_kept }))
    }

    /// Returns whether somebody has cut the file since it was opened. What was read before may be
    /// torn: the bytes that were cut off read as zeros.
    pub(super) fn is_cut(&self) -> bool {
        let found = self.owned.file().metadata();
        let is_shorter = |found| store::is_cut(&found, self.length, self.reserved.get());
        self.memory.is_broken() || found.is_ok_and(is_shorter)
    }

    /// Returns the file's contents. Nothing may be written to the file meanwhile.
    ///
    /// # Errors
    ///
    /// If the file is damaged.
    pub(super) fn image(&self) -> io::Result<Image<'_>> {
        Image::read(self.memory.bytes()).map_err(io::Error::from)
    }

    /// Cuts the half of a line that the process's last write left off each log.
    fn settle(&self, to: &mut [OpenSink<'_>]) -> io::Result<()> {
        let image = self.image()?;
        let lanes = image.lanes().unwrap_or_default();
        for Lane { write, .. } in lanes {
            // Look in every log that we have open: its path may be spelled differently than before
            // the crash.
            for file in to.iter_mut().filter_map(|(_, file)| file.as_deref_mut()) {
                written::cut_half(&write, file)?;
            }
        }
        Ok(())
    }

    /// Returns whether the file has records, batches or a count of lost records that no log states.
    fn is_of_use(&self) -> io::Result<bool> {
        let image = self.image()?;
        let (taken, left) = (image.taken(), image.left());
        let mut lanes = (0..image.lane_count()).filter_map(|lane| image.lane(lane));
        let is_left = left.cut > 0
            || left.rings.iter().any(|ring| !ring.is_empty())
            || image.has_recorder()
            // `taken` counts the report and then the batches. If it is greater than the number of
            // lanes, all batches were passed on.
            || taken <= image.lane_count() as u64 && lanes.any(|lane| !lane.batch.ends.is_empty())
            || taken == 0 && image.lost() > 0;
        Ok(is_left && taken < u64::MAX)
    }

    /// Frees the blocks of rings without records: a folder may have `MOST_FILES` files of 64 MiB.
    fn trim(&self) {
        let rings = self.image().map_or_else(|_| Vec::new(), |image| image.left().rings);
        for ring in rings.iter().filter(|ring| ring.is_empty()) {
            let _at_the_end = self.note_ring(ring, ring.read, true);
        }
    }

    /// Stores in the file how many items before the records were passed on.
    ///
    /// # Errors
    ///
    /// If that can't be written.
    pub(super) fn note_taken(&self, taken: u64) -> io::Result<()> {
        self.store(head::TAKEN, taken)
    }

    /// Stores in the file how many words of a ring were passed on. If `is_all`, frees the ring's
    /// blocks.
    ///
    /// # Errors
    ///
    /// If that can't be written.
    pub(super) fn note_ring(&self, ring: &Ring, read: u64, is_all: bool) -> io::Result<()> {
        // The ring's blocks are freed already. A write would allocate one again, and at an
        // unchecked place if the file is damaged.
        if ring.place.is_empty() {
            return Ok(());
        }
        self.store(ring.place.start + OVERHEAD / 2, read)?;
        if is_all {
            self.store(ring::AT + ring.number * ring::BYTES + ring::LENGTH, 0)?;
            self.store(head::RESERVED, 0)?;
            let (start, length) = (ring.place.start as u64, ring.place.len() as u64);
            // Some file systems can't free blocks. Then they stay until the file is removed.
            let _until_it_is_removed = tach_files::give_back(self.owned.file(), start, length);
            self.reserved.set(self.reserved.get().saturating_sub(length));
        }
        Ok(())
    }

    /// Calls `write` with the items of the flight recorder, unless they were written before.
    ///
    /// # Errors
    ///
    /// If the file can't be read, or written.
    pub(super) fn recording(
        &mut self,
        write: &mut dyn FnMut(&Recording<'_>) -> bool,
    ) -> io::Result<()> {
        let image = self.image()?;
        if image.has_recorder() {
            let (process, max_age) = (image.process(), image.recorded_age());
            let (last, items) = (image.last_line(), &|each: &mut Each<'_>| {
                contents::recorded(&image, each);
            });
            self.is_kept = !write(&Recording { process, max_age, last, items });
            if !self.is_kept {
                self.store(head::RECORDED_AGE, 0)?;
            }
        }
        Ok(())
    }

    fn store(&self, at: usize, word: u64) -> io::Result<()> {
        let stored = self.owned.file().write_all_at(&word.to_ne_bytes(), at as u64);
        self.memory.stored();
        stored
    }

    /// Removes the file, unless a later process must still write its flight recorder's items. Call
    /// after all records were passed on.
    ///
    /// # Errors
    ///
    /// If that fails. The file says that nothing is left.
    pub(super) fn remove(&self) -> io::Result<()> {
        if self.is_kept {
            return Ok(());
        }
        self.note_taken(u64::MAX)?;
        let removed = self.folder.remove(&self.name);
        self.memory.stored();
        removed
    }

    /// Returns the name of the file, with why it is left as it is.
    pub(super) fn skipped(&self, why: io::Error) -> Skipped {
        (self.name.clone(), why)
    }
}

#[cfg(test)]
mod tests;
