//! A folder that one user alone may read, for files that hold secrets.
//!
//! A back end is one file with these items. Its functions follow no link in the folder.
//!
//! - `struct Handle`: an open folder, by `Handle::open(place: &Place, makes: bool) ->
//!   io::Result<Self>`, and the system calls behind the methods of [`PrivateFolder`].
//! - `fn reserve(file: &File, start: u64, length: u64) -> io::Result<bool>`: reserves blocks. Returns
//!   `false` if that takes a write of zeros.
//! - `fn write_at(file: &File, bytes: &[u8], at: u64) -> io::Result<usize>`: writes at a place.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use cfg_if::cfg_if;

use crate::place::Place;

cfg_if! {
    if #[cfg(windows)] {
        mod windows;
        use self::windows::{Handle, reserve as reserve_blocks, write_at};
    } else {
        mod linux;
        use self::linux::{Handle, reserve as reserve_blocks, write_at};
    }
}

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
/// Linux, Android and Windows only.
///
/// On Linux and Android, the folder has the mode 0700 and belongs to the process's user, and its
/// files have the mode 0600. The lock is that of `fcntl`: a forked child does not inherit it,
/// unlike that of [`try_lock`](crate::try_lock). It belongs to the process and not to the open
/// file. It also ends if the process closes any descriptor of the file, and a process is never
/// refused its own lock. So a process must not open a file again that it uses.
///
/// On Windows, the folder and its files have the rights that they inherit from the folder above.
/// Use a folder in the user's profile, or one whose access control list names the user alone. The
/// lock is the share mode of the open file: other processes may read the file meanwhile, and not
/// write it.
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
    /// If the folder belongs to another user, or other users have rights to it, except on Windows.
    /// Also if it can't be created or opened.
    ///
    /// # Examples
    ///
    /// See [`PrivateFolder`].
    pub fn make(path: &Path) -> io::Result<Self> {
        Self::open_or_make(path, true)
    }

    /// Opens a folder that exists, like [`make`](Self::make).
    ///
    /// # Errors
    ///
    /// See [`make`](Self::make). Also if the folder is missing.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::io::ErrorKind;
    ///
    /// use tach_files::PrivateFolder;
    ///
    /// let missing = PrivateFolder::existing("there/is/no/such".as_ref()).unwrap_err();
    /// assert_eq!(missing.kind(), ErrorKind::NotFound);
    /// ```
    pub fn existing(path: &Path) -> io::Result<Self> {
        Self::open_or_make(path, false)
    }

    fn open_or_make(path: &Path, makes: bool) -> io::Result<Self> {
        let place = Place::of(&path.components().collect::<PathBuf>())?;
        Ok(Self { handle: Handle::open(&place, makes)?, path: place.path() })
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
    /// On a file system of a network or of another process, such as NFS, FUSE or a share. There, an
    /// access to mapped memory may wait for a server or end the process.
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
        self.handle.check_mappable()
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
        self.handle.create(name)
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
        self.handle.open_file(name)
    }

    /// Opens a file for reading, without the lock.
    ///
    /// # Errors
    ///
    /// As for [`open`](Self::open).
    ///
    /// # Examples
    ///
    /// See [`is_in_use`](Self::is_in_use).
    pub fn read(&self, name: &OsStr) -> io::Result<File> {
        self.handle.read(name)
    }

    /// Returns whether another process has the [lock](Self#guarantees) of a file that is open for
    /// [reading](Self::read). Takes no lock.
    ///
    /// # Platform-specific behavior
    ///
    /// On Linux and Android, the calling process's own lock does not count, and closing the file
    /// ends it. On Windows, it counts like that of another process.
    ///
    /// # Errors
    ///
    /// If the file system has no such locks.
    ///
    /// # Examples
    ///
    /// ```
    /// # let path = std::env::temp_dir().join(format!("tach-files-private-u-{}", std::process::id()));
    /// let folder = tach_files::PrivateFolder::make(&path)?;
    /// drop(folder.create("secrets".as_ref())?);
    /// let file = folder.read("secrets".as_ref())?;
    /// assert!(!folder.is_in_use("secrets".as_ref(), &file)?);
    /// # drop(file);
    /// # std::fs::remove_dir_all(path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn is_in_use(&self, name: &OsStr, file: &File) -> io::Result<bool> {
        self.handle.is_in_use(name, file)
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
    /// # Platform-specific behavior
    ///
    /// On Windows, a file that is mapped into memory can't be removed.
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
            Err(gone) if gone.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }
}

/// Reserves room on the disk for `length` bytes of a file from `start` on, which read as zeros
/// where nothing was written. A later store to the mapped bytes can't fail for lack of room.
///
/// # Platform-specific behavior
///
/// On Linux, Android and Windows only. A file system that copies or compresses each block when it
/// is written, such as Btrfs or a compressed folder of NTFS, may run out of room nevertheless.
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
    if reserve_blocks(file, start, length)? {
        return Ok(());
    }
    let (mut at, end) = (start, start + length);
    while at < end {
        let left = usize::try_from(end - at).unwrap_or(ZEROS.len()).min(ZEROS.len());
        match write_at(file, &ZEROS[..left], at) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            written => at += written? as u64,
        }
    }
    Ok(())
}

fn refused(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why)
}

fn not_mappable(place: &str) -> io::Error {
    let advice = if cfg!(windows) { "a local disk" } else { "tmpfs or of a local disk" };
    io::Error::new(
        io::ErrorKind::Unsupported,
        format!(
            "the folder is {place}, whose mapped files can't be trusted; use a folder of {advice}"
        ),
    )
}

#[cfg(all(test, unix))]
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
