//! What the calls and the threads of the back end tell each other, beside the records.

use super::bell::Taken;
use super::wake::Waker;
use crate::counts::{Count, Losses};
use crate::sync::Switch;

/// The part of a channel that the back end's threads share with it.
pub struct Signals {
    /// The requests to flush.
    pub bell: Taken,
    /// Wakes the back end.
    pub waker: Waker,
    /// Whether a queue was half full since the back end last read the queues.
    pub pressure: Switch,
    /// The records that no queue took.
    pub dropped: Losses,
    /// The spans whose record no queue took.
    pub dropped_spans: Count,
    /// Whether the back end has ended. Then no call waits for room, since nobody makes any.
    pub has_ended: Switch,
}

impl Default for Signals {
    fn default() -> Self {
        let bell = Taken::new();
        Self {
            waker: Waker::new(bell.0),
            bell,
            pressure: Switch::default(),
            dropped: Losses::default(),
            dropped_spans: Count::default(),
            has_ended: Switch::default(),
        }
    }
}
