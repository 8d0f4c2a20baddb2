//! An open folder.

use core::time::Duration;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use crate::access::Access;
use crate::entry::{self, Entry, Kind};
use crate::os::{Handle, Lock, Writers, has_more_rights, lock};

/// The mode of a new folder: the owner writes, the group reads, and others have no access.
pub(crate) const FOLDER: u32 = 0o750;
/// The most attempts to open a file that others create and delete meanwhile.
const TRIES: usize = 8;
/// The longest wait for the lock of a folder, and the pause between two attempts.
const LONGEST_WAIT: Duration = Duration::from_secs(1);
const BETWEEN_TRIES: Duration = Duration::from_millis(1);

/// An open folder. Its methods follow no link, and open only regular files.
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
    handle: Arc<Handle>,
    path: PathBuf,
    owner: u32,
    /// The users other than root and the process's own who may write the folder.
    others: Option<Writers>,
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
        Self::of(path, None)
    }

    /// Opens a folder like [`open`](Self::open). Creates the folder, and the folders above it, if
    /// they are missing, with the mode 0750 less the umask.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open), or if a folder can't be made.
    ///
    /// # Examples
    ///
    /// See [`Folder`].
    pub fn make(path: &Path) -> io::Result<Self> {
        Self::of(path, Some(FOLDER))
    }

    fn of(path: &Path, makes: Option<u32>) -> io::Result<Self> {
        Self::by(Arc::new(Handle::open(path, makes)?), path)
    }

    fn by(handle: Arc<Handle>, path: &Path) -> io::Result<Self> {
        let (owner, others) = handle.writers()?;
        Ok(Self { handle, path: path.to_owned(), owner, others })
    }

    /// Returns the same folder, with its owner and its writers as they are now. A folder that was
    /// moved is still found, and so is one outside a new root of the process. If the folder was
    /// deleted, creates one at the path.
    ///
    /// # Errors
    ///
    /// As [`make`](Self::make).
    ///
    /// # Examples
    ///
    /// ```
    /// # let path = std::env::temp_dir().join(format!("tach-files-again-{}", std::process::id()));
    /// # let path = tach_files::resolve(&path)?;
    /// let folder = tach_files::Folder::make(&path)?;
    /// std::fs::remove_dir(&path)?;
    /// let folder = folder.again()?;
    /// assert!(path.is_dir());
    /// # std::fs::remove_dir(path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn again(&self) -> io::Result<Self> {
        if self.handle.is_removed() {
            return Self::make(&self.path);
        }
        Self::by(Arc::clone(&self.handle), &self.path)
    }

    /// Returns the path by which the folder was opened.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_files::{Folder, resolve};
    ///
    /// let path = resolve(".".as_ref())?;
    /// assert_eq!(Folder::open(&path)?.path(), path);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Refuses a folder where another user may exchange files, if this process has more rights than
    /// others. Call this before renaming, compressing or deleting files there.
    ///
    /// The process has more rights than others if it runs as root, has privileges that its caller
    /// lacks, or, on Linux, has the capability `CAP_DAC_OVERRIDE`, `CAP_FOWNER` or `CAP_CHOWN`.
    /// Other users may write the folder if it belongs to neither root nor the process's user, or if
    /// its mode lets its group or everybody write. The sticky bit changes nothing. A process
    /// without more rights than others is refused nothing.
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
        match self.others {
            Some(others) if has_more_rights() => Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                format!(
                    "{others} may write the folder {}, and so could exchange a file while this \
                     process, which has more rights, renames or deletes it; use a folder that only \
                     user {} may write, such as a new one in it, or run the program as the folder's \
                     owner",
                    self.path.display(),
                    entry::user(),
                ),
            )),
            _ => Ok(()),
        }
    }

    /// Returns whether this process may treat a file of the folder as its own: a regular file with
    /// one name that belongs to the process's user. In a folder that no other user may write, a
    /// file of the same user as `like` counts too.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_files::{Access, Entry, Folder};
    ///
    /// # let path = std::env::temp_dir().join(format!("tach-files-own-{}", std::process::id()));
    /// # let path = tach_files::resolve(&path)?;
    /// let folder = Folder::make(&path)?;
    /// let file = folder.create_new("app.log".as_ref(), &Access::at_most(0o640))?;
    /// let entry = Entry::of(&file)?;
    /// assert!(folder.is_own(&entry, &entry));
    /// # std::fs::remove_dir_all(path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn is_own(&self, entry: &Entry, like: &Entry) -> bool {
        let is_known =
            entry.user == entry::user() || self.others.is_none() && entry.user == like.user;
        entry.is_file() && entry.links <= 1 && is_known
    }

    /// Opens a file for appending. If it is missing, creates it with this access.
    ///
    /// # Errors
    ///
    /// If that fails, or if the name stands for a link or for anything but a regular file. In a
    /// folder that other users may write, also if another user may have laid the file there: it has
    /// another name, or belongs to neither the process's user nor root. A process without more
    /// rights than others also accepts other users' files, except in a folder that everybody may
    /// write: there, only a file of the folder's owner.
    ///
    /// # Examples
    ///
    /// See the [crate].
    pub fn append(&self, name: &OsStr, access: &Access) -> io::Result<File> {
        Ok(self.open_or_create(name, access, true)?.0)
    }

    /// Empties a file for new contents, or creates it: see [`create`](crate::create).
    pub(crate) fn overwrite(&self, name: &OsStr, access: &Access) -> io::Result<File> {
        let (file, _) = self.open_or_create(name, access, false)?;
        file.set_len(0)?;
        Ok(file)
    }

    /// Fails as [`overwrite`](Self::overwrite) would, and leaves no new file.
    pub(crate) fn check_overwrite(&self, name: &OsStr, access: &Access) -> io::Result<()> {
        let (file, is_new) = self.open_or_create(name, access, false)?;
        if is_new { self.remove_own(name, &Entry::of(&file)?) } else { Ok(()) }
    }

    /// Returns an open file, and whether it was created.
    fn open_or_create(
        &self,
        name: &OsStr,
        access: &Access,
        appends: bool,
    ) -> io::Result<(File, bool)> {
        for _ in 0..TRIES {
            match self.handle.open_file(name, appends) {
                Ok(file) => return Ok((self.checked(name, file, appends)?, false)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(self.explained(name, error)),
            }
            match self.handle.create_file(name, access, appends) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => return Ok((created?, true)),
            }
        }
        Err(io::Error::other("other processes create and delete it all the time; use another path"))
    }

    /// Returns an existing file that may be written, after it was opened.
    fn checked(&self, name: &OsStr, file: File, appends: bool) -> io::Result<File> {
        let entry = Entry::of(&file)?;
        if !entry.is_file() {
            return Err(irregular(name, entry.kind));
        }
        self.refuse_if_laid(name, &entry, appends)?;
        Ok(file)
    }

    /// Refuses an open file that another user may have placed in the folder in order to read what
    /// is appended, or to make this process write another file.
    fn refuse_if_laid(&self, name: &OsStr, entry: &Entry, appends: bool) -> io::Result<()> {
        let Some(others) = self.others else { return Ok(()) };
        // Colleagues who share a folder append to one file, whoever created it. Where everybody may
        // write, trust only files of the folder's owner.
        let is_shared = || others != Writers::Everybody || entry.user == self.owner;
        let is_known = entry.user == entry::user()
            || appends && entry.user == entry::ROOT
            || appends && !has_more_rights() && is_shared();
        // An attacker may have removed a hard link after the open. Then one link is left, but
        // `name` may no longer lead to this file.
        let is_only = entry.links <= 1
            && self.entry(name)?.is_some_and(|found| !found.is_other(entry) && found.links <= 1);
        let reason = match (is_known, is_only) {
            (true, true) => return Ok(()),
            (false, _) => "is another user's",
            (true, false) => "has another name",
        };
        Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!(
                "{} {reason}, and other users may write its folder; remove it, or use a folder that \
                 only user {} may write",
                Path::new(name).display(),
                entry::user(),
            ),
        ))
    }

    /// Opens a device or a FIFO.
    pub(crate) fn open_special(&self, name: &OsStr) -> io::Result<File> {
        let file = self.handle.open_special(name).map_err(|error| self.explained(name, error))?;
        let entry = Entry::of(&file)?;
        if entry.kind != Kind::Special {
            return Err(io::Error::other("it was exchanged while it was opened; try again"));
        }
        self.refuse_if_laid(name, &entry, true)?;
        Ok(file)
    }

    fn explained(&self, name: &OsStr, error: io::Error) -> io::Error {
        match self.entry(name) {
            Ok(Some(entry)) if !entry.is_file() => irregular(name, entry.kind),
            _ => error,
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

    /// Opens a file of this process for reading: see [`is_own`](Self::is_own).
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
        if self.is_own(&Entry::of(&file)?, like) {
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

    /// Renames `from` to `to` within the folder, and replaces `to` if it exists.
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

    /// Renames `from` to `to` within the folder. `to` must not exist.
    ///
    /// # Errors
    ///
    /// If that fails. If the name is taken, with the kind [`io::ErrorKind::AlreadyExists`].
    ///
    /// # Platform-specific behavior
    ///
    /// On Linux, Android and Apple's systems, one system call checks the name and gives it.
    /// Elsewhere and on file systems without that call, a file that another process creates in
    /// between is replaced.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::io::ErrorKind;
    ///
    /// use tach_files::{Access, Folder};
    ///
    /// # let path = std::env::temp_dir().join(format!("tach-files-new-{}", std::process::id()));
    /// # let path = tach_files::resolve(&path)?;
    /// let folder = Folder::make(&path)?;
    /// for name in ["one", "two"] {
    ///     folder.create_new(name.as_ref(), &Access::at_most(0o640))?;
    /// }
    /// let taken = folder.rename_new("one".as_ref(), "two".as_ref()).unwrap_err();
    /// assert_eq!(taken.kind(), ErrorKind::AlreadyExists);
    /// folder.rename_new("one".as_ref(), "three".as_ref())?;
    /// # std::fs::remove_dir_all(path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn rename_new(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        match self.handle.rename_new(from, to) {
            Err(error) if is_without_call(&error) => {
                if self.entry(to)?.is_some() {
                    return Err(io::ErrorKind::AlreadyExists.into());
                }
                self.rename(from, to)
            }
            done => done,
        }
    }

    /// Deletes a file of this process: see [`is_own`](Self::is_own). Does nothing to another
    /// process's file, or if the name is free.
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
            Some(entry) if self.is_own(&entry, like) => match self.handle.remove(name) {
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

    /// Calls `f` while no other process or thread is in such a call for the same folder. Waits up
    /// to one second for another call to end. This way several names can change together.
    ///
    /// # Platform-specific behavior
    ///
    /// On Unix by `flock` on the folder. Elsewhere, and on file systems without such locks, calls
    /// do not wait for each other.
    ///
    /// # Errors
    ///
    /// If `f` fails, the folder can't be read, or another program keeps the lock.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_files::{Folder, resolve};
    ///
    /// let folder = Folder::open(&resolve(".".as_ref())?)?;
    /// let count = folder.alone(|| Ok(folder.names()?.len()))?;
    /// # assert!(count > 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn alone<R>(&self, f: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
        let Some(folder) = self.handle.lockable()? else { return f() };
        let start = Instant::now();
        while !lock(&folder, Lock::Exclusive) {
            if start.elapsed() > LONGEST_WAIT {
                let path = self.path.display();
                return Err(io::Error::other(format!("another program keeps a lock on {path}")));
            }
            thread::sleep(BETWEEN_TRIES);
        }
        let result = f();
        // Unlock explicitly: a child that was forked meanwhile keeps the folder open, so closing it
        // here would not release the lock.
        lock(&folder, Lock::None);
        result
    }

    /// Waits until creations, renames and removals of names are on the disk.
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

/// Returns whether the system or the file system lacks a call.
fn is_without_call(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::InvalidInput)
}

fn irregular(name: &OsStr, kind: Kind) -> io::Error {
    let name = Path::new(name).display();
    let kind = match kind {
        Kind::File => "a file",
        Kind::Folder => "a folder",
        Kind::Link => "a link, which was not there when the program started",
        Kind::Special => "a device, a FIFO or a socket",
    };
    io::Error::other(format!("{name} is {kind}, and must be a regular file"))
}
