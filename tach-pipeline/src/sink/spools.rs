//! The file that keeps events until they are written, if they are to outlive the process.

use super::file::{LogFile, Target};

/// How many sinks a file has room for. A collector that takes logs, spans and durations is three.
pub(crate) const LANES: usize = 16;

/// A file that has a copy of what each sink is about to write. A lane is the number of a sink.
pub(crate) trait SpoolFile: Send + Sync {
    /// Notes that a sink's thread has taken the events that were added, to write them. It has
    /// written all events that it had taken before.
    fn took(&self, lane: usize);

    /// Makes the events of a sink count that are about to be written, with the progress of the last
    /// commit.
    fn commit_events(&self, lane: usize, bytes: &[u8], ends: &[usize]);

    /// Notes that the bytes `range` of the events are about to be written. The file has these
    /// events or, if it had no room, a first part of them.
    fn begins_write(&self, lane: usize, range: [usize; 2], target: Target);

    /// Replaces the events that the receiver did not take. Up to `new` of them were set aside since
    /// the last call that found room. Returns whether there was room. If not, the file keeps the
    /// events of that call, although the receiver may have taken some of them since.
    fn set_aside(&self, lane: usize, bytes: &[u8], ends: &[usize], new: usize) -> bool;

    /// Notes that all events were written that a sink's thread has taken.
    fn done(&self, lane: usize);
}

/// An open sink that takes over what processes have left.
pub(crate) struct Receiving<'a> {
    /// The name by which messages call the sink.
    pub(crate) name: String,
    /// The regular file, if it is one.
    pub(crate) file: Option<&'a mut LogFile>,
}
