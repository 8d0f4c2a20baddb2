//! An open folder.
//!
//! A back end is one file with these items. Its functions follow no link.
//!
//! - `struct Handle`: an open folder, by `Handle::open(path: &Path, makes: bool) ->
//!   io::Result<Self>`, and the system calls behind the methods of [`Folder`].
//! - `fn check_link(link: &Path) -> io::Result<()>`: fails unless the process may follow the link.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use cfg_if::cfg_if;

use crate::access::Access;
use crate::entry::Entry;

cfg_if! {
    if #[cfg(unix)] {
        mod unix;
        pub(crate) use self::unix::check_link;
        use self::unix::Handle;
    } else {
        mod other;
        pub(crate) use self::other::check_link;
        use self::other::Handle;
    }
}

/// How often a file is tried to be opened that others create and delete meanwhile.
const TRIES: usize = 8;

/// An open folder. Its methods follow no link, and open regular files alone.
///
/// # Examples
///
/// ```
/// use std::io::Write as _;
///
/// use tach_files::{Access, Folder};
///
/// # let path = std::env::temp_dir().join(format!("tach-files-folder-{}", std::process::id()));
/// # let path = tach_files::resolve(&path)?;
/// let folder = Folder::make(&path)?;
/// let (part, done) = ("report.part".as_ref(), "report".as_ref());
/// let mut file = folder.create_new(part, &Access::exactly(0o600))?;
/// file.write_all(b"all is well\n")?;
/// file.sync_all()?;
/// folder.rename(part, done)?;
/// folder.sync()?;
/// # std::fs::remove_dir_all(path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Folder {
    handle: Handle,
    path: PathBuf,
}

impl Folder {
    /// Opens a folder by a path that [`resolve`](crate::resolve) returned.
    ///
    /// # Errors
    ///
    /// If a part of the path is missing, is a link or no folder, or can't be searched.
    ///
    /// # Examples
    ///
    /// ```
    /// let folder = tach_files::Folder::open(&tach_files::resolve(".".as_ref())?)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { handle: Handle::open(path, false)?, path: path.to_owned() })
    }

    /// Opens a folder as [`open`](Self::open) does, and makes those that are missing, with the mode
    /// 0750 less the umask.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open), or if a folder can't be made.
    ///
    /// # Examples
    ///
    /// See [`Folder`].
    pub fn make(path: &Path) -> io::Result<Self> {
        Ok(Self { handle: Handle::open(path, true)?, path: path.to_owned() })
    }

    /// Refuses a folder where another user may exchange files, if this process has more rights than
    /// others. Call this before renaming, compressing or deleting files there.
    ///
    /// The process has more rights than others if it runs as root, or has privileges that its
    /// caller lacks. Other users may write the folder if it belongs to neither root nor the
    /// process's user, or if its mode lets others or a group beside root's write, also with the
    /// sticky bit. Where the process has no more rights than others, nothing is refused.
    ///
    /// # Errors
    ///
    /// If the folder is refused, with the reason and the remedies.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_files::{Folder, resolve};
    ///
    /// let folder = Folder::open(&resolve("/".as_ref())?)?;
    /// folder.refuse_if_shared()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn refuse_if_shared(&self) -> io::Result<()> {
        match self.handle.other_writers() {
            Ok(None) => Ok(()),
            Ok(Some(_)) if !has_more_rights() => Ok(()),
            Ok(Some(writers)) => Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                format!(
                    "{writers} may write the folder {}, and so could exchange a file while this \
                     process, which has more rights, renames or deletes it: give the folder to \
                     user {} and take the right to write from others (chown, chmod go-w), use \
                     another folder, or run the program as the folder's owner",
                    self.path.display(),
                    crate::entry::user(),
                ),
            )),
            Err(error) => Err(error),
        }
    }

    /// Opens a file for appending. If it is missing, creates it with this access.
    ///
    /// # Errors
    ///
    /// If that fails, or if the name stands for a link or for anything but a regular file. In a
    /// folder that other users may write, also if the file has another name: it may be a file of
    /// this process's user elsewhere.
    ///
    /// # Examples
    ///
    /// See the [crate].
    pub fn append(&self, name: &OsStr, access: &Access) -> io::Result<File> {
        self.open_or_create(name, access, true)
    }

    /// Empties a file for new contents, or creates it: see [`create`](crate::create).
    pub(crate) fn overwrite(&self, name: &OsStr, access: &Access) -> io::Result<File> {
        self.open_or_create(name, access, false)
    }

    fn open_or_create(&self, name: &OsStr, access: &Access, appends: bool) -> io::Result<File> {
        for _ in 0..TRIES {
            match self.handle.open_file(name, appends) {
                Ok(file) => return self.checked(name, file, appends),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(self.explained(name, error)),
            }
            match self.handle.create_file(name, access, appends) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => return created,
            }
        }
        Err(io::Error::other("others create and delete it all the time"))
    }

    /// Returns an existing file that may be written, after it was opened.
    fn checked(&self, name: &OsStr, file: File, appends: bool) -> io::Result<File> {
        let entry = Entry::of(&file)?;
        if !entry.is_file {
            return Err(irregular(name));
        }
        let is_other = !appends && entry.user != crate::entry::user();
        if (entry.links > 1 || is_other) && self.handle.other_writers()?.is_some() {
            let reason = if is_other { "is another user's" } else { "has another name" };
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                format!("{} {reason}, and others may write its folder", Path::new(name).display()),
            ));
        }
        if !appends {
            file.set_len(0)?;
        }
        Ok(file)
    }

    fn explained(&self, name: &OsStr, error: io::Error) -> io::Error {
        self.refuse_link(name).err().unwrap_or(error)
    }

    fn refuse_link(&self, name: &OsStr) -> io::Result<()> {
        match self.entry(name) {
            Ok(Some(entry)) if entry.is_link => Err(irregular(name)),
            _ => Ok(()),
        }
    }

    /// Creates a file, whose name must be free, with this access.
    ///
    /// # Errors
    ///
    /// If that fails, or the name stands for anything already.
    ///
    /// # Examples
    ///
    /// See [`Folder`].
    pub fn create_new(&self, name: &OsStr, access: &Access) -> io::Result<File> {
        self.handle.create_file(name, access, false)
    }

    /// Opens a file of this process for reading: see [`Entry::is_own`].
    ///
    /// # Errors
    ///
    /// If that fails, or the file is not the process's own.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_files::{Access, Entry, Folder};
    ///
    /// # let path = std::env::temp_dir().join(format!("tach-files-read-{}", std::process::id()));
    /// # let path = tach_files::resolve(&path)?;
    /// let folder = Folder::make(&path)?;
    /// let file = folder.create_new("app.log".as_ref(), &Access::at_most(0o640))?;
    /// let again = folder.open_own("app.log".as_ref(), &Entry::of(&file)?)?;
    /// # std::fs::remove_dir_all(path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn open_own(&self, name: &OsStr, like: &Entry) -> io::Result<File> {
        let file = self.handle.read_file(name).map_err(|error| self.explained(name, error))?;
        if Entry::of(&file)?.is_own(like) {
            return Ok(file);
        }
        Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("{} is no file of this process alone", Path::new(name).display()),
        ))
    }

    /// Returns the meaning of a name, or `None` if it is free.
    ///
    /// # Errors
    ///
    /// If the folder can't be searched.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_files::{Folder, resolve};
    ///
    /// let folder = Folder::open(&resolve(".".as_ref())?)?;
    /// assert!(folder.entry("Cargo.toml".as_ref())?.is_some_and(|entry| entry.is_file()));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn entry(&self, name: &OsStr) -> io::Result<Option<Entry>> {
        match self.handle.entry(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            entry => entry.map(Some),
        }
    }

    /// Gives a file of the folder another name in it, in place of the file that had that name.
    ///
    /// # Errors
    ///
    /// If that fails.
    ///
    /// # Examples
    ///
    /// See [`Folder`].
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        self.handle.rename(from, to)
    }

    /// Deletes a file of this process: see [`Entry::is_own`]. Leaves any other alone, and a name
    /// that is free.
    ///
    /// # Errors
    ///
    /// If that fails.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_files::{Access, Entry, Folder};
    ///
    /// # let path = std::env::temp_dir().join(format!("tach-files-rm-{}", std::process::id()));
    /// # let path = tach_files::resolve(&path)?;
    /// let folder = Folder::make(&path)?;
    /// let file = folder.create_new("app.log".as_ref(), &Access::at_most(0o640))?;
    /// folder.remove_own("app.log".as_ref(), &Entry::of(&file)?)?;
    /// assert!(folder.entry("app.log".as_ref())?.is_none());
    /// # std::fs::remove_dir_all(path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn remove_own(&self, name: &OsStr, like: &Entry) -> io::Result<()> {
        match self.entry(name)? {
            Some(entry) if entry.is_own(like) => match self.handle.remove(name) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                done => done,
            },
            _ => Ok(()),
        }
    }

    /// Returns the names in the folder.
    ///
    /// # Errors
    ///
    /// If the folder can't be read.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_files::{Folder, resolve};
    ///
    /// let folder = Folder::open(&resolve(".".as_ref())?)?;
    /// assert!(folder.names()?.contains(&"Cargo.toml".into()));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        self.handle.names()
    }

    /// Waits until names that were given or taken are on the disk.
    ///
    /// # Errors
    ///
    /// If that fails. File systems that can't do so succeed.
    ///
    /// # Examples
    ///
    /// See [`Folder`].
    pub fn sync(&self) -> io::Result<()> {
        self.handle.sync()
    }
}

fn irregular(name: &OsStr) -> io::Error {
    let name = Path::new(name).display();
    io::Error::other(format!("{name} is a link, or no regular file"))
}

/// Returns whether others lack rights that this process has.
fn has_more_rights() -> bool {
    cfg!(unix)
        && (crate::entry::user() == 0 || tach_core::adapter::has_more_privileges_than_caller())
}
