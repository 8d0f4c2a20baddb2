//! Notes that sinks make in a file of what they are about to write.

use core::ops::Range;

use crate::log_file::{LogFile, Target};

/// How many sinks a file has room for. A collector that takes logs, spans and durations is three.
pub const LANES: usize = 16;

/// A file with one batch of events for each collector, and with notes of the writes to regular
/// files. A lane is the number of a sink.
pub trait Notes: Send + Sync {
    /// Adds the events that wait for the thread of a collector, as far as there is room, unless the
    /// batch has events that are being sent. The events are the last of the `came` events so far.
    fn gathers(&self, lane: usize, bytes: &[u8], ends: &[usize], came: u64);

    /// Returns which of the events that came for a collector are in its batch.
    fn has(&self, lane: usize) -> Range<u64>;

    /// Notes that the thread has taken the events that waited, to send them.
    fn takes(&self, lane: usize);

    /// Notes that all events that the thread had taken were sent.
    fn sent(&self, lane: usize);

    /// Notes that `length` bytes are about to be written to a regular file.
    fn writes(&self, lane: usize, length: usize, to: Target);
}

/// A sink, as a file knows it that keeps what the sink has not written.
#[derive(Debug, Clone)]
pub struct Named {
    /// The name by which messages call the sink. Two sinks of a pipeline have different names.
    pub name: String,
    /// Whether the sink is a collector.
    pub is_remote: bool,
}

/// An open sink, and the regular file that it is, if it is one.
pub type OpenSink<'a> = (Named, Option<&'a mut LogFile>);
