//! The writer for programs that format their records otherwise than by a pipeline.

use core::fmt;
use core::mem;
use core::time::Duration;
use std::io;

use tach_core::UnixTime;

use crate::batch::Batch;
use crate::incident::{Incident, Task};
use crate::output::Output;
use crate::owner::Owner;
use crate::receiver::Receiver;
use crate::standard::to_stderr;

/// How many bytes may wait for a receiver that fails. The longest record has as many.
const MOST_WAITING: usize = 1024 * 1024;

/// Appends a record as the receiver expects it.
type Add = dyn FnMut(&mut Vec<u8>, UnixTime, &[u8]) -> io::Result<()> + Send;

/// A function that is called for each incident.
type OnIncident = dyn FnMut(&Incident<'_>) + Send;

/// An open receiver: a [`File`](crate::File), a syslog daemon or systemd's journal.
///
/// A record ends with a write whose bytes end with a line feed, or with a flush. Its parts may come
/// in several writes: `write!` makes several of one line. The record is written at once, without a
/// buffer.
///
/// # Guarantees
///
/// Records are written whole and in their order, and none is written twice, except that:
///
/// - if the disk reports a failure under [`SyncPolicy::Every`](crate::SyncPolicy::Every), or the
///   file was deleted during the write, the record is written again;
/// - a connection of syslog that breaks may lose messages or repeat them;
/// - a child that is forked without `exec` inherits what waits, and writes it too;
/// - a record longer than 1 MiB is written in several parts.
///
/// If writing fails, the record waits in memory and the write returns `Ok`. The next record tries
/// again, after pauses of 10 ms, 20 ms and so on up to one second, and so do a flush and the drop
/// of the writer. Up to 1 MiB waits. A record for which there is no room is lost:
/// [`lost`](Self::lost) counts it, and its last write returns an error.
///
/// A rotation that fails loses nothing: records are written to the old file meanwhile.
///
/// The process's end by a signal, an abort or `exit` loses what waits in memory, since no
/// destructor runs. While the receiver works, nothing waits. SIGKILL may cut the record that is
/// being written.
///
/// # Examples
///
/// ```
/// use std::io::Write as _;
///
/// use tach_sinks::{File, Rotation};
///
/// # let path = std::env::temp_dir().join(format!("tach-writer-{}.log", std::process::id()));
/// let rotation = Rotation::new().max_bytes(10 * 1024 * 1024).keep(5);
/// let mut writer = File::new(&path).rotate(rotation).open()?;
/// writeln!(writer, "ready")?;
/// assert_eq!(writer.lost(), 0);
/// # drop(writer);
/// # std::fs::remove_file(path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Writer {
    output: Output<Ledger>,
    batch: Batch<()>,
    /// The parts of the record that has not ended.
    record: Vec<u8>,
    add: Box<Add>,
}

impl Writer {
    pub(crate) fn new(
        name: String,
        receiver: Box<dyn Receiver>,
        add: impl FnMut(&mut Vec<u8>, UnixTime, &[u8]) -> io::Result<()> + Send + 'static,
    ) -> Self {
        let ledger = Ledger {
            name,
            lost: 0,
            failing: [false; 5],
            on_incident: None,
            last_error: String::new(),
        };
        let mut output = Output::new(receiver, ledger);
        output.start(UnixTime::now());
        Self { output, batch: Batch::new(), record: Vec::new(), add: Box::new(add) }
    }

    /// Calls a function when a task begins to fail, and when it succeeds again. By default both are
    /// reported on stderr. A failure while a file is opened is always reported there.
    ///
    /// The function must not write to this writer.
    ///
    /// # Examples
    ///
    /// See [`Task`](crate::Task).
    #[must_use]
    pub fn on_incident(mut self, f: impl FnMut(&Incident<'_>) + Send + 'static) -> Self {
        self.output.owner.on_incident = Some(Box::new(f));
        self
    }

    /// Returns how many records are lost, since the receiver failed and no more could wait.
    ///
    /// # Examples
    ///
    /// See [`Writer`].
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.output.owner.lost
    }

    /// Adds the record, and writes what waits.
    ///
    /// # Errors
    ///
    /// If the record is lost.
    fn end_record(&mut self) -> io::Result<()> {
        let (now, record) = (UnixTime::now(), mem::take(&mut self.record));
        if self.batch.left() + record.len() > MOST_WAITING {
            self.output.write(&mut self.batch);
        }
        if !self.batch.is_empty() && self.batch.left() + record.len() > MOST_WAITING {
            self.output.owner.lost(&[(now, ())]);
            return Err(io::Error::other(self.output.waits()));
        }
        self.batch.add((now, ()), |to| (self.add)(to, now, &record))?;
        self.record = record;
        self.record.clear();
        self.output.write(&mut self.batch);
        Ok(())
    }
}

impl io::Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.record.extend_from_slice(bytes);
        if bytes.ends_with(b"\n") || self.record.len() >= MOST_WAITING {
            self.end_record()?;
        }
        Ok(bytes.len())
    }

    /// Ends the record, and tries to write what waits, unless the pause after a failure has not
    /// ended.
    ///
    /// # Errors
    ///
    /// If records wait, with the reason.
    fn flush(&mut self) -> io::Result<()> {
        if !self.record.is_empty() {
            self.end_record()?;
        }
        self.output.write(&mut self.batch);
        if self.batch.is_empty() { Ok(()) } else { Err(io::Error::other(self.output.waits())) }
    }
}

/// Ends the record, and tries once more to write what waits.
impl Drop for Writer {
    fn drop(&mut self) {
        let _reported = io::Write::flush(self);
        let _reported = self.output.write_now(&mut self.batch);
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("to", &self.output.owner.name).finish_non_exhaustive()
    }
}

/// Counts what happens to the records of a writer, and reports incidents.
struct Ledger {
    name: String,
    lost: u64,
    /// Whether each task fails.
    failing: [bool; 5],
    on_incident: Option<Box<OnIncident>>,
    last_error: String,
}

impl Ledger {
    fn report(&mut self, incident: &Incident<'_>) {
        match &mut self.on_incident {
            Some(on_incident) => on_incident(incident),
            None => to_stderr("tach-sinks", format_args!("{}: {incident}", self.name)),
        }
    }
}

impl Owner for Ledger {
    type Label = ();

    fn wrote(&mut self, _: usize, _: usize) {}

    fn lost(&mut self, events: &[(UnixTime, ())]) {
        self.lost += events.len() as u64;
    }

    fn failed(&mut self, task: Task, error: &io::Error, waiting: usize, retry_after: Duration) {
        self.last_error = error.to_string();
        if !mem::replace(&mut self.failing[task as usize], true) {
            self.report(&Incident::Failed { task, error, waiting, retry_after });
        }
    }

    fn recovered(&mut self, task: Task) {
        if mem::replace(&mut self.failing[task as usize], false) {
            self.report(&Incident::Recovered { task });
        }
    }

    fn reason(&self, error: Option<&io::Error>) -> String {
        let name = &self.name;
        match error {
            Some(error) => format!("can't write records to {name}: {error}"),
            None => format!("can't write records to {name}: {}", self.last_error),
        }
    }
}
