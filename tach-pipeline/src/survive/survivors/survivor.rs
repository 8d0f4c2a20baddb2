//! What one process has left.

use core::fmt;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;

use tach_core::UnixTime;
use tach_files::PrivateFolder;
use tach_log::{Event, adapter};

use super::snapshot::Copied;
use crate::error::Error;
#[cfg(feature = "otlp")]
use crate::filter::Levels;
use crate::frame::{self, Frame, Time};
use crate::survive::dead::note_claim;
use crate::survive::image::{Image, Spool, Unreadable};
use crate::survive::own::{self, Use};
use crate::survive::recovery::{Contents, Report, contents, events_after, events_of};
use crate::survive::spans::{self, Recording, SpanLeft};

/// The records of one process that no log has yet, as far as its file says.
///
/// The values in them are those before [redaction](crate::Builder::redact).
///
/// # Examples
///
/// See [`Survivors`](crate::Survivors).
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
    pub(super) fn of(copy: &Copied, claimed: u64) -> io::Result<Option<Self>> {
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

    /// Adds the file that was read, and whether a living process uses it.
    pub(super) fn in_file(
        self,
        folder: &Arc<PrivateFolder>,
        name: &OsString,
        is_alive: bool,
    ) -> Self {
        let file = Some((Arc::clone(folder), name.clone()));
        Self { is_alive, file, ..self }
    }

    pub(super) fn is_of_use(&self) -> bool {
        let Report { records, cut, spans, recorded, .. } = self.report;
        records + cut + spans + recorded > 0 || self.dropped() > 0 || !self.formatted.is_empty()
    }

    /// Returns the number of the process.
    ///
    /// # Examples
    ///
    /// See [`Survivors`](crate::Survivors).
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
    /// passes its records on. Always `false` unless [`Survivors::peek`](crate::Survivors::peek) found the file.
    ///
    /// # Examples
    ///
    /// See [`Survivors::peek`](crate::Survivors::peek).
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
    /// See [`Survivors`](crate::Survivors).
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
    /// See [`Survivors`](crate::Survivors).
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
