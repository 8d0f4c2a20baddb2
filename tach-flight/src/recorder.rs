//! The back end's part of the recorder. Keeps the last spans and events, and begins to write a file
//! when a span was slow.

use core::mem;
use core::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::{io, panic};

use tach_core::UnixTime;

use crate::files::{Cause, Files};
use crate::options::FlightRecorder;
use crate::requests::Requests;
use crate::ring::{Block, Ring};
use crate::snapshot::Snapshot;
use crate::words;
use crate::writing::{Begun, Writing};
use tach_record::host;
use tach_record::keep::{Keep, Keeper, Recording};
use tach_spans::spans::slow::Slow;
use tach_spans::spans::span::Span;

/// The most memory for the items that another process's recorder had kept. The newest items fit.
const MOST_RECORDED: usize = 3 * 1024 * 1024;

/// The part of the recorder that callers use.
pub struct Flight {
    /// Requests for snapshots.
    pub requests: Requests,
    /// `None` if dumps are written on demand only.
    pub files: Option<Files>,
    /// The files that were begun.
    pub writing: Arc<Writing>,
}

impl Flight {
    /// Creates the part for these files.
    pub fn new(files: Option<Files>) -> Self {
        Self { requests: Requests::default(), files, writing: Arc::default() }
    }
}

/// Receives what became of the recorder's files.
pub trait Owner: Clone + Send + 'static {
    /// Marks the calling thread as one of the pipeline's, whose flushes would wait for itself.
    fn mark_thread(&self);

    /// Returns whether [`report`](Self::report) calls a function of the program. A flush does not
    /// wait for it, since it may take long or flush itself.
    fn calls_program(&self) -> bool;

    /// Reports a file that was written, or why it can't be. `process` is that of another process,
    /// which has ended, or `None` after a slow span.
    fn report(&self, process: Option<u64>, written: Result<&Path, &io::Error>);
}

/// The back end's part of the recorder.
pub struct Recorder<O> {
    flight: Arc<Flight>,
    ring: Ring,
    slow: Slow,
    /// Whether a file is due because a span was slow.
    is_due: bool,
    /// Whether the open spans were read in this round.
    knows_open: bool,
    redacted: Arc<[String]>,
    /// Alive as long as a thread writes a file and reports it.
    writing: Weak<()>,
    owner: O,
    /// `None` if the items don't outlive the process.
    keep: Option<Box<Keep>>,
}

impl<O: Owner> Recorder<O> {
    /// Creates the recorder of these options.
    pub fn new(
        options: &FlightRecorder,
        flight: Arc<Flight>,
        redacted: &[String],
        owner: O,
    ) -> Self {
        Self {
            flight,
            ring: options.ring(),
            slow: options.slow.clone(),
            is_due: false,
            knows_open: false,
            redacted: redacted.into(),
            writing: Weak::new(),
            owner,
            keep: None,
        }
    }

    /// Keeps all later items in a keeper's file too, and writes the items of killed processes from
    /// there.
    pub fn keep_in(&mut self, keeper: &mut dyn Keeper) {
        if let Some(files) = &self.flight.files {
            keeper.recordings(&mut |recording| self.write_recording(files, recording));
        }
        self.keep = Some(keeper.recorder(self.ring.most(), self.ring.max_age));
    }

    /// Writes a file with what the recorder of another process had kept. Returns `false` if the
    /// next process is to try again.
    fn write_recording(&self, files: &Files, recording: &Recording<'_>) -> bool {
        let (process, mut last) = (recording.process, recording.last);
        let mut ring = Ring::new(MOST_RECORDED, recording.max_age);
        (recording.items)(&mut |words, records| {
            last = last.max(words::add(&mut ring, words, records));
        });
        if ring.iter().all(|block| block.items().next().is_none()) {
            return true;
        }
        let snapshot = Snapshot::new(&ring, last, Arc::clone(&self.redacted));
        drop(ring);
        // If the format panics, count the file as done: the format would panic again at each start.
        let written = panic::catch_unwind(AssertUnwindSafe(|| files.write_of(&snapshot, process)));
        let (written, is_done) = match written {
            Ok(written) => (written, false),
            Err(_) => (Err(io::Error::other("the format panicked")), true),
        };
        self.owner.report(Some(process), written.as_deref());
        is_done || written.is_ok()
    }

    /// Keeps the record of an event.
    #[inline]
    pub fn event(&mut self, record: &[u8], time: UnixTime) {
        let Self { ring, keep, .. } = self;
        if ring.event(record, time) {
            if let Some(keep) = keep {
                // Keep the ring's copy of the record, which contains the Unix time.
                let bytes = &ring.current.bytes;
                keep(&[], &bytes[bytes.len() - record.len()..]);
            }
        }
    }

    /// Keeps a span that has ended.
    pub fn span(&mut self, span: &Span<'_>) {
        if !span.is_unfinished {
            let Self { ring, keep, .. } = self;
            if let (true, Some(keep)) = (ring.span(span), keep) {
                let Block { bytes, spans, .. } = &ring.current;
                if let Some(span) = spans.last().and_then(|kept| kept.span(bytes, &[])) {
                    keep(&words::words(&span), span.records);
                }
            }
            if self.slow.has(span) && !self.is_due && !self.is_writing() {
                let files = self.flight.files.as_ref();
                self.is_due = files.is_some_and(|files| files.begin(Cause::SlowSpan));
            }
        }
    }

    /// Returns whether the next round has a file to write, because a span was slow.
    pub fn is_due(&self) -> bool {
        self.is_due
    }

    /// Begins a round. Returns whether the round may take a snapshot, and must read the open spans
    /// first. A flush waits for the file of a span that ended before the flush, so the round of a
    /// flush can't leave that file to the next round.
    pub fn begin_round(&mut self, is_flush: bool) -> bool {
        let is_asked = self.flight.requests.begin_round();
        self.knows_open = is_asked || self.is_due || is_flush && !self.slow.is_empty();
        self.knows_open
    }

    /// Answers the threads that wait for a snapshot. If a file is due and the open spans are known,
    /// begins to write the file. `waiting` calls its argument with each span that was not passed on
    /// yet.
    pub fn end_round(&mut self, now: UnixTime, waiting: impl Fn(&mut dyn FnMut(&Span<'_>))) {
        self.ring.forget(now);
        self.flight.requests.answer(|| self.snapshot(now, &waiting));
        if self.knows_open && mem::take(&mut self.is_due) {
            self.write(self.snapshot(now, &waiting));
        }
    }

    fn is_writing(&self) -> bool {
        self.writing.strong_count() > 0
    }

    fn snapshot(&self, now: UnixTime, waiting: impl Fn(&mut dyn FnMut(&Span<'_>))) -> Snapshot {
        let mut snapshot = Snapshot::new(&self.ring, now, Arc::clone(&self.redacted));
        waiting(&mut |span| snapshot.add(span));
        snapshot
    }

    /// Writes a file on a new thread, since the back end must read the queues meanwhile.
    fn write(&mut self, snapshot: Snapshot) {
        let (flight, owner) = (Arc::clone(&self.flight), self.owner.clone());
        let thread = Arc::new(());
        let Some(files) = &self.flight.files else { return };
        let begun = flight.writing.begin();
        self.writing = Arc::downgrade(&thread);
        let started = host::spawn("tach-flight", move || {
            owner.mark_thread();
            // A panic of the user's function must not end the process.
            let _panic = panic::catch_unwind(AssertUnwindSafe(|| {
                write(&flight, snapshot, begun, thread, &owner);
            }));
        });
        if let Err(error) = started {
            files.failed(Cause::SlowSpan);
            self.owner.report(None, Err(&error));
        }
    }
}

/// Refuses all further requests.
impl<O> Drop for Recorder<O> {
    fn drop(&mut self) {
        self.flight.requests.end();
    }
}

fn write(flight: &Flight, snapshot: Snapshot, begun: Begun, thread: Arc<()>, owner: &impl Owner) {
    let Some(files) = &flight.files else { return };
    let written = files.write(&snapshot);
    drop(snapshot);
    // A flush waits for the message on stderr, but not for the user's function.
    let begun = Some(begun).filter(|_| !owner.calls_program());
    if written.is_err() {
        files.failed(Cause::SlowSpan);
    }
    owner.report(None, written.as_deref());
    // Drop `thread` before `begun`. So when a flush that has waited for `begun` returns, a slow
    // span can begin the next file.
    drop(thread);
    drop(begun);
}

#[cfg(test)]
mod tests {
    use core::fmt::Write as _;
    use core::time::Duration;
    use std::sync::Mutex;
    use std::{env, fs, process};

    use tach_record::frame::{MaybeStatic, Scratch, Time, Writer};
    use tach_record::keep::Each;
    use tach_record::level::Level;

    use super::*;
    use crate::format::FlightFormat;

    /// An owner who keeps all reports.
    #[derive(Clone, Default)]
    struct Texts(Arc<Mutex<String>>);

    impl Owner for Texts {
        fn mark_thread(&self) {}

        fn calls_program(&self) -> bool {
            true
        }

        fn report(&self, process: Option<u64>, written: Result<&Path, &io::Error>) {
            let _always_written = write!(self.0.lock().unwrap(), "{process:?} {written:?}");
        }
    }

    /// Writes an item of a dead process by a format. Returns whether that is done, what was
    /// reported, and how many files there are.
    fn write(
        name: &str,
        format: fn(&mut dyn io::Write) -> io::Result<()>,
    ) -> (bool, String, usize) {
        let path = env::temp_dir().join(format!("tach-recorder-{}-{name}", process::id()));
        let _left_behind = fs::remove_dir_all(&path);
        let format = FlightFormat {
            extension: "otlp",
            write: Arc::new(move |_, to| format(to)),
            ignored: Vec::new(),
        };
        let options = FlightRecorder::new().folder(&path, format);
        let texts = Texts::default();
        let flight = Arc::new(Flight::new(options.files().unwrap()));
        let files = flight.files.as_ref().unwrap();
        let recorder = Recorder::new(&options, Arc::clone(&flight), &[], texts.clone());
        let mut scratch = Scratch::new();
        let time = Time::Unix(UnixTime::from_nanos(1));
        Writer::begin(&mut scratch, time, Level::INFO, MaybeStatic::Static("app")).end();
        let items = |each: &mut Each<'_>| each(&[], scratch.written());
        let (max_age, last) = (Duration::from_secs(1), UnixTime::EPOCH);
        let recording = Recording { process: 7, max_age, last, items: &items };
        let is_done = recorder.write_recording(files, &recording);
        let none = Recording { items: &|_| (), ..recording };
        assert!(recorder.write_recording(files, &none), "nothing was kept");
        let count = fs::read_dir(&path).unwrap().count();
        fs::remove_dir_all(path).unwrap();
        let texts = texts.0.lock().unwrap().clone();
        (is_done, texts, count)
    }

    #[test]
    fn what_a_dead_process_had_kept_is_written_once() {
        let (is_done, reported, files) = write("whole", |to| to.write_all(b"whole"));
        assert!(is_done && files == 1, "{files} files");
        assert!(reported.starts_with("Some(7) Ok("), "{reported}");
    }

    #[test]
    fn a_full_disk_leaves_it_to_the_next_process() {
        let (is_done, reported, files) = write("full", |_| Err(io::ErrorKind::StorageFull.into()));
        assert!(!is_done && files == 0, "{files} files");
        assert!(reported.starts_with("Some(7) Err("), "{reported}");
    }

    #[test]
    fn a_format_that_panics_is_not_tried_again() {
        let (is_done, reported, _) = write("panics", |_| panic!("a format"));
        assert!(is_done && reported.contains("the format panicked"), "{reported}");
    }
}
