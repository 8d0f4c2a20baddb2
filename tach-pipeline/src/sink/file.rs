//! A file that is appended to, rotated, and opened again if it was moved or deleted.

use core::mem;
use core::time::Duration;
use std::fs::{self, File, Metadata};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use tach_core::UnixTime;

use super::new_file::{create_folders, open_options};
use super::rotation::{Rotation, Tidying};

/// How often the path is looked at.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

/// Options of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Options {
    /// Whether the file is opened again if it was moved or deleted.
    pub(super) is_followed: bool,
    pub(super) rotation: Option<Rotation>,
}

pub(super) struct LogFile {
    path: PathBuf,
    file: File,
    options: Options,
    /// The rotation, if this is a regular file: no device or FIFO is renamed.
    rotation: Option<Rotation>,
    /// How many bytes the file has, and when it was last written, if it is rotated.
    length: u64,
    written: UnixTime,
    tidying: Tidying,
    /// The file's identity, if it is to be compared.
    identity: Option<Identity>,
    /// When the path was looked at last.
    looked: Instant,
}

impl LogFile {
    /// Opens a file for appending, and creates it and its folders if they are missing.
    ///
    /// # Errors
    ///
    /// If that fails.
    pub(super) fn open(path: &Path, options: Options) -> io::Result<Self> {
        let file = append(path).or_else(|error| match path.parent() {
            Some(folder) if error.kind() == io::ErrorKind::NotFound => {
                create_folders(folder)?;
                append(path)
            }
            _ => Err(error),
        })?;
        let metadata = file.metadata()?;
        let is_followed = options.is_followed && metadata.is_file();
        let written = metadata.modified().ok().and_then(|time| UnixTime::try_from(time).ok());
        Ok(Self {
            path: path.to_owned(),
            file,
            options,
            rotation: options.rotation.filter(|_| metadata.is_file()),
            length: metadata.len(),
            written: written.unwrap_or_else(UnixTime::now),
            tidying: Tidying::default(),
            identity: Identity::of(&metadata, path).filter(|_| is_followed),
            looked: Instant::now(),
        })
    }

    /// Opens the path anew. If that fails, the old file stays.
    ///
    /// # Errors
    ///
    /// If that fails.
    pub(super) fn reopen(&mut self) -> io::Result<()> {
        let new = Self::open(&self.path, self.options)?;
        *self = Self { tidying: mem::take(&mut self.tidying), ..new };
        Ok(())
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        if self.rotation.is_some() {
            self.length += count as u64;
            self.written = UnixTime::now();
        }
        Ok(count)
    }

    /// Returns whether the file must be rotated before so many bytes are written.
    pub(super) fn is_due(&self, more: usize) -> bool {
        let is_due =
            |rotation: Rotation| rotation.is_due(self.length, more, self.written, UnixTime::now());
        self.rotation.is_some_and(is_due)
    }

    /// Renames the file and opens the path anew. If that fails, the old file stays.
    ///
    /// # Errors
    ///
    /// If that fails.
    pub(super) fn rotate(&mut self) -> io::Result<()> {
        let path = self.behind_links();
        match path.and_then(|path| Rotation::rename(&path, UnixTime::now())) {
            // Somebody else moved it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            renamed => renamed?,
        }
        self.reopen()
    }

    /// Begins to compress and delete old files.
    ///
    /// # Errors
    ///
    /// If that can't begin, or failed the last time.
    pub(super) fn tidy(&mut self) -> io::Result<()> {
        match self.rotation {
            Some(rotation) => self.tidying.begin(self.behind_links()?, rotation),
            None => Ok(()),
        }
    }

    /// Returns the path, or where it leads if it is a symbolic link, which stays.
    ///
    /// # Errors
    ///
    /// If the link leads to no file.
    fn behind_links(&self) -> io::Result<PathBuf> {
        if self.path.is_symlink() { fs::canonicalize(&self.path) } else { Ok(self.path.clone()) }
    }

    /// Returns whether another file, or none, is at the path. Looks at most once a second.
    pub(super) fn is_moved(&mut self) -> bool {
        let Some(ours) = self.identity else { return false };
        if self.looked.elapsed() < BETWEEN_LOOKS {
            return false;
        }
        self.looked = Instant::now();
        match fs::metadata(&self.path) {
            Ok(metadata) => !ours.is_of(&metadata),
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        }
    }

    /// Returns whether no path leads to the file, so that its contents are lost.
    pub(super) fn is_deleted(&self) -> bool {
        self.identity.is_some_and(|identity| identity.has_links)
            && self.file.metadata().is_ok_and(|metadata| links(&metadata) == 0)
    }
}

fn append(path: &Path) -> io::Result<File> {
    let mut options = open_options();
    options.append(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        // Otherwise opening a FIFO waits for a reader.
        let is_fifo = fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_fifo());
        options.read(is_fifo);
    }
    options.open(path)
}

/// Which file it is, among all.
#[derive(Debug, Clone, Copy)]
struct Identity {
    numbers: (u64, u64),
    /// Some file systems count no links.
    has_links: bool,
}

impl Identity {
    /// Returns the identity of an open file, or `None` where files have none.
    fn of(metadata: &Metadata, path: &Path) -> Option<Self> {
        let numbers = numbers(metadata);
        // A file at the path that has no links is one whose links are not counted.
        let has_links = links(metadata) > 0
            || fs::metadata(path).map_or(true, |at_path| self::numbers(&at_path) != numbers);
        cfg!(unix).then_some(Self { numbers, has_links })
    }

    fn is_of(self, metadata: &Metadata) -> bool {
        numbers(metadata) == self.numbers
    }
}

/// Returns the numbers of the device and of the file on it.
#[cfg(unix)]
fn numbers(metadata: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt as _;
    (metadata.dev(), metadata.ino())
}

#[cfg(not(unix))]
fn numbers(_: &Metadata) -> (u64, u64) {
    (0, 0)
}

#[cfg(unix)]
fn links(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(metadata)
}

#[cfg(not(unix))]
fn links(_: &Metadata) -> u64 {
    1
}
