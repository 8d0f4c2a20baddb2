//! A folder that only one user may read, for files that hold secrets: modes and `openat`. No link
//! in the folder is followed.

use core::time::Duration;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

use rustix::fs::{FallocateFlags, OFlags, fallocate, fstat, fstatfs};
use rustix::io::{Errno, pwrite};
use rustix::process::{Resource, getrlimit};

use crate::access::Access;
use crate::entry::{self, Entry};
use crate::folder::FOLDER;
use crate::lock::try_lock;
use crate::os::Handle;
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

/// An open folder for files that only the process's user may access, and that can be mapped into
/// memory. No link in the folder is followed.
///
/// # Platform-specific behavior
///
/// Linux only. The folder has the mode 0700 and belongs to the process's user, and its files have
/// the mode 0600.
///
/// # Examples
///
/// ```
/// use tach_files::PrivateFolder;
///
/// # let path = std::env::temp_dir().join(format!("tach-files-private-{}", std::process::id()));
/// let folder = PrivateFolder::make(&path)?;
/// let file = folder.create("secrets".as_ref())?;
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
    /// If the folder belongs to another user, or other users have rights to it. Also if it can't be
    /// created or opened, or is on a file system of a network or of another process, such as NFS or
    /// FUSE. There, an access to mapped memory may wait for a server or end the process.
    ///
    /// # Examples
    ///
    /// See [`PrivateFolder`].
    pub fn make(path: &Path) -> io::Result<Self> {
        let place = Place::of(&path.components().collect::<PathBuf>())?;
        let path = place.path();
        Handle::open(path.parent().unwrap_or(&path), Some(FOLDER))?;
        let handle = Handle::open(&path, Some(PRIVATE))?;
        let found = fstat(&handle.0)?;
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
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "32 bits")]
        let kind = fstatfs(&handle.0)?.f_type as u32;
        match REMOTE.iter().find(|(number, _)| *number == kind) {
            None => Ok(Self { handle, path }),
            Some((_, name)) => Err(not_mappable(name)),
        }
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

    /// Takes the folder's lock, which processes that use its files share. Waits at most `longest`;
    /// returns `None` if another process holds the lock for longer.
    ///
    /// The lock ends by [`unlock`](crate::unlock), or when the file that is returned is closed in
    /// each process that has it.
    ///
    /// # Examples
    ///
    /// ```
    /// # let path = std::env::temp_dir().join(format!("tach-files-private-k-{}", std::process::id()));
    /// let folder = tach_files::PrivateFolder::make(&path)?;
    /// let lock = folder.lock(core::time::Duration::from_secs(1)).expect("no other process uses the folder");
    /// tach_files::unlock(&lock);
    /// # std::fs::remove_dir_all(path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn lock(&self, longest: Duration) -> Option<File> {
        let lock = self.handle.lockable().ok()??;
        let start = Instant::now();
        while !try_lock(&lock) {
            if start.elapsed() >= longest {
                return None;
            }
            thread::sleep(Duration::from_millis(1));
        }
        Some(lock)
    }

    /// Creates a file for reading and writing.
    ///
    /// # Errors
    ///
    /// If that fails, or the name is taken.
    ///
    /// # Examples
    ///
    /// See [`PrivateFolder`].
    pub fn create(&self, name: &OsStr) -> io::Result<File> {
        self.handle.create_file(name, &FILE, false)
    }

    /// Opens a file for reading and writing.
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
    /// let file = folder.open("secrets".as_ref())?;
    /// assert_eq!(file.metadata()?.len(), 0);
    /// # std::fs::remove_dir_all(path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn open(&self, name: &OsStr) -> io::Result<File> {
        let file = self.handle.open_existing(name, OFlags::RDWR)?;
        let found = Entry::of(&file)?;
        if found.is_file() && found.user == entry::user() && found.links == 1 {
            return Ok(file);
        }
        Err(refused("it is no regular file of this user alone".to_owned()))
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

    /// Renames `from` to `to`, and replaces `to` if it exists.
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
}

/// Reserves room on the disk for `length` bytes of a file from `start` on, which read as zeros
/// where nothing was written. A later store to the mapped bytes can't fail for lack of room.
///
/// # Platform-specific behavior
///
/// Linux only. A file system that copies or compresses each block when it is written, such as
/// Btrfs, may run out of room nevertheless.
///
/// # Errors
///
/// If there is no room, or the file would be longer than the process may make files
/// (`RLIMIT_FSIZE`). No signal is sent then.
///
/// # Examples
///
/// ```
/// # let path = std::env::temp_dir().join(format!("tach-files-private-a-{}", std::process::id()));
/// let folder = tach_files::PrivateFolder::make(&path)?;
/// let file = folder.create("secrets".as_ref())?;
/// tach_files::reserve(&file, 0, 4096)?;
/// assert_eq!(file.metadata()?.len(), 4096);
/// # drop(file);
/// # std::fs::remove_dir_all(path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn reserve(file: &File, start: u64, length: u64) -> io::Result<()> {
    const ZEROS: [u8; 16 * 1024] = [0; 16 * 1024];
    if getrlimit(Resource::Fsize).current.is_some_and(|most| start + length > most) {
        return Err(Errno::FBIG.into());
    }
    loop {
        match fallocate(file, FallocateFlags::empty(), start, length) {
            Err(Errno::INTR) => {}
            // The file system can't reserve blocks. Writing zeros does so instead.
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

/// Returns the blocks of a part of a file to the system, if the file system can do that. The part
/// then reads as zeros, and the file keeps its length.
///
/// # Errors
///
/// If that fails.
///
/// # Examples
///
/// ```
/// use std::os::unix::fs::MetadataExt as _;
///
/// # let path = std::env::temp_dir().join(format!("tach-files-give-{}", std::process::id()));
/// let folder = tach_files::PrivateFolder::make(&path)?;
/// let file = folder.create("secrets".as_ref())?;
/// tach_files::reserve(&file, 0, 1 << 20)?;
/// tach_files::give_back(&file, 0, 1 << 20)?;
/// assert_eq!(file.metadata()?.len(), 1 << 20);
/// # std::fs::remove_dir_all(path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn give_back(file: &File, start: u64, length: u64) -> io::Result<()> {
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    Ok(fallocate(file, flags, start, length)?)
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
