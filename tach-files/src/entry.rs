//! The meaning of a name in a folder.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;
use std::time::SystemTime;

/// The meaning of a name in a folder: a file, a link or another folder. A link is itself, not the
/// file that it leads to.
///
/// # Examples
///
/// ```
/// use tach_files::Entry;
///
/// let entry = Entry::at("Cargo.toml".as_ref())?;
/// assert!(entry.is_some_and(|entry| entry.is_file()));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    pub(crate) kind: Kind,
    /// The numbers of the device and of the file on it, where files have them.
    pub(crate) id: Option<(u64, u64)>,
    pub(crate) links: u64,
    pub(crate) length: u64,
    pub(crate) modified: Option<SystemTime>,
    pub(crate) user: u32,
}

impl Entry {
    /// Returns the entry of an open file.
    ///
    /// # Errors
    ///
    /// If the system refuses the question.
    ///
    /// # Examples
    ///
    /// ```
    /// let file = std::fs::File::open("Cargo.toml")?;
    /// assert!(tach_files::Entry::of(&file)?.is_file());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn of(file: &File) -> io::Result<Self> {
        file.metadata().map(|metadata| Self::by(&metadata))
    }

    /// Returns the entry at a path, or `None` if there is none. Folders of the path may be links.
    ///
    /// # Errors
    ///
    /// If a folder of the path can't be searched.
    ///
    /// # Examples
    ///
    /// See [`Entry`].
    pub fn at(path: &Path) -> io::Result<Option<Self>> {
        match path.symlink_metadata() {
            Ok(metadata) => Ok(Some(Self::by(&metadata))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns whether this is a regular file.
    ///
    /// # Examples
    ///
    /// See [`Entry`].
    #[must_use]
    pub const fn is_file(&self) -> bool {
        matches!(self.kind, Kind::File)
    }

    /// Returns whether the two are known to be different files. Always `false` where files have no
    /// identity, as on Windows.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_files::Entry;
    ///
    /// let file = Entry::of(&std::fs::File::open("Cargo.toml")?)?;
    /// assert!(Entry::at("Cargo.toml".as_ref())?.is_some_and(|entry| !entry.is_other(&file)));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn is_other(&self, other: &Self) -> bool {
        self.id.zip(other.id).is_some_and(|(one, other)| one != other)
    }

    /// Returns the numbers of the device and of the file on it. `None` where files have no
    /// identity, as on Windows.
    ///
    /// # Examples
    ///
    /// ```
    /// let file = std::fs::File::open("Cargo.toml")?;
    /// assert_eq!(tach_files::Entry::of(&file)?.id().is_some(), cfg!(unix));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub const fn id(&self) -> Option<(u64, u64)> {
        self.id
    }

    /// Returns how many names the file has. Zero for a file that was deleted while it is open, and
    /// on file systems that count none.
    ///
    /// # Examples
    ///
    /// ```
    /// let file = std::fs::File::open("Cargo.toml")?;
    /// assert!(tach_files::Entry::of(&file)?.links() >= 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub const fn links(&self) -> u64 {
        self.links
    }

    /// Returns the file's length in bytes.
    ///
    /// # Examples
    ///
    /// ```
    /// let file = std::fs::File::open("Cargo.toml")?;
    /// assert!(tach_files::Entry::of(&file)?.length() > 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub const fn length(&self) -> u64 {
        self.length
    }

    /// Returns when the file was written last, or `None` where files have no such time.
    ///
    /// # Examples
    ///
    /// ```
    /// let file = std::fs::File::open("Cargo.toml")?;
    /// assert!(tach_files::Entry::of(&file)?.modified().is_some());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub const fn modified(&self) -> Option<SystemTime> {
        self.modified
    }

    fn by(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        let (id, links, user) = {
            use std::os::unix::fs::MetadataExt as _;
            (Some((metadata.dev(), metadata.ino())), metadata.nlink(), metadata.uid())
        };
        #[cfg(not(unix))]
        let (id, links, user) = (None, 1, user());
        let (length, modified) = (metadata.len(), metadata.modified().ok());
        Self { kind: Kind::by(metadata), id, links, length, modified, user }
    }
}

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    Link,
    /// A device, a FIFO or a socket.
    Special,
}

impl Kind {
    fn by(metadata: &Metadata) -> Self {
        if metadata.is_file() {
            Self::File
        } else if metadata.is_dir() {
            Self::Folder
        } else if metadata.is_symlink() {
            Self::Link
        } else {
            Self::Special
        }
    }
}

/// The id of root.
pub(crate) const ROOT: u32 = 0;

/// Returns the id of the user whose rights this process has.
pub(crate) fn user() -> u32 {
    #[cfg(unix)]
    {
        rustix::process::geteuid().as_raw()
    }
    #[cfg(not(unix))]
    0
}
