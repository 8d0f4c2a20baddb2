//! The progress of the sinks, for callers that wait for the sinks.

use super::flush::Flush;
use super::wake::Waker;
use crate::host::unlocked::to_stderr;
use crate::stats::Counts;

/// The part of a channel that the sinks' threads share with it.
pub(crate) struct Progress {
    pub(crate) flush: Flush,
    pub(crate) counts: Counts,
    pub(crate) waker: Waker,
}

impl Progress {
    pub(super) fn new(counts: Counts) -> Self {
        Self { flush: Flush::new(counts.sinks.len()), counts, waker: Waker::default() }
    }

    /// Prints how many records, spans or durations wait for each sink. These are lost if the process ends now.
    pub(crate) fn print_waiting(&self) {
        for sink in self.counts.sinks.iter().filter(|sink| sink.waiting() > 0) {
            let (count, items, name) = (sink.waiting(), sink.items.as_str(), &sink.name);
            to_stderr(format_args!("{count} {items} for {name} were not written in time"));
        }
    }
}
