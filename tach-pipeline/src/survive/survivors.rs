//! Reads what processes have left, for programs that show it and pass nothing on.

mod snapshot;

use core::fmt;
use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::vec;

use tach_core::UnixTime;
use tach_files::PrivateFolder;
use tach_log::{Event, adapter};

use self::snapshot::{Copied, Snapshot};
use super::dead::note_claim;
use super::image::{Image, Spool, Unreadable};
use super::own::{self, Use};
use super::recovery::{Contents, Report, contents, events_after, events_of};
use super::spans::{self, Recording, SpanLeft};
use crate::error::Error;
#[cfg(feature = "otlp")]
use crate::filter::Levels;
use crate::frame::{self, Frame, Time};

/// The records in a folder of [`Builder::survive`](crate::Builder::survive), for a program that
/// shows them. An iterator with an item for each process, the oldest first.
///
/// Reading changes nothing: the next pipeline with the folder still passes the records on. `tach
/// recover` of the package tach-cli prints them.
///
/// # Errors
///
/// An item is an error if its file can't be read: a living process uses the file, another version
/// of this crate has written it, or it is damaged.
///
/// # Platform-specific behavior
///
/// With the feature `survive`, on Linux and Windows with 64 bits.
///
/// # Examples
///
/// ```
/// use tach_log::Line;
/// use tach_pipeline::Survivors;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = std::env::temp_dir().join(format!("tach-doc-survivors-{}", std::process::id()));
/// # std::fs::create_dir(&folder)?;
/// # #[cfg(unix)]
/// # use std::os::unix::fs::PermissionsExt as _;
/// # #[cfg(unix)]
/// # std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700))?;
/// for survivor in Survivors::read(&folder)? {
///     match survivor {
///         Ok(survivor) => {
///             println!("process {} left {} records", survivor.process(), survivor.records());
///             let mut lines = Vec::new();
///             survivor.each(|event| tach_log::Format::write(&Line::new(), event, &mut lines))?;
///             print!("{}", String::from_utf8_lossy(&lines));
///         }
///         Err(error) => eprintln!("{error}"),
///     }
/// }
/// # std::fs::remove_dir_all(folder)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Survivors {
    folder: Arc<PrivateFolder>,
    files: vec::IntoIter<Named>,
    peeks: bool,
    /// For a file's number, how many of its items another process has passed on.
    claims: HashMap<u64, u64>,
}

/// A file in the folder.
#[derive(Debug)]
struct Named {
    name: OsString,
    id: u64,
}

/// The records of one process that no log has yet, as far as its file says.
///
/// The values in them are those before [redaction](crate::Builder::redact).
///
/// # Examples
///
/// See [`Survivors`].
pub struct Survivor {
    report: Report,
    records: Vec<Vec<u8>>,
    spans: Vec<SpanLeft>,
    recording: Recording,
    /// The names of sinks, and events.
    formatted: Vec<(String, Vec<u8>)>,
    started: UnixTime,
    is_alive: bool,
    /// The file that the process was taking over, and how many of its records were passed on.
    claims: (u64, u64),
    file: Option<(Arc<PrivateFolder>, OsString)>,
}

impl Survivors {
    /// Finds the files of processes that have ended.
    ///
    /// # Errors
    ///
    /// If the folder is missing or can't be read, belongs to another user, or lets other users in.
    ///
    /// # Examples
    ///
    /// See [`Survivors`].
    pub fn read(folder: impl AsRef<Path>) -> Result<Self, Error> {
        Self::find(folder.as_ref(), false)
    }

    /// Also finds the files of living processes, such as one that hangs. Neither waits for such a
    /// process nor changes its file or its lock. The records that the process logs or passes on
    /// meanwhile may be left out, also some that precede others. A file of the calling process is
    /// an error.
    ///
    /// # Errors
    ///
    /// See [`read`](Self::read).
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use tach_pipeline::Survivors;
    ///
    /// for survivor in Survivors::peek("/run/app/survivors")?.flatten() {
    ///     println!("process {}, alive: {}", survivor.process(), survivor.is_alive());
    /// }
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    pub fn peek(folder: impl AsRef<Path>) -> Result<Self, Error> {
        Self::find(folder.as_ref(), true)
    }

    fn find(path: &Path, peeks: bool) -> Result<Self, Error> {
        let error = |error| Error::survivors(path, error);
        let folder = PrivateFolder::existing(path).map_err(|why| match why.kind() {
            io::ErrorKind::NotFound => error(io::Error::new(why.kind(), "there is no such folder")),
            _ => error(why),
        });
        let folder = Arc::new(folder?);
        let (mut files, mut claims) = (Vec::new(), HashMap::new());
        for name in folder.names().map_err(error)? {
            let Some(id) = own::id_of(&name) else { continue };
            let found = with_file(&folder, &name, id, |file| file.beginning());
            let started = match found.as_deref().map(Image::read) {
                Ok(Ok(image)) => {
                    let (of, taken) = image.takes();
                    let most = claims.entry(of).or_insert(taken);
                    *most = taken.max(*most);
                    image.started()
                }
                _ => UnixTime::EPOCH,
            };
            files.push((started, Named { name, id }));
        }
        files.sort_by_key(|(started, _)| *started);
        let files: Vec<_> = files.into_iter().map(|(_, named)| named).collect();
        Ok(Self { folder, files: files.into_iter(), peeks, claims })
    }

    /// Returns `None` if the file has nothing, or is gone.
    fn open(&self, Named { name, id }: &Named) -> io::Result<Option<Survivor>> {
        let snapshot = with_file(&self.folder, name, *id, |file| {
            let is_alive = self.folder.is_in_use(name, file.0)?;
            match is_alive {
                true if !self.peeks => Err(io::Error::new(
                    io::ErrorKind::WouldBlock,
                    "a living process uses the file: the one that has written it, or one that \
                     passes its records on; peek reads it nevertheless, and changes nothing",
                )),
                true => Ok((file.living()?, true)),
                false => Ok((file.all()?, false)),
            }
        });
        let (copy, is_alive) = match snapshot {
            Ok(snapshot) => snapshot,
            Err(gone) if gone.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let claimed = self.claims.get(id).copied().unwrap_or(0);
        let found = Survivor::of(&copy, claimed)?;
        let found = found.filter(|found| is_alive || found.is_of_use());
        let file = Some((Arc::clone(&self.folder), name.clone()));
        Ok(found.map(|found| Survivor { is_alive, file, ..found }))
    }
}

impl Iterator for Survivors {
    type Item = Result<Survivor, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let named = self.files.next()?;
            match self.open(&named) {
                Ok(None) => {}
                Ok(Some(found)) => return Some(Ok(found)),
                Err(error) => {
                    let path = self.folder.path().join(&named.name);
                    return Some(Err(Error::survivors(&path, error)));
                }
            }
        }
    }
}

/// Opens a file that this process does not use, and calls `f`. (If it did, closing the file again
/// would end its lock.)
fn with_file<R>(
    folder: &PrivateFolder,
    name: &OsString,
    id: u64,
    f: impl FnOnce(Snapshot<'_>) -> io::Result<R>,
) -> io::Result<R> {
    let _own = own::add(id, Use::Reader).map_err(Use::error)?;
    let file = folder.read(name)?;
    f(Snapshot(&file))
}

impl Survivor {
    /// Reads the contents of a file, such as one that was copied from another machine of the same
    /// kind.
    ///
    /// # Errors
    ///
    /// If another version of this crate or another kind of machine has written the file, or it is
    /// damaged or empty.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Survivor;
    ///
    /// let error = Survivor::from_bytes(b"something else").unwrap_err();
    /// assert!(error.to_string().contains("another version"));
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let error = |error| Error::survivors(Path::new("the bytes"), error);
        let nothing = || error(io::Error::new(io::ErrorKind::UnexpectedEof, "the file is empty"));
        let bytes = bytes.to_owned();
        let copy = Copied { bytes, has_events: true, has_spans: true, recorded_from: 0 };
        Self::of(&copy, 0).map_err(error)?.ok_or_else(nothing)
    }

    /// Returns `None` if the process ended before it had written anything.
    fn of(copy: &Copied, claimed: u64) -> io::Result<Option<Self>> {
        let Copied { bytes, has_events, has_spans, recorded_from } = copy;
        let image = match Image::read(bytes) {
            Ok(image) => image,
            Err(Unreadable::Empty) => return Ok(None),
            Err(unreadable) => return Err(unreadable.into()),
        };
        let Contents { mut report, mut records, mut spans, recording } =
            contents(&image, *recorded_from);
        // The first item that a process passes on is the report.
        let taken = usize::try_from(claimed.max(image.taken()).saturating_sub(1));
        let taken = taken.unwrap_or(usize::MAX);
        let behind_events = taken.saturating_sub(events_of(&image));
        let of_records = behind_events.min(records.len());
        let of_spans = (behind_events - of_records).min(spans.len());
        drop((records.drain(..of_records), spans.drain(..of_spans)));
        if !has_spans {
            spans.clear();
        }
        (report.records, report.spans) = (records.len() as u64, spans.len() as u64);
        if claimed.max(image.taken()) > 0 {
            // The log has the report.
            report = Report {
                cut: 0,
                dropped: 0,
                refused: 0,
                sinks_dropped: 0,
                outside: 0,
                spans_outside: 0,
                repeats: 0,
                ..report
            };
        }
        let formatted = if *has_events { events_left(&image, taken)? } else { Vec::new() };
        let (started, claims) = (image.started(), image.takes());
        let (is_alive, file) = (false, None);
        Ok(Some(Self {
            report,
            records,
            spans,
            recording,
            formatted,
            started,
            is_alive,
            claims,
            file,
        }))
    }

    fn is_of_use(&self) -> bool {
        let Report { records, cut, spans, recorded, .. } = self.report;
        records + cut + spans + recorded > 0 || self.dropped() > 0 || !self.formatted.is_empty()
    }

    /// Returns the number of the process.
    ///
    /// # Examples
    ///
    /// See [`Survivors`].
    #[must_use]
    pub const fn process(&self) -> u64 {
        self.report.process
    }

    /// Returns the name of the program. Empty if it is not known.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// for survivor in tach_pipeline::Survivors::read("/run/app/survivors")?.flatten() {
    ///     println!("{} started at {}", survivor.program(), survivor.started());
    /// }
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn program(&self) -> &str {
        &self.report.program
    }

    /// Returns when the process built its pipeline.
    ///
    /// # Examples
    ///
    /// See [`program`](Self::program).
    #[must_use]
    pub const fn started(&self) -> UnixTime {
        self.started
    }

    /// Returns whether a living process uses the file: the one that has written it, or one that
    /// passes its records on. Always `false` unless [`Survivors::peek`] found the file.
    ///
    /// # Examples
    ///
    /// See [`Survivors::peek`].
    #[must_use]
    pub const fn is_alive(&self) -> bool {
        self.is_alive
    }

    /// Returns when the last of the records happened.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// for survivor in tach_pipeline::Survivors::read("/run/app/survivors")?.flatten() {
    ///     if let Some(last) = survivor.last() {
    ///         println!("process {} last logged at {last}", survivor.process());
    ///     }
    /// }
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub const fn last(&self) -> Option<UnixTime> {
        self.report.last
    }

    /// Returns how many records [`each`](Self::each) passes.
    ///
    /// # Examples
    ///
    /// See [`Survivors`].
    #[must_use]
    pub const fn records(&self) -> u64 {
        self.report.records
    }

    /// Returns how many records are damaged, or how many queues if the damage hides their records.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// for survivor in tach_pipeline::Survivors::read("/run/app/survivors")?.flatten() {
    ///     let lost = survivor.cut() + survivor.dropped();
    ///     println!("{lost} lost, and more in {} queues", survivor.queues_outside());
    /// }
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub const fn cut(&self) -> u64 {
        self.report.cut
    }

    /// Returns how many records the queues and the sinks of the process had dropped, and limits had
    /// refused, that its log does not count.
    ///
    /// # Examples
    ///
    /// See [`cut`](Self::cut).
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        let Report { dropped, refused, sinks_dropped, .. } = self.report;
        dropped.saturating_add(refused).saturating_add(sinks_dropped)
    }

    /// Returns how many parts of queues found no room in the file. Their records are lost.
    ///
    /// # Examples
    ///
    /// See [`cut`](Self::cut).
    #[must_use]
    pub const fn queues_outside(&self) -> u64 {
        self.report.outside
    }

    /// Returns how many spans [`each_span`](Self::each_span) passes.
    ///
    /// # Examples
    ///
    /// See [`each_span`](Self::each_span).
    #[must_use]
    pub const fn spans(&self) -> u64 {
        self.report.spans
    }

    /// Returns how many events and spans the flight recorder of the process had kept, with those
    /// that
    /// [`each_recorded`](Self::each_recorded) leaves out since they are too old.
    ///
    /// # Examples
    ///
    /// See [`each_recorded`](Self::each_recorded).
    #[must_use]
    pub const fn recorded(&self) -> u64 {
        self.report.recorded
    }

    /// Passes what the flight recorder of the process had kept, in the order of the times: events,
    /// and spans that had ended, as [`each_span`](Self::each_span) passes them. Records that were
    /// still in the queues and spans that were open are left out, as [`each`](Self::each) and
    /// `each_span` pass them.
    ///
    /// # Errors
    ///
    /// The first error of `f`, which ends the call.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// for survivor in tach_pipeline::Survivors::read("/run/app/survivors")?.flatten() {
    ///     println!("the last {} before the death:", survivor.recorded());
    ///     survivor.each_recorded(|event| {
    ///         println!("{} {}", event.time(), event.message());
    ///         Ok(())
    ///     })?;
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn each_recorded(&self, mut f: impl FnMut(&Event<'_>) -> io::Result<()>) -> io::Result<()> {
        for (time, record) in self.recording.shown() {
            let Some(frame) = Frame::read(&record) else { continue };
            f(&adapter::event(frame.parts(time, false)))?;
        }
        Ok(())
    }

    /// Returns how many spans found no room in the file. Each of them is missing, or lacks its last
    /// parts.
    ///
    /// # Examples
    ///
    /// See [`each_span`](Self::each_span).
    #[must_use]
    pub const fn spans_outside(&self) -> u64 {
        self.report.spans_outside
    }

    /// Passes each span that a sink of spans lacks as an event, in the order of their starts: spans
    /// that were open at the death of the process, and those that had ended a moment before or
    /// waited for the decision of a tail.
    ///
    /// The event's time is the start, and its message is `span` and the span's name. The fields are
    /// those of the span, and `trace_id`, `span_id`, `parent_id` if it has a parent in this
    /// process, `end`, `events` (how many events are in the span) and, if the span was open,
    /// `unfinished`. The end of such a span is the last moment that is known of the process.
    ///
    /// # Errors
    ///
    /// The first error of `f`, which ends the call.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// for survivor in tach_pipeline::Survivors::read("/run/app/survivors")?.flatten() {
    ///     println!("{} spans, {} without room", survivor.spans(), survivor.spans_outside());
    ///     survivor.each_span(|span| {
    ///         println!("{} began at {}", span.message(), span.time());
    ///         Ok(())
    ///     })?;
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn each_span(&self, mut f: impl FnMut(&Event<'_>) -> io::Result<()>) -> io::Result<()> {
        for span in &self.spans {
            let Some((record, time)) = spans::event(span) else { continue };
            let Some(frame) = Frame::read(&record) else { continue };
            f(&adapter::event(frame.parts(time, false)))?;
        }
        Ok(())
    }

    /// Passes each of the [spans](Self::each_span) in the protobuf of OTLP: a `ScopeSpans` as a
    /// field of `ResourceSpans`. A span that was open has the attribute `tach.unfinished`.
    ///
    /// # Errors
    ///
    /// The first error of `f`, which ends the call.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use tach_otlp::{Otlp, Signal};
    ///
    /// let mut collector = Otlp::new().exporter()?;
    /// for survivor in tach_pipeline::Survivors::read("/run/app/survivors")?.flatten() {
    ///     let mut spans = Vec::new();
    ///     survivor.each_otlp_span(|span| {
    ///         spans.extend_from_slice(span);
    ///         Ok(())
    ///     })?;
    ///     collector.send(Signal::Traces, &spans).unwrap();
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "otlp")]
    pub fn each_otlp_span(&self, mut f: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let levels = Levels::all(log::LevelFilter::Trace);
        let mut spans = self.spans.iter().filter_map(|span| spans::otlp(span, &levels));
        spans.try_for_each(|span| f(&span))
    }

    /// Passes each record as an event, in the order of their times. Each event has the number of
    /// its process as the field `recovered_pid`.
    ///
    /// # Errors
    ///
    /// The first error of `f`, which ends the call.
    ///
    /// # Examples
    ///
    /// See [`Survivors`].
    pub fn each(&self, mut f: impl FnMut(&Event<'_>) -> io::Result<()>) -> io::Result<()> {
        for record in &self.records {
            let Some(frame) = Frame::read(record) else { continue };
            let time = frame::time(record).map_or(UnixTime::EPOCH, Time::unix_time);
            f(&adapter::event(frame.parts(time, false)))?;
        }
        Ok(())
    }

    /// Returns the events that the process was writing, each with the name of its sink (the
    /// beginning of a long name) and in the format of that sink, with the end of its line. They
    /// precede the records. The sink may have received a first part of them already. The next
    /// pipeline with the folder compares a file with them, and writes what is missing.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use std::io::Write as _;
    ///
    /// let mut stdout = std::io::stdout();
    /// for survivor in tach_pipeline::Survivors::read("/run/app/survivors")?.flatten() {
    ///     for (_, event) in survivor.formatted() {
    ///         stdout.write_all(event)?;
    ///     }
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn formatted(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.formatted.iter().map(|(sink, event)| (&**sink, &**event))
    }

    /// Removes the file, so that no pipeline passes its records on.
    ///
    /// # Errors
    ///
    /// If a living process uses the file or did when it was read, or it can't be removed. Also if
    /// the process was passing on the records of another file, which another process uses now: only
    /// this file says how many of them are in a log. Also for a value of
    /// [`from_bytes`](Self::from_bytes), which has no file.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// for survivor in tach_pipeline::Survivors::read("/run/app/survivors")? {
    ///     survivor?.remove()?;
    /// }
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    pub fn remove(self) -> Result<(), Error> {
        let Some((folder, name)) = &self.file else {
            let why = io::Error::new(io::ErrorKind::Unsupported, "it was read from bytes");
            return Err(Error::survivors(Path::new("the bytes"), why));
        };
        let (is_alive, claims) = (self.is_alive, self.claims);
        let in_use = |why| Err(io::Error::new(io::ErrorKind::WouldBlock, why));
        let remove = || {
            if is_alive {
                return in_use(
                    "the process lived when the file was read, and may have logged more since",
                );
            }
            let _own = own::add(own::id_of(name).unwrap_or(0), Use::Reader).map_err(Use::error)?;
            let Some(_locked) = folder.open(name)? else {
                return in_use("a living process uses the file, and it stays");
            };
            // Only this file may say how many records of another one are in a log.
            note_claim(folder, claims)?;
            folder.remove(name)
        };
        remove().map_err(|error| Error::survivors(&folder.path().join(name), error))
    }
}

/// Returns the events in the formats of sinks, after the first `taken` of the items that a pipeline
/// passes on, each with the sink's name.
fn events_left(image: &Image<'_>, taken: usize) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut events = Vec::new();
    let lanes = image.lanes().ok_or(Unreadable::Damaged)?;
    for lane in lanes.iter().filter(|lane| lane.is_file && !image.is_settled()) {
        let left = lane.spools.iter().flat_map(Spool::events_left);
        events.extend(left.map(|event| (lane.name.to_owned(), event)));
    }
    events.extend(events_after(image, taken));
    Ok(events)
}

/// Prints the numbers alone: the records may contain secrets.
impl fmt::Debug for Survivor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { report, formatted, started, is_alive, .. } = self;
        f.debug_struct("Survivor")
            .field("report", report)
            .field("formatted", &formatted.len())
            .field("started", started)
            .field("is_alive", is_alive)
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, unix))]
mod tests;
