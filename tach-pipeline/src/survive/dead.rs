//! The files of processes that have ended.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use tach_core::UnixTime;
use tach_files::PrivateFolder;

use super::image::{Image, Lane, Left, OwnImage, Unreadable, Write};
use super::items::{counterparts, events_of, named};
use super::layout::{MOST_BYTES, head, lane, write};
use super::own::{self, Own};
use super::settle::{Receiver, settle};
use crate::back_end::survival::Skipped;
use crate::sink::spools::Receiving;

/// The file of a process that has ended, which no other process uses.
pub(super) struct Dead {
    folder: Arc<PrivateFolder>,
    name: OsString,
    pub(super) id: u64,
    file: File,
    started: UnixTime,
    /// Which file the process was passing on, and how many of its items it had.
    takes: (u64, u64),
    /// After the file, so that it is dropped later.
    _own: Own,
}

/// What was found in a folder.
#[derive(Default)]
pub(super) struct Found {
    /// In the order in which their pipelines were built.
    pub(super) dead: Vec<Dead>,
    pub(super) skipped: Vec<Skipped>,
    /// How many files wait for one that was skipped, or that another process uses.
    pub(super) waiting: usize,
}

/// Finds the files of processes that have ended, and finishes their last writes. Removes the files
/// that are of no use any more.
///
/// # Errors
///
/// If the folder can't be read.
pub(super) fn find(folder: &Arc<PrivateFolder>, to: &mut [Receiving<'_>]) -> io::Result<Found> {
    let mut found = Found::default();
    // Files that another process uses.
    let mut others = Vec::new();
    for name in folder.names()? {
        let Some(id) = own::id_of(&name) else { continue };
        // Another pipeline of this process writes the file, or passes its records on.
        let Some(own) = own::add(id) else { continue };
        match Dead::open(folder, name.clone(), id, own) {
            Ok(Ok(dead)) => found.dead.push(dead),
            Ok(Err(own)) => others.push((name, own)),
            // A file that was removed meanwhile is of no use to anybody.
            Err(why) if why.kind() == io::ErrorKind::NotFound => {}
            Err(why) => found.skipped.push(Skipped { name, why }),
        }
    }
    found.dead.sort_by_key(|dead| dead.started);
    // A process ends one lock after another. So another file may still be locked that says which
    // records of these were passed on.
    for (name, _own) in others {
        let claimed = folder.read(&name).and_then(|file| read(&file));
        let claimed = claimed.ok().and_then(|bytes| {
            // A pipeline that has passed all on claims nothing any more.
            let image = Image::read(&bytes).ok().filter(|image| image.taken() != u64::MAX)?;
            Some(image.takes().0)
        });
        found.dead.retain(|dead| Some(dead.id) != claimed);
    }
    hold_claims(folder, &mut found)?;
    let dead = core::mem::take(&mut found.dead);
    for one in &dead {
        if let Err(why) = one.settle(to) {
            found.skipped.push(Skipped { name: one.name.clone(), why });
            // The other files wait: one of them may say what was passed on of another one.
            found.waiting += dead.len() - 1;
            return Ok(found);
        }
    }
    pass_claims(&dead)?;
    for one in dead {
        match one.is_of_use() {
            Ok(true) => found.dead.push(one),
            Ok(false) => {
                if let Err(why) = one.remove() {
                    found.skipped.push(Skipped { name: one.name.clone(), why });
                }
            }
            Err(why) => found.skipped.push(Skipped { name: one.name.clone(), why }),
        }
    }
    Ok(found)
}

/// Lets the files wait whose process was passing on a file that can't be had now: only they say how
/// many of its records are in a log.
///
/// # Errors
///
/// If the folder can't be read.
fn hold_claims(folder: &PrivateFolder, found: &mut Found) -> io::Result<()> {
    // No process of this version passes such a file on, however long the others wait.
    let is_unreadable = |why: &io::Error| {
        matches!(why.kind(), io::ErrorKind::InvalidData | io::ErrorKind::Unsupported)
    };
    let unreadable = found.skipped.iter().filter(|it| is_unreadable(&it.why));
    let unreadable: Vec<_> = unreadable.filter_map(|it| own::id_of(&it.name)).collect();
    // A file that waits may itself be one that another process was passing on.
    loop {
        let dead: Vec<_> = found.dead.iter().map(|dead| dead.id).collect();
        let is_away = |of: &u64| !dead.contains(of) && !unreadable.contains(of);
        if !found.dead.iter().any(|dead| is_away(&dead.takes.0)) {
            return Ok(());
        }
        // After all files were tried: one that is gone by now has no records left.
        let away: Vec<_> = folder.names()?.iter().filter_map(|it| own::id_of(it)).collect();
        found.dead.retain(|dead| !(is_away(&dead.takes.0) && away.contains(&dead.takes.0)));
        let waits = dead.len() - found.dead.len();
        if waits == 0 {
            return Ok(());
        }
        found.waiting += waits;
    }
}

/// Writes into each file how many of its records a process has passed on that ended meanwhile.
///
/// # Errors
///
/// If that can't be written.
fn pass_claims(dead: &[Dead]) -> io::Result<()> {
    for one in dead {
        let (of, taken) = one.takes;
        if let Some(other) = dead.iter().find(|other| other.id == of) {
            other.note_taken(taken)?;
        }
    }
    Ok(())
}

impl Dead {
    /// Opens a file, or returns `own` if a process uses it. Removes a file that its process had
    /// only just created.
    fn open(
        folder: &Arc<PrivateFolder>,
        name: OsString,
        id: u64,
        own: Own,
    ) -> io::Result<Result<Self, Own>> {
        let Some(file) = folder.open(&name)? else { return Ok(Err(own)) };
        let bytes = read(&file)?;
        let (started, takes) = match Image::read(&bytes) {
            // A damaged spool would keep the files of all others waiting.
            Ok(image) if image.id() == id && image.lanes().is_some() => {
                (image.started(), image.takes())
            }
            Ok(_) => return Err(damaged()),
            Err(Unreadable::Empty) => {
                folder.remove(&name)?;
                return Err(io::ErrorKind::NotFound.into());
            }
            Err(why) => return Err(why.into()),
        };
        Ok(Ok(Self { folder: Arc::clone(folder), name, id, file, started, takes, _own: own }))
    }

    /// Calls `f` with the file's contents.
    ///
    /// # Errors
    ///
    /// If the file can't be read.
    pub(super) fn with_image<R>(&self, f: impl FnOnce(&Image<'_>) -> R) -> io::Result<R> {
        let bytes = read(&self.file)?;
        image(&bytes).map(|image| f(&image))
    }

    /// Reads the file's contents.
    ///
    /// # Errors
    ///
    /// If the file can't be read.
    pub(super) fn read(&self) -> io::Result<OwnImage> {
        OwnImage::read(read(&self.file)?).map_err(|_| damaged())
    }

    /// Writes the events that the process was writing to files.
    fn settle(&self, to: &mut [Receiving<'_>]) -> io::Result<()> {
        let bytes = read(&self.file)?;
        let image = image(&bytes)?;
        if image.is_settled() {
            return Ok(());
        }
        let lanes = image.lanes().ok_or_else(damaged)?;
        let counterparts = counterparts(&lanes, &named(to));
        let mut unsettled = 0;
        let files = lanes.iter().zip(counterparts).filter(|(lane, _)| lane.is_file);
        for (lane, counterpart) in files {
            let to = counterpart.and_then(|at| to[at].file.as_deref_mut());
            if let Some(to) = to {
                self.settle_lane(lane, image.next_write(lane.number), to)?;
            } else {
                let left = lane.spools.iter().map(|it| it.left().1.len() as u64);
                unsettled += left.sum::<u64>();
            }
        }
        self.store(head::UNSETTLED, unsettled)?;
        self.store(head::SETTLED, 1)
    }

    fn settle_lane(&self, lane: &Lane<'_>, next: usize, to: &mut dyn Receiver) -> io::Result<()> {
        let mut next = next;
        for spool in &lane.spools {
            settle(spool, to, |write| {
                self.begin_write(lane.number, next, spool.number, write)?;
                next = 1 - next;
                Ok(())
            })?;
        }
        Ok(())
    }

    fn begin_write(&self, lane: usize, next: usize, spool: u64, write: Write) -> io::Result<()> {
        let base = lane::of(lane);
        for (at, word) in [
            (write::SPOOL, spool),
            (write::FROM, write.from as u64),
            (write::END, write.end as u64),
            (write::DEVICE, write.to.device),
            (write::FILE, write.to.file),
            (write::LENGTH, write.to.length),
        ] {
            self.store(base + lane::WRITES + next * write::BYTES + at, word)?;
        }
        self.store(base + lane::WRITE, next as u64)
    }

    /// Returns whether the file has records or news.
    fn is_of_use(&self) -> io::Result<bool> {
        self.with_image(|image| {
            let others = events_of(image) + usize::from(image.has_recorder());
            if image.taken() == 0 {
                // The records need not be counted, which takes as long as to pass them on.
                return others > 0 || image.has_left() || image.all_lost() > 0;
            }
            let Left { records, cut } = image.left();
            let taken = usize::try_from(image.taken()).unwrap_or(usize::MAX);
            let items = records.len() + others;
            // One more is the report of the records.
            taken <= items && (items > 0 || cut > 0)
        })
    }

    /// Notes how many items were passed on.
    ///
    /// # Errors
    ///
    /// If that can't be written.
    pub(super) fn note_taken(&self, taken: u64) -> io::Result<()> {
        let mut before = [0; size_of::<u64>()];
        self.file.read_exact_at(&mut before, head::TAKEN as u64)?;
        if taken > u64::from_ne_bytes(before) { self.store(head::TAKEN, taken) } else { Ok(()) }
    }

    fn store(&self, at: usize, word: u64) -> io::Result<()> {
        let stored = self.file.write_all_at(&word.to_ne_bytes(), at as u64);
        #[cfg(test)]
        super::deaths::stored(&self.folder.path().join(&self.name));
        stored
    }

    /// Removes the file. Call after all of its records were passed on.
    ///
    /// # Errors
    ///
    /// If that fails.
    pub(super) fn remove(&self) -> io::Result<()> {
        let removed = self.folder.remove(&self.name);
        #[cfg(test)]
        super::deaths::stored(&self.folder.path().join(&self.name));
        removed
    }

    pub(super) fn name(&self) -> &OsString {
        &self.name
    }
}

/// # Errors
///
/// If the bytes are damaged.
fn image(bytes: &[u8]) -> io::Result<Image<'_>> {
    Image::read(bytes).map_err(|_| damaged())
}

fn damaged() -> io::Error {
    Unreadable::Damaged.into()
}

/// Reads a file up to the length that a store may have.
fn read(mut file: &File) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len().min(MOST_BYTES);
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    file.rewind()?;
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
