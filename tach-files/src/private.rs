//! A folder that one user alone may read, for files that hold secrets: modes, `openat` and the locks
//! of `fcntl`. No link in the folder is followed.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, FlockOperation, OFlags, fallocate, fcntl_lock, fstat, fstatfs};
use rustix::io::{Errno, pwrite};

use crate::access::Access;
use crate::entry::{self, Entry};
use crate::folder::{FOLDER, Handle};
use crate::place::Place;

/// The rights of a private folder and of a private file.
const PRIVATE: u32 = 0o700;
const FILE: Access = Access::exactly(0o600);
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

/// An open folder for files of the process's user alone. No link in the folder is followed.
///
/// # Guarantees
///
/// A file that was [created](Self::create) or [opened](Self::open) has a lock that shows that a
/// process uses it. No other process has the lock at the same time. The lock ends when the process
/// ends, however it ends, or closes the file.
///
/// # Platform-specific behavior
///
/// Linux only. The folder has the mode 0700 and belongs to the process's user, and its files have
/// the mode 0600. The lock is that of `fcntl`: a forked child does not inherit it, unlike that of
/// [`try_lock`](crate::try_lock). It belongs to the process and not to the open file. It also ends
/// if the process closes any descriptor of the file, and a process is never refused its own lock.
/// So a process must not open a file again that it uses.
///
/// # Examples
///
/// ```
/// use tach_files::PrivateFolder;
///
/// # let path = std::env::temp_dir().join(format!("tach-files-private-{}", std::process::id()));
/// let folder = PrivateFolder::make(&path)?;
/// let file = folder.create("secrets".as_ref())?.expect("no other process knows the name");
/// assert!(folder.names()?.contains(&"secrets".into()));
/// # drop(file);
/// # std::fs::remove_dir_all(path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct PrivateFolder {
    handle: Handle,
    path: PathBuf,
}

impl PrivateFolder {
    /// Opens a folder. Creates the folder, and the folders above it, if they are missing. Links of
    /// the path are resolved as by [`resolve`](crate::resolve).
    ///
    /// # Errors
    ///
    /// If the folder belongs to another user, or other users have rights to it. Also if
    /// it can't be created or opened.
    ///
    /// # Examples
    ///
    /// See [`PrivateFolder`].
    pub fn make(path: &Path) -> io::Result<Self> {
        let place = Place::of(&path.components().collect::<PathBuf>())?;
        let path = place.path();
        Handle::open(path.parent().unwrap_or(&path), Some(FOLDER))?;
        let handle = Handle::open(&path, Some(PRIVATE))?;
        let found = fstat(handle.descriptor())?;
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
        Ok(Self { handle, path })
    }

    /// Returns the path, without links.
    ///
    /// # Examples
    ///
    /// ```
    /// # let path = std::env::temp_dir().join(format!("tach-files-private-p-{}", std::process::id()));
    /// let folder = tach_files::PrivateFolder::make(&path)?;
    /// assert!(folder.path().is_absolute());
    /// # std::fs::remove_dir_all(path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Checks that files of the folder can be mapped into memory.
    ///
    /// # Errors
    ///
    /// On a file system of a network or of another process, such as NFS or FUSE. There, an access
    /// to mapped memory may wait for a server or end the process.
    ///
    /// # Examples
    ///
    /// ```
    /// # let path = std::env::temp_dir().join(format!("tach-files-private-m-{}", std::process::id()));
    /// let folder = tach_files::PrivateFolder::make(&path)?;
    /// folder.check_mappable()?;
    /// # std::fs::remove_dir_all(path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn check_mappable(&self) -> io::Result<()> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "32 bits")]
        let kind = fstatfs(self.handle.descriptor())?.f_type as u32;
        match REMOTE.iter().find(|(number, _)| *number == kind) {
            None => Ok(()),
            Some((_, name)) => Err(not_mappable(name)),
        }
    }

    /// Creates a file for reading and writing, with the [lock](Self#guarantees). Returns `None` if
    /// another process took the lock before, or has removed the file.
    ///
    /// # Errors
    ///
    /// If that fails, the name is taken, or the file system has no locks.
    ///
    /// # Examples
    ///
    /// See [`PrivateFolder`].
    pub fn create(&self, name: &OsStr) -> io::Result<Option<File>> {
        let file = self.handle.create_file(name, &FILE, false)?;
        self.locked(name, file)
    }

    /// Opens a file for reading and writing, with the [lock](Self#guarantees). Returns `None` if
    /// another process has the lock, or has removed the file.
    ///
    /// # Errors
    ///
    /// If that fails, or the file is not a regular file of the process's user with one name.
    ///
    /// # Examples
    ///
    /// ```
    /// # let path = std::env::temp_dir().join(format!("tach-files-private-o-{}", std::process::id()));
    /// let folder = tach_files::PrivateFolder::make(&path)?;
    /// drop(folder.create("secrets".as_ref())?);
    /// let file = folder.open("secrets".as_ref())?.expect("no process uses the file");
    /// # drop(file);
    /// # std::fs::remove_dir_all(path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn open(&self, name: &OsStr) -> io::Result<Option<File>> {
        let file = self.open_with(name, OFlags::RDWR)?;
        self.locked(name, file)
    }

    /// Opens a file for reading, without the lock.
    ///
    /// # Errors
    ///
    /// As for [`open`](Self::open).
    ///
    /// # Examples
    ///
    /// ```
    /// # let path = std::env::temp_dir().join(format!("tach-files-private-u-{}", std::process::id()));
    /// let folder = tach_files::PrivateFolder::make(&path)?;
    /// drop(folder.create("secrets".as_ref())?);
    /// let file = folder.read("secrets".as_ref())?;
    /// assert_eq!(file.metadata()?.len(), 0);
    /// # drop(file);
    /// # std::fs::remove_dir_all(path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn read(&self, name: &OsStr) -> io::Result<File> {
        self.open_with(name, OFlags::RDONLY)
    }

    /// Returns the names in the folder.
    ///
    /// # Errors
    ///
    /// If the folder can't be read.
    ///
    /// # Examples
    ///
    /// See [`PrivateFolder`].
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        self.handle.names()
    }

    /// Removes a file.
    ///
    /// # Errors
    ///
    /// If that fails. A name that is free already is no error.
    ///
    /// # Examples
    ///
    /// ```
    /// # let path = std::env::temp_dir().join(format!("tach-files-private-l-{}", std::process::id()));
    /// let folder = tach_files::PrivateFolder::make(&path)?;
    /// drop(folder.create("secrets".as_ref())?);
    /// folder.remove("secrets".as_ref())?;
    /// assert!(folder.names()?.is_empty());
    /// # std::fs::remove_dir_all(path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        match self.handle.remove(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    /// Gives a file another name, in place of the file that had it.
    ///
    /// # Errors
    ///
    /// If that fails.
    ///
    /// # Examples
    ///
    /// ```
    /// # let path = std::env::temp_dir().join(format!("tach-files-private-n-{}", std::process::id()));
    /// let folder = tach_files::PrivateFolder::make(&path)?;
    /// drop(folder.create("secrets".as_ref())?);
    /// folder.rename("secrets".as_ref(), "old".as_ref())?;
    /// assert_eq!(folder.names()?, ["old"]);
    /// # std::fs::remove_dir_all(path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        self.handle.rename(from, to)
    }

    fn open_with(&self, name: &OsStr, access: OFlags) -> io::Result<File> {
        let file = self.handle.open_existing(name, access)?;
        let found = Entry::of(&file)?;
        if found.is_file() && found.user == entry::user() && found.links == 1 {
            return Ok(file);
        }
        Err(refused("it is no regular file of this user alone".to_owned()))
    }

    /// Takes the lock of a file, if no process has it and the name leads to the file.
    fn locked(&self, name: &OsStr, file: File) -> io::Result<Option<File>> {
        match fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::AGAIN | Errno::ACCESS) => return Ok(None),
            locked => locked?,
        }
        let opened = Entry::of(&file)?;
        let is_named = match self.handle.entry(name) {
            // Another process had the lock before, and has removed the file.
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            found => !found?.is_other(&opened),
        };
        Ok(is_named.then_some(file))
    }
}

/// Reserves room on the disk for `length` bytes of a file from `start` on, which read as zeros
/// where nothing was written. A later store to the mapped bytes can't fail for lack of room.
///
/// # Platform-specific behavior
///
/// Linux only. A file system that copies or compresses each block when it is written, such as Btrfs,
/// may run out of room nevertheless.
///
/// # Errors
///
/// If there is no room.
///
/// # Examples
///
/// ```
/// # let path = std::env::temp_dir().join(format!("tach-files-private-a-{}", std::process::id()));
/// let folder = tach_files::PrivateFolder::make(&path)?;
/// let file = folder.create("secrets".as_ref())?.expect("no other process knows the name");
/// tach_files::reserve(&file, 0, 4096)?;
/// assert_eq!(file.metadata()?.len(), 4096);
/// # drop(file);
/// # std::fs::remove_dir_all(path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn reserve(file: &File, start: u64, length: u64) -> io::Result<()> {
    const ZEROS: [u8; 16 * 1024] = [0; 16 * 1024];
    loop {
        match fallocate(file, FallocateFlags::empty(), start, length) {
            Err(Errno::INTR) => {}
            // The file system can't. Then a write of zeros reserves the blocks.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => break,
            reserved => return Ok(reserved?),
        }
    }
    let (mut at, end) = (start, start + length);
    while at < end {
        let left = usize::try_from(end - at).unwrap_or(ZEROS.len()).min(ZEROS.len());
        match pwrite(file, &ZEROS[..left], at) {
            Err(Errno::INTR) => {}
            written => at += written? as u64,
        }
    }
    Ok(())
}

fn refused(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why)
}

fn not_mappable(system: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::Unsupported,
        format!(
            "the folder is on {system}, whose mapped files can't be trusted; use a folder of tmpfs \
             or of a local disk"
        ),
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::{env, fs, process};

    use super::*;

    fn path(name: &str) -> PathBuf {
        env::temp_dir().join(format!("tach-files-private-{name}-{}", process::id()))
    }

    #[test]
    fn a_folder_that_others_may_search_is_refused() {
        let path = path("others");
        PrivateFolder::make(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        for mode in [0o710, 0o704, 0o755] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let refused = PrivateFolder::make(&path).unwrap_err().to_string();
            assert!(refused.contains(&format!("{mode:#05o}; give it 0700")), "{refused}");
        }
        fs::remove_dir_all(path).unwrap();
    }

    #[test]
    fn links_and_second_names_are_refused() {
        let path = path("links");
        let folder = PrivateFolder::make(&path).unwrap();
        drop(folder.create("one".as_ref()).unwrap());
        let mode = fs::metadata(path.join("one")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        folder.create("one".as_ref()).unwrap_err();
        symlink("one", path.join("link")).unwrap();
        folder.create("link".as_ref()).unwrap_err();
        folder.open("link".as_ref()).unwrap_err();
        folder.open("one".as_ref()).unwrap();
        fs::hard_link(path.join("one"), path.join("two")).unwrap();
        folder.open("one".as_ref()).unwrap_err();
        fs::remove_dir_all(path).unwrap();
    }
}
