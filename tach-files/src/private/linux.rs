//! Modes, `openat` and the locks of `fcntl`.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;

use rustix::fs::{
    AtFlags, Dir, FallocateFlags, FileType, FlockOperation, Mode, OFlags, fallocate, fchmod,
    fcntl_lock, fstat, fstatfs, mkdirat, openat, statat, unlinkat,
};
use rustix::io::{Errno, pwrite};
use rustix::process::{Flock, FlockType, fcntl_getlk};

use super::{not_mappable, refused};
use crate::entry;
use crate::folder::Handle as Above;
use crate::place::Place;

/// The rights of a private folder and of a private file.
const FOLDER: u32 = 0o700;
const FILE: u32 = 0o600;
/// The rights of the group and of others.
const OTHERS: u32 = 0o077;

/// File systems whose mapped files may change or end under a process: the numbers of statfs(2), and
/// their names.
const REMOTE: [(u32, &str); 9] = [
    (0x6969, "NFS"),
    (0x6573_5546, "FUSE"),
    (0x0102_1997, "9p"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB2"),
    (0x0000_517b, "SMB"),
    (0x00c3_6400, "Ceph"),
    (0x5346_414f, "AFS"),
    (0x0bd0_0bd0, "Lustre"),
];

/// An open folder.
#[derive(Debug)]
pub(super) struct Handle(OwnedFd);

impl Handle {
    pub(super) fn open(place: &Place, makes: bool) -> io::Result<Self> {
        let path = place.path();
        let above = Above::open(path.parent().unwrap_or(&path), makes)?;
        if makes {
            match mkdirat(above.descriptor(), place.name(), Mode::from_raw_mode(FOLDER)) {
                // Somebody has made it before.
                Err(Errno::EXIST) => {}
                made => made?,
            }
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = openat(above.descriptor(), place.name(), flags, Mode::empty())?;
        let found = fstat(&folder)?;
        let (user, mode) = (found.st_uid, found.st_mode & 0o777);
        if user != entry::user() {
            let own = entry::user();
            return Err(refused(format!(
                "the folder belongs to user {user}, and must belong to user {own}, who runs this"
            )));
        }
        if mode & OTHERS != 0 {
            return Err(refused(format!(
                "other users have rights to the folder, whose mode is {mode:#05o}; give it 0700"
            )));
        }
        Ok(Self(folder))
    }

    pub(super) fn check_mappable(&self) -> io::Result<()> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "32 bits")]
        let kind = fstatfs(&self.0)?.f_type as u32;
        match REMOTE.iter().find(|(number, _)| *number == kind) {
            None => Ok(()),
            Some((_, name)) => Err(not_mappable(&format!("on {name}"))),
        }
    }

    pub(super) fn create(&self, name: &OsStr) -> io::Result<Option<File>> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&self.0, name, flags, Mode::from_raw_mode(FILE))?;
        // The umask may have taken rights of the owner.
        fchmod(&file, Mode::from_raw_mode(FILE))?;
        self.locked(name, file.into())
    }

    pub(super) fn open_file(&self, name: &OsStr) -> io::Result<Option<File>> {
        let file = self.open_with(name, OFlags::RDWR)?;
        self.locked(name, file)
    }

    pub(super) fn read(&self, name: &OsStr) -> io::Result<File> {
        self.open_with(name, OFlags::RDONLY)
    }

    fn open_with(&self, name: &OsStr, access: OFlags) -> io::Result<File> {
        // Opening a FIFO would wait for its other end, and a terminal would become the process's.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = openat(&self.0, name, access | flags, Mode::empty())?;
        let found = fstat(&file)?;
        let is_regular = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
        if is_regular && found.st_uid == entry::user() && found.st_nlink == 1 {
            return Ok(file.into());
        }
        Err(refused("it is no regular file of this user alone".to_owned()))
    }

    /// Takes the lock of a file, if no process has it and the name leads to the file.
    fn locked(&self, name: &OsStr, file: File) -> io::Result<Option<File>> {
        match fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::AGAIN | Errno::ACCESS) => return Ok(None),
            locked => locked?,
        }
        let opened = fstat(&file)?;
        let is_named = match statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
            // Another process had the lock before, and has removed the file.
            Err(Errno::NOENT) => false,
            found => {
                let found = found?;
                (found.st_dev, found.st_ino) == (opened.st_dev, opened.st_ino)
            }
        };
        Ok(is_named.then_some(file))
    }

    #[expect(clippy::unused_self, reason = "not every system can ask by the open file")]
    pub(super) fn is_in_use(&self, _: &OsStr, file: &File) -> io::Result<bool> {
        Ok(fcntl_getlk(file, &Flock::from(FlockType::WriteLock))?.is_some())
    }

    pub(super) fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            let name = entry?.file_name().to_owned();
            if !matches!(name.to_bytes(), b"." | b"..") {
                names.push(OsStr::from_bytes(name.to_bytes()).to_owned());
            }
        }
        Ok(names)
    }

    pub(super) fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&self.0, name, AtFlags::empty())?)
    }
}

/// Reserves blocks. Returns `false` if the file system can't.
pub(super) fn reserve(file: &File, start: u64, length: u64) -> io::Result<bool> {
    loop {
        match fallocate(file, FallocateFlags::empty(), start, length) {
            Err(Errno::INTR) => {}
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(false),
            reserved => return reserved.map(|()| true).map_err(io::Error::from),
        }
    }
}

pub(super) fn write_at(file: &File, bytes: &[u8], at: u64) -> io::Result<usize> {
    Ok(pwrite(file, bytes, at)?)
}
