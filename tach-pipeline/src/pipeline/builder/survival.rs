//! The option for records that outlive the process.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tach_record::host::process::Process;
use tach_record::keep::{self, Keeper, OnFault};
use tach_record::queue::file::RingFile;
use tach_sinks::adapter::{LANES, Notes, OpenSink};

use super::Builder;
use crate::error::Error;
use crate::faults::Faults;
use crate::incident::{Incident, Reporter};
use crate::sink::all::Opened;

/// The folder, and the function that creates a file there.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options(pub(crate) Option<(PathBuf, Open)>);

/// Creates a file, and finds those of processes that have ended.
pub(crate) type Open = fn(&Path, &mut [OpenSink<'_>], Box<OnFault>) -> io::Result<Parts>;

/// The file as the queues and the sinks see it, and the keeper of the records there.
type Parts = (Arc<dyn RingFile>, Arc<dyn Notes>, Box<dyn Keeper>);

/// What the option adds to a pipeline. Nothing, if it is not set.
#[derive(Default)]
pub(super) struct Added {
    pub(super) rings: Option<Arc<dyn RingFile>>,
    pub(super) notes: Option<Arc<dyn Notes>>,
    pub(super) keeper: Option<Box<dyn Keeper>>,
}

impl Options {
    /// Adds a fault if the sinks can't work with the option.
    pub(super) fn check(&self, opened: &mut Opened, faults: &mut Faults) {
        let Some((folder, _)) = &self.0 else { return };
        let call = || format!("Builder::survive(\"{}\")", folder.display());
        faults.unless(
            opened.receiving().len() <= LANES,
            call,
            &format!("it needs {LANES} sinks at most"),
        );
    }

    /// Creates the file, and finds the files of processes that have ended.
    ///
    /// # Errors
    ///
    /// If the folder can't be used.
    pub(super) fn open(&self, opened: &mut Opened, reporter: &Reporter) -> Result<Added, Error> {
        let Some((folder, open)) = &self.0 else { return Ok(Added::default()) };
        let (reporter, path) = (reporter.clone(), folder.clone());
        let report = move |fault: &keep::Fault<'_>| {
            let (folder, mut reporter) = (&path, reporter.clone());
            match *fault {
                keep::Fault::NotKept(error) => {
                    reporter.report(&Incident::NotKept { folder, error });
                }
                keep::Fault::NotRecovered(name, error) => {
                    reporter.report(&Incident::NotRecovered { file: &folder.join(name), error });
                }
            }
        };
        if !Process::are_all_noticed() {
            let why = "the kernel clears no memory in children, and one made by clone would write the file";
            report(&keep::Fault::NotKept(&io::Error::other(why)));
            return Ok(Added::default());
        }
        let kept = open(folder, &mut opened.receiving(), Box::new(report));
        let (rings, notes, keeper) = kept.map_err(|error| Error::survive(folder, error))?;
        Ok(Added { rings: Some(rings), notes: Some(notes), keeper: Some(keeper) })
    }
}

impl Builder {
    /// Keeps the queues in a mapped file in `folder`, so that their records outlive the process.
    ///
    /// # Guarantees
    ///
    /// A record whose call has returned is in each log after the next start, whatever ended the
    /// process. The next pipeline with the folder passes it on first, with the field
    /// `recovered_pid`, behind a record that says what is lost.
    ///
    /// What a sink had written may come again, so marked. A collector gets its oldest 256 KiB of
    /// each signal, behind a record that it may have them. A [flight
    /// recorder](Self::flight_recorder) writes the newest 3 MiB of the one before. Spans that were
    /// open or queued are lost.
    ///
    /// Exceptions:
    ///
    /// - Power loss, memory that the program overwrites, and children that share memory
    ///   (`CLONE_VM`).
    /// - Full queues of a sink that fails, 64 MiB, or 1,024 threads: the rest is in memory, as are
    ///   records of 256 KiB and more.
    /// - More than four files that wait: the oldest are counted.
    /// - A file that somebody deletes or cuts: another file follows, without what the flight
    ///   recorder had kept, and without the next record of each thread.
    ///
    /// # The folder
    ///
    /// Its files have values before [redaction](Self::redact), and only their user may access them.
    /// A file belongs to the program with its name. tmpfs is best: `/run`, with
    /// `RuntimeDirectoryPreserve=yes` under systemd, or an `emptyDir` with `medium: Memory`.
    ///
    /// # Errors
    ///
    /// [`build`](Self::build) fails with more than 16 sinks (a collector is one a signal), on NFS,
    /// FUSE or 9p, or if others have rights to the folder. Without room, the pipeline
    /// [reports](Self::on_incident) that, and tries again.
    ///
    /// # Platform-specific behavior
    ///
    /// With the feature `survive`, on Linux 4.14 and later with 64 bits; elsewhere `build` fails.
    /// Its handler of SIGBUS passes others' faults on. One that is installed later must call it.
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
    #[cfg(feature = "survive")]
    pub fn survive(mut self, folder: impl Into<PathBuf>) -> Self {
        self.survival = Options(Some((folder.into(), tach_survive::open)));
        self
    }
}
