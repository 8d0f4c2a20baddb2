//! Compresses an old file as gzip does.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use tach_files::{Access, Entry, Folder};

use super::job::Job;
use super::names::compressed;

/// Replaces a file by a compressed copy. Leaves a file that another process writes or compresses:
/// the last process that writes it compresses it.
pub(crate) fn compress(folder: &Folder, name: &OsStr, job: &Job) -> io::Result<()> {
    // The copy's name until the copy is complete.
    let mut part = compressed(name);
    part.push(".part");
    let mut file = match folder.open_own(name, &job.log) {
        // Another process was first.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened?,
    };
    if !tach_files::try_lock(&file) {
        return Ok(());
    }
    let opened = Entry::of(&file)?;
    if folder.entry(name)?.is_none_or(|found| found.is_other(&opened)) {
        // Another process compressed the file between the opening and the lock.
        return Ok(());
    }
    let access = Access::of(&file)?;
    let is_own = |found: Entry| folder.is_own(&found, &job.log);
    let to = match folder.create_new(&part, &access) {
        // Another process compresses a file that had this name before a rotation.
        Err(error)
            if error.kind() == io::ErrorKind::AlreadyExists
                && folder.entry(&part)?.is_none_or(is_own) =>
        {
            return Ok(());
        }
        created => created?,
    };
    // Lock the copy until it has its final name: an unlocked copy counts as left over and is
    // deleted. If another process has the lock, it is deleting the copy.
    if !tach_files::try_lock(&to) {
        return Ok(());
    }
    let mut to = GzEncoder::new(to, Compression::default());
    let copied = io::copy(&mut file, &mut to)?;
    let to = to.finish()?;
    // The age of an old file counts from its rotation, so the copy gets the file's time. If the
    // file system sets no times, the age counts from now.
    let _from_here = opened.modified().map(|rotated| to.set_modified(rotated));
    to.sync_all()?;
    let copy = (Entry::of(&to)?, part);
    job.rotation.alone(folder, || replace(folder, (&file, &opened, name), copied, &copy, job))
}

/// Renames the copy to the name of the compressed file, and deletes the file if it still has the
/// `copied` bytes.
pub(crate) fn replace(
    folder: &Folder,
    (file, opened, name): (&File, &Entry, &OsStr),
    copied: u64,
    (copy, part): &(Entry, OsString),
    job: &Job,
) -> io::Result<()> {
    let is_other = |name: &OsStr, entry: &Entry| {
        folder.entry(name).map(|found| found.is_none_or(|found| found.is_other(entry)))
    };
    if is_other(part, copy)? {
        // On a file system without locks, another process took the copy for one that is left over,
        // and deleted it.
        return Ok(());
    }
    let Some(name) = name_now(folder, opened, name, job)? else {
        // Another process deleted the oldest files, and this one is among them.
        return folder.remove_own(part, &job.log);
    };
    let done = compressed(&name);
    if folder.entry(&done)?.is_some_and(|found| !folder.is_own(&found, &job.log)) {
        folder.remove_own(part, &job.log)?;
        let name = Path::new(&done).display();
        return Err(io::Error::other(format!("{name} is no file of this process alone")));
    }
    folder.rename(part, &done)?;
    folder.sync()?;
    // Check again: other programs, and processes on a file system without locks, may have replaced
    // the files.
    if is_other(&name, opened)? || is_other(&done, copy)? {
        return Ok(());
    }
    if file.metadata()?.len() != copied {
        return folder.remove_own(&done, &job.log);
    }
    folder.remove_own(&name, &job.log)
}

/// Returns the name of an old file that had the name `name`. A rotation may have given it the next
/// number meanwhile.
fn name_now(
    folder: &Folder,
    file: &Entry,
    name: &OsStr,
    job: &Job,
) -> io::Result<Option<OsString>> {
    let is_file = |name: &OsStr| {
        folder.entry(name).map(|found| found.is_some_and(|found| !found.is_other(file)))
    };
    if is_file(name)? {
        return Ok(Some(name.to_owned()));
    }
    for name in folder.names()? {
        if job.read(&name).is_some() && is_file(&name)? {
            return Ok(Some(name));
        }
    }
    Ok(None)
}
