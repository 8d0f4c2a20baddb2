//! The back end's part of the recorder. Keeps the last spans and events, and begins to write a file
//! when a span was slow.

use core::mem;
use core::panic::AssertUnwindSafe;
use std::panic;
use std::sync::{Arc, Weak};

use tach_core::UnixTime;

use super::files::Cause;
use super::ring::Ring;
use super::snapshot::Snapshot;
use super::writing::Begun;
use super::{Flight, FlightRecorder};
use crate::incident::{Incident, Reporter};
use crate::progress::Progress;
use crate::spans::slow::Slow;
use crate::spans::span::Span;
use tach_record::host;

pub(crate) struct Recorder {
    pub(crate) flight: Arc<Flight>,
    pub(crate) progress: Arc<Progress>,
    pub(crate) ring: Ring,
    slow: Slow,
    /// Whether a span was slow in this round.
    was_slow: bool,
    pub(crate) redacted: Arc<[String]>,
    /// Upgrades as long as a thread writes a file and reports it.
    writing: Weak<()>,
    pub(crate) reporter: Reporter,
    /// `None` if the items don't outlive the process.
    pub(crate) keeps: Option<Box<dyn Keeps>>,
}

/// Keeps the items of a ring, so that they outlive the process.
pub(crate) trait Keeps: Send {
    /// Keeps the event of `bytes` that the ring has got last.
    fn event(&mut self, bytes: usize, ring: &Ring);

    /// Keeps the span that the ring has got last.
    fn span(&mut self, ring: &Ring);
}

impl Recorder {
    pub(crate) fn new(
        options: &FlightRecorder,
        flight: Arc<Flight>,
        progress: Arc<Progress>,
        redacted: &[String],
        reporter: Reporter,
    ) -> Self {
        Self {
            flight,
            progress,
            ring: options.ring(),
            slow: options.slow.clone(),
            was_slow: false,
            redacted: redacted.into(),
            writing: Weak::new(),
            reporter,
            keeps: None,
        }
    }

    /// Keeps the record of an event.
    #[inline]
    pub(crate) fn event(&mut self, record: &[u8], time: UnixTime) {
        let Self { ring, keeps, .. } = self;
        if ring.event(record, time) {
            if let Some(keeps) = keeps {
                keeps.event(record.len(), ring);
            }
        }
    }

    /// Keeps a span that has ended.
    pub(crate) fn span(&mut self, span: &Span<'_>) {
        if !span.is_unfinished {
            let Self { ring, keeps, .. } = self;
            if ring.span(span) {
                if let Some(keeps) = keeps {
                    keeps.span(ring);
                }
            }
            self.was_slow |= self.slow.has(span);
        }
    }

    /// Answers the threads that wait for a snapshot. If a span was slow, begins to write a file.
    /// `waiting` calls its argument with each span that was not passed on yet.
    pub(crate) fn end_round(&mut self, now: UnixTime, waiting: impl Fn(&mut dyn FnMut(&Span<'_>))) {
        self.ring.forget(now);
        self.flight.requests.answer(|| self.snapshot(now, &waiting));
        let was_slow = mem::take(&mut self.was_slow) && !self.is_writing();
        let files = self.flight.files.as_ref();
        if was_slow && files.is_some_and(|files| files.begin(Cause::SlowSpan)) {
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
        let (flight, reporter) = (Arc::clone(&self.flight), self.reporter.clone());
        let (progress, thread) = (Arc::clone(&self.progress), Arc::new(()));
        let Some(files) = &self.flight.files else { return };
        let begun = flight.writing.begin();
        self.writing = Arc::downgrade(&thread);
        let started = host::spawn("tach-flight", move || {
            progress.signals.waker.mark_thread();
            // A panic of the user's function must not end the process.
            let _panic = panic::catch_unwind(AssertUnwindSafe(|| {
                write(&flight, snapshot, begun, thread, reporter);
            }));
        });
        if let Err(error) = started {
            files.failed(Cause::SlowSpan);
            self.reporter.clone().report(&Incident::NotRecorded { error: &error });
        }
    }
}

fn write(
    flight: &Flight,
    snapshot: Snapshot,
    begun: Begun,
    thread: Arc<()>,
    mut reporter: Reporter,
) {
    let Some(files) = &flight.files else { return };
    let written = files.write(&snapshot);
    drop(snapshot);
    // A flush waits for the message on stderr, but not for the user's function.
    let begun = Some(begun).filter(|_| reporter.on_incident.is_none());
    match written {
        Ok(path) => {
            reporter.report(&Incident::Recorded { path: &path });
        }
        Err(error) => {
            files.failed(Cause::SlowSpan);
            reporter.report(&Incident::NotRecorded { error: &error });
        }
    }
    // Drop `thread` before `begun`. So when a flush that has waited for `begun` returns, a slow
    // span can begin the next file.
    drop(thread);
    drop(begun);
}
