//! A descriptor of a folder, and the system calls that take names in it.

use core::time::Duration;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;

use cfg_if::cfg_if;
use rustix::fs::{AtFlags, Dir, FileType, Gid, Mode, OFlags, Uid};
use rustix::fs::{fchmod, fchown, fstat, fsync, mkdirat, open, openat, renameat, statat, unlinkat};
use rustix::io::Errno;
use xattr::FileExt as _;

use super::{Lock, Writers};
use crate::access::Access;
use crate::entry::{self, Entry, Kind, ROOT};

/// The rights of a folder's group, and of everybody, to write.
const OTHERS_WRITE: u32 = 0o022;

/// The kinds of entries of an access control list that name or mean users (acl(5)).
const USER: u8 = 2;
const OWNING_GROUP: u8 = 4;
const GROUP: u8 = 8;

/// The attributes with a file's access control list, and with its label for `SELinux`.
const LIST: &str = "system.posix_acl_access";
const LABEL: &str = "security.selinux";

cfg_if! {
    // The handle only looks up names. Opened for reading, it would fail on a folder that the
    // process may enter but not list.
    if #[cfg(any(target_os = "linux", target_os = "android"))] {
        const SEARCH: OFlags = OFlags::PATH;
    } else if #[cfg(any(target_os = "freebsd", target_os = "netbsd", target_vendor = "apple"))] {
        const SEARCH: OFlags = OFlags::from_bits_retain(libc::O_SEARCH as u32);
    } else {
        const SEARCH: OFlags = OFlags::RDONLY;
    }
}

/// An open folder.
#[derive(Debug)]
pub(crate) struct Handle(pub(crate) OwnedFd);

impl Handle {
    /// Opens one folder after another, since `O_NOFOLLOW` applies only to the last part of a path.
    pub(crate) fn open(path: &Path, makes: Option<u32>) -> io::Result<Self> {
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
            folder = match (openat(&folder, name, flags, Mode::empty()), makes) {
                (Err(Errno::NOENT), Some(bits)) => {
                    match mkdirat(&folder, name, mode(bits)) {
                        // Another thread or process made it.
                        Err(Errno::EXIST) => {}
                        made => made?,
                    }
                    openat(&folder, name, flags, Mode::empty())?
                }
                (opened, _) => opened?,
            };
        }
        Ok(Self(folder))
    }

    /// Returns whether the folder was deleted: the system finds no file in it any more.
    pub(crate) fn is_removed(&self) -> bool {
        fstat(&self.0).is_ok_and(|folder| folder.st_nlink == 0)
    }

    /// Returns the folder's owner, and the users other than root and the process's own who may
    /// write it.
    pub(crate) fn writers(&self) -> io::Result<(u32, Option<Writers>)> {
        let folder = fstat(&self.0)?;
        let (user, group) = (folder.st_uid, folder.st_gid);
        let mode = Mode::from_raw_mode(folder.st_mode);
        let others = if user != ROOT && user != entry::user() {
            Some(Writers::Owner(user))
        } else if mode.contains(Mode::WOTH) {
            Some(Writers::Everybody)
        } else if mode.contains(Mode::WGRP) {
            // The bit is also set if an access control list lets other users write: then it is the
            // list's mask (acl(5)).
            Some(Writers::Group(group))
        } else {
            None
        };
        Ok((user, others))
    }

    /// Opens a device or a FIFO. A FIFO is opened for reading too: an open for writing alone needs
    /// a reader.
    pub(crate) fn open_special(&self, name: &OsStr) -> io::Result<File> {
        let found = statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let is_fifo = FileType::from_raw_mode(found.st_mode) == FileType::Fifo;
        let access = if is_fifo { OFlags::RDWR } else { OFlags::WRONLY };
        let flags = access | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
        // A FIFO may have replaced the device meanwhile, and opening one without `NONBLOCK` waits.
        let file = openat(&self.0, name, flags | OFlags::NONBLOCK, Mode::empty())?;
        rustix::fs::fcntl_setfl(&file, OFlags::APPEND)?;
        Ok(file.into())
    }

    /// Opens a file that exists for writing.
    pub(crate) fn open_file(&self, name: &OsStr, appends: bool) -> io::Result<File> {
        self.open_existing(name, OFlags::WRONLY | appending(appends))
    }

    pub(crate) fn read_file(&self, name: &OsStr) -> io::Result<File> {
        self.open_existing(name, OFlags::RDONLY)
    }

    pub(crate) fn open_existing(&self, name: &OsStr, flags: OFlags) -> io::Result<File> {
        // Without these flags, opening a FIFO would wait for its other end, and a terminal would
        // become the process's controlling terminal.
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
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | appending(appends);
        // Grant the group and others nothing yet: until the owner is set, the file has the wrong
        // group.
        let first = if access.is_exact { access.mode & 0o600 } else { access.mode };
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(openat(&self.0, name, flags, mode(first))?);
        if access.is_exact {
            let is_given = access.owner.is_none_or(|owner| give(&file, owner));
            let is_listed = access.owner.is_none() || list(&file, access, is_given);
            let bits = if is_listed { access.mode } else { access.unlisted() };
            let exact = if is_given { bits } else { Access::narrowed(bits) };
            // Some file systems have no modes.
            let _without_modes = fchmod(&file, mode(exact));
        }
        Ok(file)
    }

    pub(crate) fn entry(&self, name: &OsStr) -> io::Result<Entry> {
        let found = statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let since_epoch = u64::try_from(found.st_mtime).ok().map(Duration::from_secs);
        #[allow(
            clippy::cast_lossless,
            clippy::cast_sign_loss,
            clippy::unnecessary_cast,
            clippy::useless_conversion,
            reason = "the types of these numbers differ between systems"
        )]
        Ok(Entry {
            kind: match FileType::from_raw_mode(found.st_mode) {
                FileType::RegularFile => Kind::File,
                FileType::Directory => Kind::Folder,
                FileType::Symlink => Kind::Link,
                _ => Kind::Special,
            },
            id: Some((found.st_dev as u64, found.st_ino as u64)),
            links: found.st_nlink as u64,
            length: found.st_size as u64,
            modified: since_epoch.and_then(|it| UNIX_EPOCH.checked_add(it)),
            user: found.st_uid,
        })
    }

    pub(crate) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(renameat(&self.0, from, &self.0, to)?)
    }

    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    pub(crate) fn rename_new(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        use rustix::fs::{RenameFlags, renameat_with};
        Ok(renameat_with(&self.0, from, &self.0, to, RenameFlags::NOREPLACE)?)
    }

    #[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
    #[expect(clippy::unused_self, reason = "some systems have the call")]
    pub(crate) fn rename_new(&self, _: &OsStr, _: &OsStr) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
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

    /// Opens the folder for a lock, if folders have locks.
    pub(crate) fn lockable(&self) -> io::Result<Option<File>> {
        Ok(Some(self.readable()?.into()))
    }

    /// Opens the folder itself for reading.
    fn readable(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(openat(&self.0, ".", flags, Mode::empty())?)
    }
}

impl Access {
    /// Returns the mode of a file without the list. With a list, the bits of the group are the
    /// list's mask: the most that its entries grant, and not what the owning group may do.
    fn unlisted(&self) -> u32 {
        // The list is a version and entries: a kind, rights, an id. If the list can't be copied,
        // the users and groups that it names count as the group or as others. So the group and
        // others get only the rights that all of them had.
        let list = self.list.as_deref().and_then(|list| list.get(4..)).unwrap_or_default();
        let rights = |kinds: [u8; 2]| {
            let entries = list.chunks_exact(8).filter(|entry| kinds.contains(&entry[0]));
            entries.fold(0o7, |all, entry| all & u32::from(entry[2]))
        };
        self.mode & (0o700 | rights([USER, OWNING_GROUP]) << 3 | rights([USER, GROUP]))
    }

    /// Returns the mode of a file that can't have this access's group: each user who is not the
    /// owner gets the rights that both the group and the others have.
    const fn narrowed(mode: u32) -> u32 {
        let both = mode >> 3 & mode & 0o7;
        mode & 0o700 | both << 3 | both
    }
}

/// Gives a new file to its owner, or at least to the owner's group. Returns whether the file has
/// that group.
fn give(file: &File, (user, group): (u32, u32)) -> bool {
    let is_owned = fstat(file).is_ok_and(|it| (it.st_uid, it.st_gid) == (user, group));
    let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
    is_owned
        || fchown(file, Some(user), Some(group)).is_ok()
        || fchown(file, None, Some(group)).is_ok()
}

/// Sets the label of a new file, and its access control list unless the file lacks the group that
/// the list needs. Returns whether the file has the list.
fn list(file: &File, access: &Access, is_given: bool) -> bool {
    let set = |name, value: &Vec<u8>| file.set_xattr(name, value).is_ok();
    let _else_the_system_s = access.label.as_ref().is_some_and(|label| set(LABEL, label));
    // The folder's default list may have given the new file a list of its own, which grants too
    // much.
    let _has_none = file.remove_xattr(LIST);
    access.list.as_ref().is_none_or(|list| is_given && set(LIST, list))
}

/// Reads the rights to a file: see [`Access::of`].
pub(crate) fn access(file: &File) -> io::Result<Access> {
    let found = file.metadata()?;
    let (list, label) = (file.get_xattr(LIST).ok().flatten(), file.get_xattr(LABEL).ok().flatten());
    let owner = Some((found.uid(), found.gid()));
    Ok(Access { owner, list, label, ..Access::exactly(found.mode()) })
}

fn appending(appends: bool) -> OFlags {
    if appends { OFlags::APPEND } else { OFlags::empty() }
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "Darwin's modes have 16 bits, as many as are used"
)]
fn mode(bits: u32) -> Mode {
    Mode::from_bits_truncate(bits as rustix::fs::RawMode)
}

/// Returns the path in a link, if the process may follow it: see [`resolve`](crate::resolve).
pub(crate) fn read_link(link: &Path, is_last: bool) -> io::Result<PathBuf> {
    let (user, target) = owner_and_target(link)?;
    if user == ROOT || user == entry::user() {
        return Ok(target);
    }
    let folder = link.parent().unwrap_or(link).symlink_metadata()?;
    let is_folder_s = user == folder.uid() && folder.mode() & OTHERS_WRITE == 0;
    if is_folder_s && !is_last && !has_more_rights() {
        return Ok(target);
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        format!(
            "{} is a link of user {user}, who must not choose the file; give the link to user {}, \
             or name the file itself",
            link.display(),
            entry::user(),
        ),
    ))
}

/// Returns a link's owner and the path in the same link, though somebody may exchange it meanwhile.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn owner_and_target(link: &Path) -> io::Result<(u32, PathBuf)> {
    use std::os::unix::ffi::OsStringExt as _;
    let link = open(link, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    let target = rustix::fs::readlinkat(&link, "", Vec::new())?;
    Ok((fstat(&link)?.st_uid, OsString::from_vec(target.into_bytes()).into()))
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn owner_and_target(link: &Path) -> io::Result<(u32, PathBuf)> {
    let identity = || link.symlink_metadata().map(|it| (it.dev(), it.ino(), it.ctime_nsec()));
    loop {
        let before = identity()?;
        let (target, user) = (std::fs::read_link(link)?, link.symlink_metadata()?.uid());
        if identity()? == before {
            return Ok((user, target));
        }
    }
}

/// Returns whether a path without other links names a descriptor of this process (proc(5)).
pub(crate) fn is_own_descriptor(path: &Path) -> bool {
    let own = || std::fs::read_link("/proc/self").ok().map(|own| Path::new("/proc").join(own));
    let folder = path.parent().filter(|folder| folder.ends_with("fd"));
    cfg!(any(target_os = "linux", target_os = "android"))
        && folder.is_some_and(|folder| own().is_some_and(|own| folder.starts_with(own)))
}

#[cfg(not(target_os = "solaris"))]
pub(crate) fn lock(file: &File, kind: Lock) -> bool {
    use rustix::fs::FlockOperation;
    let operation = match kind {
        Lock::None => FlockOperation::NonBlockingUnlock,
        Lock::Shared => FlockOperation::NonBlockingLockShared,
        Lock::Exclusive => FlockOperation::NonBlockingLockExclusive,
    };
    // Any other error means that the file system has no locks. Continue without.
    rustix::fs::flock(file, operation) != Err(Errno::WOULDBLOCK)
}

#[cfg(target_os = "solaris")]
pub(crate) fn lock(_: &File, _: Lock) -> bool {
    true
}

/// Returns whether this process has rights that other users lack.
pub(crate) fn has_more_rights() -> bool {
    entry::user() == ROOT
        || tach_core::adapter::has_more_privileges_than_caller()
        || has_capabilities()
}

/// Returns whether the thread may change files of others. A service manager may pass such rights to
/// a process that is not root's.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn has_capabilities() -> bool {
    use rustix::thread::{CapabilitySet, capabilities};
    let over_files = CapabilitySet::DAC_OVERRIDE | CapabilitySet::FOWNER | CapabilitySet::CHOWN;
    capabilities(None).is_ok_and(|sets| sets.effective.intersects(over_files))
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn has_capabilities() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_its_list_grants_nobody_more() {
        let unlisted = |mode, entries: &[(u8, u8)]| {
            let entry = |(kind, rights): &(u8, u8)| [*kind, 0, *rights, 0, 1, 2, 3, 4];
            let list = [2, 0, 0, 0].into_iter().chain(entries.iter().flat_map(entry));
            Access { list: Some(list.collect()), ..Access::exactly(mode) }.unlisted()
        };
        let (owner, mask, other) = ((1, 6), (16, 4), (32, 4));
        // The log shipper, a named user, may read the file, but the group may not.
        assert_eq!(unlisted(0o640, &[owner, (USER, 4), (OWNING_GROUP, 0), mask]), 0o600);
        assert_eq!(unlisted(0o640, &[owner, (USER, 4), (OWNING_GROUP, 4), mask]), 0o640);
        // The users whom the list names may not read the file, although all others may.
        assert_eq!(unlisted(0o644, &[owner, (USER, 0), (OWNING_GROUP, 4), mask, other]), 0o600);
        assert_eq!(unlisted(0o644, &[owner, (OWNING_GROUP, 4), (GROUP, 0), mask, other]), 0o640);
        assert_eq!(unlisted(0o664, &[]), 0o664);
    }

    #[test]
    fn a_file_without_its_group_grants_nobody_more() {
        for (mode, narrowed) in
            [(0o640, 0o600), (0o644, 0o644), (0o604, 0o600), (0o664, 0o644), (0o777, 0o777)]
        {
            assert_eq!(Access::narrowed(mode), narrowed, "{mode:o}");
        }
    }
}
