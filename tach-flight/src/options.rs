//! The options of the recorder.

use core::time::Duration;
use std::io;
use std::path::PathBuf;

use tach_spans::Fault;
use tach_spans::spans::slow::Slow;

use crate::files::Files;
use crate::format::FlightFormat;
use crate::ring::Ring;

const MAX_BYTES: usize = 16 * 1024 * 1024;
const LEAST_BYTES: usize = 64 * 1024;
const MAX_AGE: Duration = Duration::from_secs(30);
const FILES: usize = 10;
const PAUSE: Duration = Duration::from_secs(60);

/// Keeps the last spans and events in memory, for `Builder::flight_recorder` of tach-pipeline. They
/// are written on demand, after a panic, or when a span was slow.
///
/// The recorder has all that the filter of the pipeline accepts. Neither
/// the filters of the sinks nor [`Tail`](tach_spans::Tail) apply to it. Debug records may be kept
/// here and nowhere else:
///
/// ```
/// use log::LevelFilter;
/// use tach_pipeline::{FlightRecorder, Pipeline, Sink};
///
/// let guard = Pipeline::builder()
///     .filter("info,app=debug")
///     .sink(Sink::stderr().filter("info"))
///     .flight_recorder(FlightRecorder::new())
///     .build()?;
/// # Ok::<(), tach_pipeline::Error>(())
/// ```
///
/// A span that [`Sampling`](tach_spans::Sampling) leaves out at its start is not recorded, and so
/// is not here either, nor are its events if no sink takes events. To send a part of all traces and
/// keep all spans here, let [`Tail`](tach_spans::Tail) choose them.
///
/// A dump also has the spans that are open, with the attribute `tach.unfinished`. If they need more
/// memory than the recorder may take, some are left out.
///
/// With `Builder::survive`, what the recorder of a killed process had kept is written by the
/// recorder of the next process when that is built, into its [`folder`](Self::folder), without the
/// spans that were open or in the queues.
///
/// A forked process has no recorder: the parent's back end is not there. Build a pipeline after
/// forking.
///
/// # Cost
///
/// A call records spans and events as it does for a sink that takes them, and takes no lock. The
/// back end copies each into the recorder's memory.
///
/// A dump takes memory beside [`max_bytes`](Self::max_bytes): up to as much again for the spans and
/// events that it keeps while the recorder forgets them, up to as much for a copy of the spans that
/// are open, and up to half as much for their order. The open spans are seldom many, so a dump of a
/// full recorder of 16 MiB takes 8 MiB more if nothing is recorded meanwhile, and 40 MiB at most.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use tach_pipeline::{FlightFormat, FlightRecorder, Pipeline};
///
/// let recorder = FlightRecorder::new()
///     .folder("flight", FlightFormat::trace_events())
///     .on_panic()
///     .span_slower_than("request", Duration::from_secs(2));
/// let builder = Pipeline::builder().flight_recorder(recorder);
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct FlightRecorder {
    max_bytes: usize,
    max_age: Duration,
    pub(crate) slow: Slow,
    on_panic: bool,
    folder: Option<(PathBuf, FlightFormat)>,
    files: usize,
    pause: Duration,
}

impl FlightRecorder {
    /// Creates a recorder of up to 16 MiB and 30 seconds, which writes on demand only.
    ///
    /// # Examples
    ///
    /// ```
    /// let recorder = tach_pipeline::FlightRecorder::new();
    /// ```
    pub fn new() -> Self {
        Self {
            max_bytes: MAX_BYTES,
            max_age: MAX_AGE,
            slow: Slow::default(),
            on_panic: false,
            folder: None,
            files: FILES,
            pause: PAUSE,
        }
    }

    /// Sets how much memory the recorder may take: 64 KiB or more, by default 16 MiB. Beyond that,
    /// it forgets the oldest spans and events. It takes no more memory than it needs. While a dump
    /// is written it may take up to 2.5 times as much [in addition](Self#cost).
    ///
    /// A span or an event larger than half of that is not kept.
    ///
    /// # Examples
    ///
    /// ```
    /// let recorder = tach_pipeline::FlightRecorder::new().max_bytes(64 * 1024 * 1024);
    /// ```
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Sets how long ago an event may have happened, or a span may have ended: by default 30
    /// seconds, and not zero.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let recorder = tach_pipeline::FlightRecorder::new().max_age(Duration::from_secs(5));
    /// ```
    pub fn max_age(mut self, age: Duration) -> Self {
        self.max_age = age;
        self
    }

    /// Writes a file after a panic in any thread, even if the panic is caught. Installs a panic
    /// hook that calls the old hook, waits for the back end, at most as long as
    /// `Builder::flush_timeout` sets, and writes.
    ///
    /// A panic on a thread of the pipeline, as in a sink, or in a forked process writes no file.
    ///
    /// Stderr names the file.
    ///
    /// # Examples
    ///
    /// ```
    /// let recorder = tach_pipeline::FlightRecorder::new().on_panic();
    /// ```
    pub fn on_panic(mut self) -> Self {
        self.on_panic = true;
        self
    }

    /// Writes a file when a span has taken this long or longer, except for spans with a limit by
    /// [name](Self::span_slower_than). A new thread writes the file, and a flush waits for that
    /// thread.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let recorder = tach_pipeline::FlightRecorder::new().slower_than(Duration::from_secs(10));
    /// ```
    pub fn slower_than(mut self, limit: Duration) -> Self {
        self.slow.others(limit);
        self
    }

    /// Writes a file when a span of this name in the program has taken this long or longer.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use tach_pipeline::FlightRecorder;
    ///
    /// let recorder = FlightRecorder::new().span_slower_than("request", Duration::from_secs(2));
    /// ```
    pub fn span_slower_than(mut self, name: &str, limit: Duration) -> Self {
        self.slow.named(name, limit);
        self
    }

    /// Sets the folder and the format of the files that [`on_panic`](Self::on_panic),
    /// [`slower_than`](Self::slower_than) and [`span_slower_than`](Self::span_slower_than) write.
    /// Each of these needs a folder, and a folder needs one of these.
    /// `Builder::build` resolves the links of the path, makes the folder
    /// if it is missing, and fails if no file can be written there.
    ///
    /// The name of a file is `flight-`, the program's name, the time, the number of the process,
    /// and the number of the file. A process that runs as root, or has privileges that its caller
    /// lacks, uses no folder that other users may write.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::{FlightFormat, FlightRecorder};
    ///
    /// let format = FlightFormat::trace_events();
    /// let recorder = FlightRecorder::new().folder("/var/lib/shop/flight", format);
    /// ```
    pub fn folder(mut self, folder: impl Into<PathBuf>, format: FlightFormat) -> Self {
        self.folder = Some((folder.into(), format));
        self
    }

    /// Sets how many files of this program may be in the folder: one or more, by default 10. When
    /// there is one more, the oldest file is deleted, whichever process wrote it. A file that a
    /// process left unfinished is deleted after a minute. Only regular files of the process's user
    /// that have exactly such a name, and no other one, are counted and deleted.
    ///
    /// # Examples
    ///
    /// ```
    /// let recorder = tach_pipeline::FlightRecorder::new().keep(3);
    /// ```
    pub fn keep(mut self, files: usize) -> Self {
        self.files = files;
        self
    }

    /// Sets how long after a file no other file is written: a minute by default. After a file that
    /// could not be written it is at most a second. The pauses after panics and after slow spans do
    /// not affect each other.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let recorder = tach_pipeline::FlightRecorder::new().pause(Duration::from_secs(600));
    /// ```
    pub fn pause(mut self, time: Duration) -> Self {
        self.pause = time;
        self
    }

    /// Returns whether any option makes the recorder write files.
    fn writes_files(&self) -> bool {
        self.on_panic || !self.slow.is_empty()
    }

    /// Returns whether the option [`on_panic`](Self::on_panic) is set.
    #[doc(hidden)]
    pub fn writes_on_panic(&self) -> bool {
        self.on_panic
    }

    /// Returns a fault for each option that can't work.
    #[doc(hidden)]
    pub fn faults(&self, flush_timeout: Duration) -> Vec<Fault> {
        let mut faults = Vec::new();
        let mut unless = |is_right: bool, call: String, wanted| {
            if !is_right {
                faults.push((call, wanted));
            }
        };
        let call = format!("FlightRecorder::max_bytes({})", self.max_bytes);
        unless(self.max_bytes >= LEAST_BYTES, call, "it takes 65536 bytes (64 KiB) or more");
        let call = format!("FlightRecorder::max_age({:?})", self.max_age);
        unless(!self.max_age.is_zero(), call, "an age is longer than zero");
        let call = format!("FlightRecorder::keep({})", self.files);
        unless(self.files > 0, call, "the file that is written is kept, so it is 1 or more");
        let call = "FlightRecorder::on_panic()".to_owned();
        let has_time = !self.on_panic || !flush_timeout.is_zero();
        unless(has_time, call, "the back end needs some time, so flush_timeout isn't zero");
        if let Some((folder, _)) = &self.folder {
            let call = format!("FlightRecorder::folder(\"{}\", ..)", folder.display());
            let wanted = "no file is written there; say when by on_panic, slower_than or \
                          span_slower_than";
            unless(self.writes_files(), call, wanted);
        }
        faults.extend(self.slow.faults("FlightRecorder"));
        faults
    }

    pub(crate) fn ring(&self) -> Ring {
        Ring::new(self.max_bytes, self.max_age)
    }

    /// Returns what the environment says that the format of the files can't use.
    #[doc(hidden)]
    pub fn ignored_variables(&self) -> impl Iterator<Item = &String> {
        self.folder.iter().flat_map(|(_, format)| &format.ignored)
    }

    /// Returns the writer of files, or `None` if no option makes the recorder write files.
    ///
    /// # Errors
    ///
    /// If no folder is named, or the folder can't be used.
    #[doc(hidden)]
    pub fn files(&self) -> Result<Option<Files>, NoFiles> {
        let Some((folder, format)) = &self.folder else {
            return if self.writes_files() { Err(NoFiles::NoFolder) } else { Ok(None) };
        };
        let cannot = |error| NoFiles::Folder(folder.clone(), error);
        let resolved = tach_files::resolve(folder).map_err(cannot)?;
        let opened = tach_files::Folder::make(&resolved).map_err(cannot)?;
        let files = Files::new(opened, format.clone(), self.files, self.pause);
        files.probe().map_err(cannot)?;
        Ok(Some(files))
    }
}

/// Why a recorder can't write files.
#[derive(Debug)]
pub enum NoFiles {
    /// No folder is named.
    NoFolder,
    /// The folder can't be used.
    Folder(PathBuf, io::Error),
}

impl Default for FlightRecorder {
    fn default() -> Self {
        Self::new()
    }
}
