//! The methods of a file's sink.

use tach_sinks::{Rotation, SyncPolicy};

use super::{Sink, kind};

impl Sink<kind::File> {
    /// Keeps a file open that was moved or deleted. By default a new one is opened at its path.
    ///
    /// By default the path is looked at before a write, at most once a second; until then records
    /// are written to the file that was moved. After each write the sink checks whether the file
    /// was deleted: if so, the events of that write are written again, to a new file.
    ///
    /// # Platform-specific behavior
    ///
    /// Except on Unix every file is kept open. Call [`Pipeline::reopen`](crate::Pipeline::reopen).
    ///
    /// # Examples
    ///
    /// ```
    /// let sink = tach_pipeline::Sink::file("app.log").keep_open();
    /// ```
    #[must_use]
    pub const fn keep_open(mut self) -> Self {
        self.to.options.is_kept = true;
        self
    }

    /// Sets the mode of a file that is created, whatever the umask. By default it is 0640 less the
    /// umask. A file that replaces another one keeps the mode of that file.
    ///
    /// A mode beyond `0o777`, or one under which the owner can't write, fails
    /// [`Builder::build`](crate::Builder::build).
    ///
    /// # Platform-specific behavior
    ///
    /// On Unix only.
    ///
    /// # Examples
    ///
    /// ```
    /// let sink = tach_pipeline::Sink::file("audit.log").mode(0o600);
    /// ```
    #[must_use]
    pub const fn mode(mut self, mode: u32) -> Self {
        self.to.options.mode = Some(mode);
        self
    }

    /// Sets when a write waits until its records are on the disk, by default never. A write has all
    /// records that wait, up to 64 KiB.
    ///
    /// If the disk reports a failure, the records of that write are written again once the disk
    /// works, so they may stand in the file twice.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::{Sink, SyncPolicy};
    ///
    /// let sink = Sink::file("audit.log").sync(SyncPolicy::Every);
    /// ```
    #[must_use]
    pub const fn sync(mut self, policy: SyncPolicy) -> Self {
        self.to.options.sync = policy;
        self
    }

    /// Sets when the file is rotated, by default never. A device or a FIFO is never rotated. If two
    /// sinks of a pipeline have one file and one of them rotates it,
    /// [`Builder::build`](crate::Builder::build) fails. Several processes may rotate one file:
    /// see [`Rotation`].
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::{Rotation, Sink};
    ///
    /// let rotation = Rotation::new().max_bytes(100 * 1024 * 1024).keep(10);
    /// let sink = Sink::file("app.log").rotate(rotation);
    /// ```
    #[must_use]
    pub const fn rotate(mut self, rotation: Rotation) -> Self {
        self.to.options.rotation = Some(rotation);
        self
    }
}
