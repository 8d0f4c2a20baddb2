//! Share modes.
//!
//! A file that a process uses is open for writing, and shared for reading and deleting alone. So a
//! second process can't open it for writing. The system closes the file when the process ends.

use core::time::Duration;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::windows::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Component, PathBuf, Prefix};
use std::thread;

use super::{not_mappable, refused};
use crate::place::Place;

/// `FILE_SHARE_READ`, `FILE_SHARE_WRITE` and `FILE_SHARE_DELETE`.
const READ: u32 = 1;
const WRITE: u32 = 2;
const DELETE: u32 = 4;
/// `FILE_FLAG_OPEN_REPARSE_POINT`: a link is opened itself.
const NO_LINK: u32 = 0x0020_0000;
/// `ERROR_SHARING_VIOLATION`.
const SHARED: i32 = 32;

/// How often a file that is in use is tried again, and after which pause. A program that
/// [asks](Handle::is_in_use) whether the file is in use has it open for a moment.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(2);

/// The path of a folder.
#[derive(Debug)]
pub(super) struct Handle(PathBuf);

impl Handle {
    pub(super) fn open(place: &Place, makes: bool) -> io::Result<Self> {
        let path = place.path();
        if makes {
            fs::create_dir_all(&path)?;
        }
        if !fs::symlink_metadata(&path)?.is_dir() {
            return Err(refused("it is no folder".to_owned()));
        }
        Ok(Self(path))
    }

    pub(super) fn check_mappable(&self) -> io::Result<()> {
        // The drive of a share leads to its server.
        match self.0.canonicalize()?.components().next() {
            Some(Component::Prefix(prefix))
                if matches!(prefix.kind(), Prefix::UNC(..) | Prefix::VerbatimUNC(..)) =>
            {
                Err(not_mappable("a share of another machine"))
            }
            _ => Ok(()),
        }
    }

    /// Creates a file. No other process can have opened it before.
    pub(super) fn create(&self, name: &OsStr) -> io::Result<Option<File>> {
        let mut options = File::options();
        options.read(true).write(true).create_new(true).share_mode(READ | DELETE);
        options.open(self.0.join(name)).map(Some)
    }

    pub(super) fn open_file(&self, name: &OsStr) -> io::Result<Option<File>> {
        let mut options = File::options();
        options.read(true).write(true).share_mode(READ | DELETE);
        for at in 0..TRIES {
            if at > 0 {
                thread::sleep(PAUSE);
            }
            match self.open_with(name, &mut options) {
                Err(error) if error.raw_os_error() == Some(SHARED) => {}
                opened => return opened.map(Some),
            }
        }
        Ok(None)
    }

    pub(super) fn read(&self, name: &OsStr) -> io::Result<File> {
        self.open_with(name, File::options().read(true).share_mode(READ | WRITE | DELETE))
    }

    fn open_with(&self, name: &OsStr, options: &mut OpenOptions) -> io::Result<File> {
        let file = options.custom_flags(NO_LINK).open(self.0.join(name))?;
        if file.metadata()?.is_file() {
            return Ok(file);
        }
        Err(refused("it is no regular file".to_owned()))
    }

    /// Opens the file for reading once more, and lets nobody write it: the system refuses that if
    /// a process writes it.
    pub(super) fn is_in_use(&self, name: &OsStr, _: &File) -> io::Result<bool> {
        match self.open_with(name, File::options().read(true).share_mode(READ | DELETE)) {
            Ok(_) => Ok(false),
            Err(error) if error.raw_os_error() == Some(SHARED) => Ok(true),
            Err(error) => Err(error),
        }
    }

    pub(super) fn names(&self) -> io::Result<Vec<OsString>> {
        fs::read_dir(&self.0)?.map(|entry| entry.map(|it| it.file_name())).collect()
    }

    pub(super) fn remove(&self, name: &OsStr) -> io::Result<()> {
        fs::remove_file(self.0.join(name))
    }
}

/// Only a write makes a file system allocate the room, and keep no hole.
#[expect(clippy::unnecessary_wraps, reason = "other systems may fail")]
pub(super) fn reserve(_: &File, _: u64, _: u64) -> io::Result<bool> {
    Ok(false)
}

pub(super) fn write_at(file: &File, bytes: &[u8], at: u64) -> io::Result<usize> {
    file.seek_write(bytes, at)
}

#[cfg(test)]
mod tests {
    use std::{env, process};

    use crate::PrivateFolder;

    #[test]
    fn a_file_in_use_can_be_read_and_not_written() {
        let path = env::temp_dir().join(format!("tach-files-windows-{}", process::id()));
        let _left_behind = std::fs::remove_dir_all(&path);
        let folder = PrivateFolder::make(&path).unwrap();
        let name = "one".as_ref();
        let used = folder.create(name).unwrap().unwrap();
        let read = folder.read(name).unwrap();
        assert!(folder.is_in_use(name, &read).unwrap());
        assert!(folder.open(name).unwrap().is_none());
        folder.create(name).unwrap_err();
        drop(used);
        assert!(!folder.is_in_use(name, &read).unwrap());
        let again = folder.open(name).unwrap().unwrap();
        assert!(folder.is_in_use(name, &read).unwrap());
        // The name is free at once, or when the last one has closed the file.
        folder.remove(name).unwrap();
        drop((read, again));
        assert!(folder.names().unwrap().is_empty());
        std::fs::remove_dir_all(path).unwrap();
    }
}
