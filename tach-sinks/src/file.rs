//! The options of a log file.

use std::io;
use std::path::PathBuf;

use crate::faults::Faults;
use crate::log_file::{LogFile, Options, SyncPolicy};
use crate::rotation::Rotation;
use crate::writer::Writer;

/// The options of a log file, which [`open`](Self::open) opens for appending.
///
/// If the file is missing, it is created with the mode 0640, and its folders with 0750, less the
/// umask. If the file is moved away or deleted, a new one is created, with the mode and the owner
/// of the old one. A device or a FIFO stays open.
///
/// Opening resolves the links of the path. Later, a link in the place of the file or of one of its
/// folders is refused, and the old file stays open.
///
/// # Examples
///
/// ```
/// use tach_sinks::{File, Rotation, SyncPolicy};
///
/// let audit = File::new("audit.log").mode(0o600).sync(SyncPolicy::Every);
/// let app = File::new("app.log").rotate(Rotation::new().daily().keep(14));
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct File {
    path: PathBuf,
    options: Options,
}

impl File {
    /// Creates the default options of the file at `path`.
    ///
    /// # Examples
    ///
    /// ```
    /// let file = tach_sinks::File::new("app.log");
    /// ```
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), options: Options::default() }
    }

    /// Keeps a file open that was moved or deleted. By default a new one is opened at its path.
    ///
    /// By default the path is looked at before a write, at most once a second; until then records
    /// are written to the file that was moved. After each write the writer checks whether the file
    /// was deleted: if so, that record is written again, to a new file.
    ///
    /// # Platform-specific behavior
    ///
    /// Except on Unix every file is kept open.
    ///
    /// # Examples
    ///
    /// ```
    /// let file = tach_sinks::File::new("app.log").keep_open();
    /// ```
    pub const fn keep_open(mut self) -> Self {
        self.options.is_kept = true;
        self
    }

    /// Sets the mode of a file that is created, whatever the umask. By default it is 0640 less the
    /// umask. A file that replaces another one keeps the mode of that file.
    ///
    /// With a mode beyond `0o777`, or one under which the owner can't write, opening fails.
    ///
    /// # Platform-specific behavior
    ///
    /// On Unix only.
    ///
    /// # Examples
    ///
    /// ```
    /// let file = tach_sinks::File::new("audit.log").mode(0o600);
    /// ```
    pub const fn mode(mut self, mode: u32) -> Self {
        self.options.mode = Some(mode);
        self
    }

    /// Sets when a write waits until its record is on the disk, by default never.
    ///
    /// If the disk reports a failure, the record is written again once the disk works, so it may
    /// stand in the file twice.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_sinks::{File, SyncPolicy};
    ///
    /// let file = File::new("audit.log").sync(SyncPolicy::Every);
    /// ```
    pub const fn sync(mut self, policy: SyncPolicy) -> Self {
        self.options.sync = policy;
        self
    }

    /// Sets when the file is rotated, by default never. A device or a FIFO is never rotated.
    /// Several processes may rotate one file: see [`Rotation`]. Within a process, open it once.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_sinks::{File, Rotation};
    ///
    /// let rotation = Rotation::new().max_bytes(100 * 1024 * 1024).keep(10);
    /// let file = File::new("app.log").rotate(rotation);
    /// ```
    pub const fn rotate(mut self, rotation: Rotation) -> Self {
        self.options.rotation = Some(rotation);
        self
    }

    /// Opens the file for appending, and rotates it if that is due.
    ///
    /// # Errors
    ///
    /// If an option can't work, or the file can't be opened.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_sinks::{File, Rotation};
    ///
    /// let error = File::new("app.log").rotate(Rotation::new()).open().unwrap_err();
    /// assert!(error.to_string().contains("a rotation has a size or a time"));
    /// ```
    pub fn open(self) -> io::Result<Writer> {
        let Self { path, options } = self;
        let (name, mut faults) = (path.display().to_string(), Faults::default());
        options.check(&mut faults, &format!("File::new({name:?})"), &path);
        faults.into_result()?;
        let at_path = |error: io::Error| io::Error::new(error.kind(), format!("{name}: {error}"));
        let file = LogFile::open(&path, options).map_err(at_path)?;
        let add = |to: &mut Vec<u8>, _, record: &[u8]| {
            to.extend_from_slice(record);
            Ok(())
        };
        Ok(Writer::new(name, Box::new(file), add))
    }
}
