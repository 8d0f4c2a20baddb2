//! The method of a pipeline's builder.

use std::path::PathBuf;

use crate::pipeline::builder::Builder;
use crate::pipeline::builder::survival::{Kept, Open, Options};

impl Builder {
    /// Keeps the queues in a mapped file in `folder`, so that the records in them outlive the
    /// process.
    ///
    /// # Guarantees
    ///
    /// A record whose call has returned is in each log after the next start of the program,
    /// whatever ended the process. The next pipeline with the folder passes it on first, with the
    /// field `recovered_pid`, behind a record that says what is lost.
    ///
    /// What a sink had written may come again, so marked. If the only sink is a regular file, it
    /// does not, unless the death cut the write or the file was rotated. A collector gets its
    /// oldest 256 KiB of each signal, behind a record that it may have them already. A [flight
    /// recorder](Self::flight_recorder) writes the newest 3 MiB of what the one before had kept.
    /// Spans that were open, or in the queues, are lost.
    ///
    /// Exceptions:
    ///
    /// - Power loss.
    /// - Full queues of a sink that fails, 64 MiB, or 1,024 threads: the rest is in memory.
    /// - More than four files that wait: the oldest are counted.
    /// - Memory that the program overwrites, children that share memory (`CLONE_VM`), and a file that
    ///   somebody deletes or cuts: the log goes on, and another file follows.
    ///
    /// # The folder
    ///
    /// Its files have values before [redaction](Self::redact), and are their user's alone. A file
    /// belongs to the program with its name. tmpfs is best: `/run`, with
    /// `RuntimeDirectoryPreserve=yes` under systemd, or an `emptyDir` with `medium: Memory`.
    ///
    /// # Errors
    ///
    /// [`build`](Self::build) fails with more than 16 sinks (a collector is one for each signal),
    /// or if the folder is on NFS, FUSE or 9p, or others have rights to it. Without room,
    /// the pipeline [reports](Self::on_incident) that, and tries again.
    ///
    /// # Platform-specific behavior
    ///
    /// With the feature `survive`, on Linux with 64 bits, from Linux 4.14 on. A handler of SIGBUS
    /// passes on faults of others.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::{Pipeline, Sink};
    ///
    /// # let folder = std::env::temp_dir().join(format!("tach-doc-survive-{}", std::process::id()));
    /// # let (log, survivors) = (folder.join("app.log"), folder.join("survivors"));
    /// let guard = Pipeline::builder().sink(Sink::file(&log)).survive(&survivors).build()?;
    /// log::Log::log(
    ///     guard.pipeline(),
    ///     &log::Record::builder().args(format_args!("outlives the process")).build(),
    /// );
    /// // From here on, the record is in the log or in the folder, whatever happens.
    /// # drop(guard);
    /// # std::fs::remove_dir_all(folder).unwrap();
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    pub fn survive(mut self, folder: impl Into<PathBuf>) -> Self {
        let (folder, open) = (folder.into(), super::open as Open);
        self.survival = Options(Some(Kept { folder, open }));
        self
    }
}
