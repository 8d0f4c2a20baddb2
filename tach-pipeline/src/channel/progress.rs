//! The progress of the sinks, for callers that wait for the sinks.

use super::flush::Flush;
use super::wake::Waker;
use crate::stats::Counts;
use crate::sync::Switch;

/// The part of a channel that the sinks' threads share with it.
pub(crate) struct Progress {
    pub(crate) flush: Flush,
    pub(crate) counts: Counts,
    pub(crate) waker: Waker,
    /// Whether a queue was half full since the back end last read the queues.
    pub(crate) pressure: Switch,
}

impl Progress {
    pub(crate) fn new(counts: Counts) -> Self {
        let flush = Flush::new(counts.sinks().len());
        Self { waker: Waker::new(flush.bell.0), flush, counts, pressure: Switch::default() }
    }
}
