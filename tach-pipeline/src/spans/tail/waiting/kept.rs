//! The waiting spans in the file of a pipeline.

use std::collections::HashSet;

use foldhash::fast::RandomState;

use super::{Known, Trace, WaitingTraces};
use crate::spans::kept::Kept;
use crate::spans::standing::{Change, Standing};

/// What has changed since the file was written.
#[derive(Default)]
pub(super) struct Changes {
    /// The spans that wait.
    waiting: HashSet<u64, RandomState>,
    /// The traces of spans that came, and their places there.
    came: Vec<(u128, usize)>,
    left: Vec<u64>,
}

impl Changes {
    pub(super) fn came(&mut self, trace: u128, span: u64, at: usize) {
        self.waiting.insert(span);
        self.came.push((trace, at));
    }

    pub(super) fn leaves(&mut self, span: u64) {
        self.waiting.remove(&span);
        self.left.push(span);
    }
}

impl WaitingTraces {
    /// Keeps a list of the changes.
    pub(crate) fn keep(&mut self) {
        self.changes = Some(Changes::default());
    }

    /// Returns whether a span waits. Call after [`keep`](Self::keep).
    pub(crate) fn has(&self, span: u64) -> bool {
        self.changes.as_ref().is_some_and(|changes| changes.waiting.contains(&span))
    }

    /// Calls `each` with what has changed since the last call.
    pub(crate) fn take_changes(&mut self, each: &mut dyn FnMut(&Change<'_>)) {
        let Some(mut changes) = self.changes.take() else { return };
        for (trace, at) in changes.came.drain(..) {
            if let Some(trace) = self.waiting(trace) {
                trace.spans.get(at).into_iter().for_each(|span| each(&trace.change(span)));
            }
        }
        for span in changes.left.drain(..).filter(|span| !changes.waiting.contains(span)) {
            each(&Change::Gone(span));
        }
        self.changes = Some(changes);
    }

    /// Calls `each` with all spans that wait.
    pub(crate) fn each_waiting(&self, each: &mut dyn FnMut(&Change<'_>)) {
        for trace in self.traces.values() {
            if let Known::Waiting(trace) = trace {
                trace.spans.iter().for_each(|span| each(&trace.change(span)));
            }
        }
    }
}

impl Trace {
    fn change(&self, span: &Kept) -> Change<'_> {
        let whole = span.span(&self.records, &[]);
        Change::Waits(span.context.span, Standing::of_ended(&whole), whole.records)
    }
}
