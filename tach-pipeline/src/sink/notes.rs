//! What sinks note in a pipeline's file of what they are about to write.

use super::file::{LogFile, Target};

/// How many sinks a file has room for. A collector that takes logs, spans and durations is three.
pub(crate) const LANES: usize = 16;

/// A file with one batch of events for each collector, and with notes of the writes to regular
/// files. A lane is the number of a sink.
pub(crate) trait Notes: Send + Sync {
    /// Adds the events that wait for the thread of a collector, as far as there is room, unless the
    /// batch has events that are being sent. They are the last of `came` events.
    fn gathers(&self, lane: usize, bytes: &[u8], ends: &[usize], came: u64);

    /// Returns which of the events that came for a collector are in its batch: how many came before
    /// the first of them, and before the end of the last.
    fn has(&self, lane: usize) -> [u64; 2];

    /// Notes that the thread has taken the events that waited, to send them.
    fn takes(&self, lane: usize);

    /// Notes that all events were sent that the thread has taken.
    fn sent(&self, lane: usize);

    /// Notes that a regular file is about to be written.
    fn writes(&self, lane: usize, write: Write<'_>);
}

/// A write to a regular file.
#[derive(Clone, Copy)]
pub(crate) struct Write<'a> {
    pub(crate) bytes: &'a [u8],
    /// Whether nothing else waits for the file.
    pub(crate) is_last: bool,
    pub(crate) to: Target,
}

/// An open sink that takes over what processes have left.
pub(crate) struct Receiving<'a> {
    /// The name by which messages call the sink.
    pub(crate) name: String,
    /// The regular file, if it is one.
    pub(crate) file: Option<&'a mut LogFile>,
    /// Whether it is a collector.
    pub(crate) is_remote: bool,
}
