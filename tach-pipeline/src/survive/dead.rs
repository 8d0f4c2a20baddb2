//! The files of processes that have ended.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use tach_core::UnixTime;
use tach_files::PrivateFolder;

use super::image::{self, Image, Left, OwnImage, Unreadable};
use super::items::batches;
use super::layout::{MOST_BYTES, head};
use super::own::{self, Own};
use super::set_aside;
use super::written;
use crate::back_end::survival::Skipped;
use crate::host::program;
use crate::sink::all::survival::Receiving;

/// How many files of processes that have ended may be in a folder. A program that ends soon after
/// each start, before it has passed anything on, must not fill the memory.
pub(super) const MOST_FILES: usize = 4;

/// The file of a process that has ended, which no other process uses.
pub(super) struct Dead {
    folder: Arc<PrivateFolder>,
    name: OsString,
    file: File,
    started: UnixTime,
    /// After the file, so that it is dropped later.
    _own: Own,
}

/// What was found in a folder.
#[derive(Default)]
pub(super) struct Found {
    /// In the order in which their pipelines were built.
    pub(super) dead: Vec<Dead>,
    pub(super) skipped: Vec<Skipped>,
    /// How many records are lost, since more files were found than may be there.
    pub(super) lost: u64,
}

/// Finds the files of this program's processes that have ended, and looks what became of their last
/// writes. Removes the files that are of no use any more, and the oldest ones if there are too
/// many. Gives those that can't be read another name.
///
/// # Errors
///
/// If the folder can't be read.
pub(super) fn find(folder: &Arc<PrivateFolder>, to: &mut [Receiving<'_>]) -> io::Result<Found> {
    let mut found = Found::default();
    for name in folder.names()? {
        let Some(id) = own::id_of(&name) else { continue };
        // Another pipeline of this process writes the file, or passes its records on.
        let Some(own) = own::add(id) else { continue };
        match Dead::open(folder, name.clone(), id, own) {
            Ok(Some(dead)) => found.dead.push(dead),
            // Another process uses it, or it is another program's.
            Ok(None) => {}
            // A file that was removed meanwhile is of no use to anybody.
            Err(why) if why.kind() == io::ErrorKind::NotFound => {}
            Err(why) => {
                if matches!(why.kind(), io::ErrorKind::InvalidData | io::ErrorKind::Unsupported) {
                    set_aside::set_aside(folder, &name);
                }
                found.skipped.push(Skipped { name, why });
            }
        }
    }
    found.dead.sort_by_key(|dead| dead.started);
    let too_many = found.dead.len().saturating_sub(MOST_FILES);
    for one in found.dead.drain(..too_many).collect::<Vec<_>>() {
        let name = one.name.clone();
        let lost = one.with_image(|image| {
            let batches = batches(image, &[]).iter().map(|batch| batch.ends.len() as u64).sum();
            [image.left().records.len() as u64, batches, image.all_lost()]
                .into_iter()
                .fold(0, u64::saturating_add)
        });
        let lost = lost.and_then(|lost| one.remove().map(|()| lost));
        found.lost = found.lost.saturating_add(*lost.as_ref().unwrap_or(&0));
        let why = lost.map_or_else(
            |why| why,
            |lost| {
                let why =
                    format!("its {lost} records are dropped, since {MOST_FILES} files are younger");
                io::Error::new(io::ErrorKind::StorageFull, why)
            },
        );
        found.skipped.push(Skipped { name, why });
    }
    for one in core::mem::take(&mut found.dead) {
        let is_of_use = one.settle(to).and_then(|()| one.is_of_use());
        let skipped = |why| Skipped { name: one.name.clone(), why };
        match is_of_use {
            Ok(true) => found.dead.push(one),
            Ok(false) => found.skipped.extend(one.remove().err().map(skipped)),
            Err(why) => found.skipped.push(skipped(why)),
        }
    }
    Ok(found)
}

impl Dead {
    /// Opens a file, or returns `None` if a process uses it or it is another program's. Removes a
    /// file that its process had only just created.
    fn open(
        folder: &Arc<PrivateFolder>,
        name: OsString,
        id: u64,
        own: Own,
    ) -> io::Result<Option<Self>> {
        let Some(file) = folder.open(&name)? else { return Ok(None) };
        let bytes = read(&file)?;
        // Its place is the same in each version.
        let is_other = ![program::name(), ""].contains(&image::program(&bytes));
        let started = match Image::read(&bytes) {
            Ok(_) | Err(Unreadable::Foreign | Unreadable::Damaged) if is_other => return Ok(None),
            Ok(image) if image.id() == id && image.lanes().is_some() => image.started(),
            Ok(_) => return Err(damaged()),
            Err(Unreadable::Empty) => {
                folder.remove(&name)?;
                return Err(io::ErrorKind::NotFound.into());
            }
            Err(why) => return Err(why.into()),
        };
        Ok(Some(Self { folder: Arc::clone(folder), name, file, started, _own: own }))
    }

    /// Calls `f` with the file's contents.
    ///
    /// # Errors
    ///
    /// If the file can't be read.
    pub(super) fn with_image<R>(&self, f: impl FnOnce(&Image<'_>) -> R) -> io::Result<R> {
        let bytes = read(&self.file)?;
        read_image(&bytes).map(|image| f(&image))
    }

    /// Reads the file's contents.
    ///
    /// # Errors
    ///
    /// If the file can't be read.
    pub(super) fn read(&self) -> io::Result<OwnImage> {
        OwnImage::read(read(&self.file)?).map_err(|_| damaged())
    }

    /// Makes the last table count if the write to the only sink has happened, and cuts a half of a
    /// line off each file.
    fn settle(&self, to: &mut [Receiving<'_>]) -> io::Result<()> {
        let bytes = read(&self.file)?;
        let image = read_image(&bytes)?;
        let lanes = image.lanes().ok_or_else(damaged)?;
        for lane in lanes.iter().filter(|lane| lane.is_file) {
            // Whatever its path was called.
            for file in to.iter_mut().filter_map(|(_, file)| file.as_deref_mut()) {
                // The items are not counted anew.
                let is_new = lanes.len() == 1 && image.taken() == 0;
                if written::has_happened(&lane.write, file)? && is_new {
                    self.store(head::CURRENT, image.number() + 1)?;
                }
            }
        }
        Ok(())
    }

    /// Returns whether the file has records or news.
    fn is_of_use(&self) -> io::Result<bool> {
        self.with_image(|image| {
            let others = batches(image, &[]).len() + usize::from(image.has_recorder());
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
fn read_image(bytes: &[u8]) -> io::Result<Image<'_>> {
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
