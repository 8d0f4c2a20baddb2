//! A descriptor of a folder, and the system calls that take names in it.

use core::time::Duration;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};
use std::time::UNIX_EPOCH;

use rustix::fs::{AtFlags, Dir, FileType, Gid, Mode, OFlags, Uid};
use rustix::fs::{fchmod, fchown, fstat, fsync, mkdirat, open, openat, renameat, statat, unlinkat};
use rustix::io::Errno;

use crate::access::Access;
use crate::entry::{self, Entry};

/// The owner and the group; others search nothing.
const FOLDER: u32 = 0o750;
const ROOT: u32 = 0;
/// The mode of a folder such as `/tmp`: sticky, and others may write.
const EVERYBODY_S: u32 = 0o1002;

/// For names alone: the process need not be allowed to read the folder.
#[cfg(any(target_os = "linux", target_os = "android"))]
const SEARCH: OFlags = OFlags::PATH;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const SEARCH: OFlags = OFlags::RDONLY;

/// An open folder.
#[derive(Debug)]
pub(crate) struct Handle(OwnedFd);

impl Handle {
    /// Opens one folder after another, since `O_NOFOLLOW` applies to the last part of a path alone.
    pub(crate) fn open(path: &Path, makes: bool) -> io::Result<Self> {
        let flags = SEARCH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut folder = open("/", flags, Mode::empty())?;
        for component in path.components() {
            let name = match component {
                Component::RootDir | Component::CurDir => continue,
                Component::Normal(name) => name,
                Component::ParentDir | Component::Prefix(_) => {
                    return Err(io::ErrorKind::InvalidInput.into());
                }
            };
            folder = match openat(&folder, name, flags, Mode::empty()) {
                Err(Errno::NOENT) if makes => {
                    match mkdirat(&folder, name, mode(FOLDER)) {
                        // Another thread or process made it.
                        Err(Errno::EXIST) => {}
                        made => made?,
                    }
                    openat(&folder, name, flags, Mode::empty())?
                }
                opened => opened?,
            };
        }
        Ok(Self(folder))
    }

    /// Returns the users besides root and the process's who may write the folder, for a message.
    pub(crate) fn other_writers(&self) -> io::Result<Option<String>> {
        let folder = fstat(&self.0)?;
        let (user, group) = (folder.st_uid, folder.st_gid);
        let mode = Mode::from_raw_mode(folder.st_mode);
        Ok(if user != ROOT && user != entry::user() {
            Some(format!("user {user}, its owner,"))
        } else if mode.contains(Mode::WOTH) {
            Some("every user".to_owned())
        } else if mode.contains(Mode::WGRP) && group != ROOT {
            Some(format!("group {group}"))
        } else {
            None
        })
    }

    /// Opens a file that exists for writing.
    pub(crate) fn open_file(&self, name: &OsStr, appends: bool) -> io::Result<File> {
        self.open_existing(name, OFlags::WRONLY | appending(appends))
    }

    pub(crate) fn read_file(&self, name: &OsStr) -> io::Result<File> {
        self.open_existing(name, OFlags::RDONLY)
    }

    fn open_existing(&self, name: &OsStr, flags: OFlags) -> io::Result<File> {
        // Opening a FIFO would wait for its other end, and a terminal would become the process's.
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        Ok(openat(&self.0, name, flags, Mode::empty())?.into())
    }

    /// Creates a file whose name is free.
    pub(crate) fn create_file(
        &self,
        name: &OsStr,
        access: &Access,
        appends: bool,
    ) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | appending(appends);
        // Until its owner is set, the file is the process's alone.
        let first = if access.is_exact { access.mode & 0o600 } else { access.mode };
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&self.0, name, flags, mode(first))?;
        if access.is_exact {
            let is_given = access.owner.is_none_or(|owner| give(&file, owner));
            let exact = if is_given { access.mode } else { Access::narrowed(access.mode) };
            // Some file systems have no modes.
            let _without_modes = fchmod(&file, mode(exact));
        }
        Ok(file.into())
    }

    pub(crate) fn entry(&self, name: &OsStr) -> io::Result<Entry> {
        let found = statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let since_epoch = u64::try_from(found.st_mtime).ok().map(Duration::from_secs);
        let kind = FileType::from_raw_mode(found.st_mode);
        #[allow(
            clippy::cast_sign_loss,
            clippy::unnecessary_cast,
            clippy::useless_conversion,
            reason = "the types of these numbers differ between systems"
        )]
        Ok(Entry {
            is_file: kind == FileType::RegularFile,
            is_link: kind == FileType::Symlink,
            id: Some((found.st_dev as u64, found.st_ino as u64)),
            links: found.st_nlink as u64,
            modified: since_epoch.and_then(|it| UNIX_EPOCH.checked_add(it)),
            mode: u32::from(found.st_mode) & 0o777,
            user: found.st_uid,
            group: found.st_gid,
        })
    }

    pub(crate) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(renameat(&self.0, from, &self.0, to)?)
    }

    pub(crate) fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&self.0, name, AtFlags::empty())?)
    }

    pub(crate) fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in Dir::new(self.readable()?)? {
            let name = entry?.file_name().to_owned();
            if !matches!(name.to_bytes(), b"." | b"..") {
                names.push(OsStr::from_bytes(name.to_bytes()).to_owned());
            }
        }
        Ok(names)
    }

    pub(crate) fn sync(&self) -> io::Result<()> {
        match fsync(self.readable()?) {
            // Some file systems sync no folders.
            Err(Errno::INVAL | Errno::NOTSUP) => Ok(()),
            synced => Ok(synced?),
        }
    }

    /// Opens the folder itself for reading.
    fn readable(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(openat(&self.0, ".", flags, Mode::empty())?)
    }
}

/// Gives a new file to its owner, or at least to the owner's group. Returns whether the file has
/// that group.
fn give(file: &OwnedFd, (user, group): (u32, u32)) -> bool {
    let is_owned = fstat(file).is_ok_and(|it| (it.st_uid, it.st_gid) == (user, group));
    let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
    is_owned
        || fchown(file, Some(user), Some(group)).is_ok()
        || fchown(file, None, Some(group)).is_ok()
}

fn appending(appends: bool) -> OFlags {
    if appends { OFlags::APPEND } else { OFlags::empty() }
}

fn mode(bits: u32) -> Mode {
    Mode::from_bits_truncate(bits as rustix::fs::RawMode)
}

/// Fails unless the process may follow a link: see [`resolve`](crate::resolve).
pub(crate) fn check_link(link: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let user = link.symlink_metadata()?.uid();
    if user == ROOT || user == entry::user() {
        return Ok(());
    }
    // Linux's rule, where `protected_symlinks` is set: there, everybody lays links.
    let folder = link.parent().unwrap_or(link).symlink_metadata()?;
    let is_everybody_s = folder.mode() & EVERYBODY_S == EVERYBODY_S;
    if !super::has_more_rights() && (!is_everybody_s || user == folder.uid()) {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        format!("{} is a link of user {user}, who may not choose the file", link.display()),
    ))
}
