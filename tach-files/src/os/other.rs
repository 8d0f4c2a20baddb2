//! Folders by their paths, for systems where links are rare.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::{Lock, Writers};
use crate::access::Access;
use crate::entry::{self, Entry};

/// A folder that exists.
#[derive(Debug)]
pub(crate) struct Handle(PathBuf);

impl Handle {
    pub(crate) fn open(path: &Path, makes: Option<u32>) -> io::Result<Self> {
        if makes.is_some() {
            fs::create_dir_all(path)?;
        } else if !fs::metadata(path)?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self(path.to_owned()))
    }

    pub(crate) fn is_removed(&self) -> bool {
        !self.0.is_dir()
    }

    #[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "on Unix it may fail")]
    pub(crate) fn writers(&self) -> io::Result<(u32, Option<Writers>)> {
        Ok((entry::user(), None))
    }

    pub(crate) fn open_special(&self, name: &OsStr) -> io::Result<File> {
        File::options().append(true).open(self.0.join(name))
    }

    pub(crate) fn open_file(&self, name: &OsStr, appends: bool) -> io::Result<File> {
        File::options().append(appends).write(!appends).open(self.0.join(name))
    }

    pub(crate) fn read_file(&self, name: &OsStr) -> io::Result<File> {
        File::open(self.0.join(name))
    }

    pub(crate) fn create_file(&self, name: &OsStr, _: &Access, appends: bool) -> io::Result<File> {
        let mut options = File::options();
        options.append(appends).write(!appends).create_new(true).open(self.0.join(name))
    }

    pub(crate) fn entry(&self, name: &OsStr) -> io::Result<Entry> {
        Entry::at(&self.0.join(name))?.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    pub(crate) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        fs::rename(self.0.join(from), self.0.join(to))
    }

    #[expect(clippy::unused_self, reason = "on Unix it is needed")]
    pub(crate) fn rename_new(&self, _: &OsStr, _: &OsStr) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn remove(&self, name: &OsStr) -> io::Result<()> {
        fs::remove_file(self.0.join(name))
    }

    pub(crate) fn names(&self) -> io::Result<Vec<OsString>> {
        fs::read_dir(&self.0)?.map(|entry| entry.map(|it| it.file_name())).collect()
    }

    #[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "on Unix it may fail")]
    pub(crate) fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    #[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "on Unix it may fail")]
    pub(crate) fn lockable(&self) -> io::Result<Option<File>> {
        Ok(None)
    }
}

pub(crate) fn read_link(link: &Path, _: bool) -> io::Result<PathBuf> {
    fs::read_link(link)
}

#[expect(clippy::unnecessary_wraps, reason = "on Unix it may fail")]
pub(crate) fn access(_: &File) -> io::Result<Access> {
    Ok(Access::exactly(0))
}

pub(crate) fn is_own_descriptor(_: &Path) -> bool {
    false
}

pub(crate) fn lock(_: &File, _: Lock) -> bool {
    true
}

pub(crate) fn has_more_rights() -> bool {
    false
}
