//! Who keeps the records of a pipeline, so that they outlive the process, and what the keeper asks
//! of the pipeline.

use core::time::Duration;
use std::ffi::OsStr;
use std::io;

use tach_core::UnixTime;

/// Keeps a record until every sink has written it, and passes on the records of processes that have
/// ended. The back end calls it.
pub trait Keeper: Send {
    /// Returns whether processes that have ended left so many files that this one waits until their
    /// records are passed on.
    fn has_many_files(&self) -> bool;

    /// Calls `write` with what each flight recorder of a process that was killed had kept. A
    /// recording is offered again to the next pipeline if `write` returns `false`.
    fn recordings(&mut self, write: &mut dyn FnMut(&Recording<'_>) -> bool);

    /// Returns a function that keeps the items of a flight recorder: the newest of them, up to
    /// `bytes` and 3 MiB, which are not older than `max_age`.
    fn recorder(&self, bytes: usize, max_age: Duration) -> Box<Keep>;

    /// Passes on the records of processes that have ended. Returns early if the queues of the
    /// pipeline need their turn, or if a sink has no room and the call may not wait for it. A later
    /// call continues.
    fn recover(&mut self, to: &mut dyn Receiver, may_wait: bool);

    /// Returns whether what was read from the rings before the call is whole. Otherwise somebody
    /// has cut the file, and records may be torn.
    fn is_whole(&mut self) -> bool;

    /// Notes that the queues have little room.
    fn note_pressure(&mut self);

    /// Notes how far the records were passed on. Call before the sinks write.
    fn prepare(&mut self, to: &mut dyn Receiver);

    /// If all sinks have written the records that were passed on before [`prepare`](Self::prepare),
    /// notes in the file that these are done, and frees their room. Call after the sinks have
    /// received them.
    fn commit(&mut self, to: &mut dyn Receiver);

    /// Waits until all records that were passed on are [committed](Self::commit), unless a sink
    /// fails or is slow. Call before a flush is done: the process may end then.
    fn settle(&mut self, to: &mut dyn Receiver);

    /// Returns how soon a later call must pass records on or commit some, or `None` if none wait.
    fn due(&self, to: &dyn Receiver) -> Option<Duration>;

    /// Ends the work. If all records were written (`is_written`), nothing is left for the next
    /// process.
    fn end(&mut self, is_written: bool, to: &mut dyn Receiver);
}

/// Keeps an item of a flight recorder: words that describe a span, or none for an event, and its
/// records.
pub type Keep = dyn FnMut(&[u64], &[u8]) + Send;

/// Receives the items of a flight recorder, as [`Keep`] does.
pub type Each<'a> = dyn FnMut(&[u64], &[u8]) + 'a;

/// What the flight recorder of a process that was killed had kept.
pub struct Recording<'a> {
    /// The number of the process.
    pub process: u64,
    /// How old an item may be.
    pub max_age: Duration,
    /// The last time that the process is known to have lived.
    pub last: UnixTime,
    /// Calls a function with each item, the oldest first.
    pub items: &'a dyn Fn(&mut Each<'_>),
}

/// What a keeper could not do.
#[derive(Debug)]
pub enum Fault<'a> {
    /// The records of this process do not outlive it.
    NotKept(&'a io::Error),
    /// The file of a process that has ended, whose records are not passed on.
    NotRecovered(&'a OsStr, &'a io::Error),
}

/// The function that is called with each fault.
pub type OnFault = dyn Fn(&Fault<'_>) + Send;

/// Something that a keeper passes on.
#[derive(Debug)]
pub enum Piece {
    /// A record that the keeper itself writes.
    Report(Vec<u8>),
    /// A record of a process that has ended, and when it happened.
    Record(Vec<u8>, UnixTime),
    /// Events that a sink may have already.
    Batch {
        /// The record that says how many of them may come twice.
        report: Vec<u8>,
        /// The number of the sink.
        sink: usize,
        /// The events in the format of the sink.
        bytes: Vec<u8>,
        /// Where each event ends.
        ends: Vec<usize>,
    },
}

/// Events that not all sinks have written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waiting {
    /// How many wait for sinks of this machine.
    pub local: u64,
    /// How many wait for collectors.
    pub remote: u64,
    /// Whether one of these sinks fails or stalls.
    pub is_failing: bool,
}

/// The pipeline whose records a [`Keeper`] keeps.
pub trait Receiver {
    /// Returns the time.
    fn now(&self) -> UnixTime;

    /// Marks what was passed on.
    fn mark(&mut self);

    /// Frees the room of what was passed on before the last [mark](Self::mark).
    fn free(&mut self);

    /// Returns how many lost records the log states, less the repeats that it does not state yet.
    /// The number may wrap around.
    fn stated(&self) -> u64;

    /// Returns how many events sinks have dropped that the log does not state.
    fn unreported(&self) -> u64;

    /// Returns how many events were ever refused by a sink before they waited.
    fn refused(&self) -> u64;

    /// Replaces `came` by the number of events that came for each sink, except for those that were
    /// refused.
    fn came(&self, came: &mut Vec<u64>);

    /// Copies to the file the events that wait for the threads of collectors. Returns how many of
    /// the first `came` events of each sink wait.
    fn waiting(&self, came: &[u64]) -> Waiting;

    /// Returns whether each sink that neither fails nor stalls has room for more events.
    fn has_room(&self) -> bool;

    /// Returns whether the queues of the pipeline would drop records if they were not read now.
    fn is_pressed(&self) -> bool;

    /// Returns whether enough was passed on for a write.
    fn is_full(&self) -> bool;

    /// Passes something on to the sinks.
    fn pass_on(&mut self, piece: Piece);

    /// Writes what was passed on, or gives it to the threads of the sinks.
    fn write(&mut self);
}
