//! The waiting spans in the file of a pipeline.

use super::{Known, Trace, WaitingTraces};
use crate::spans::kept::Kept;
use crate::spans::span::Span;
use crate::spans::standing::{Change, Standing};

/// What has changed since the file was written.
#[derive(Default)]
pub(super) struct Changes {
    /// The spans that came, with their traces and their places there.
    came: Vec<(u64, u128, usize)>,
    left: Vec<u64>,
}

impl Changes {
    /// Notes that a span waits. An unfinished one also stays among the open spans, and leaves
    /// before the next commit.
    pub(super) fn came(&mut self, span: &Span<'_>, at: usize) {
        if !span.is_unfinished {
            self.came.push((span.context.span, span.context.trace, at));
        }
    }

    pub(super) fn leaves(&mut self, span: u64) {
        self.left.push(span);
    }
}

impl WaitingTraces {
    /// Keeps a list of the changes.
    pub(crate) fn keep(&mut self) {
        self.changes = Some(Changes::default());
    }

    /// Calls `each` with what has changed since the last call. Returns the spans that came since
    /// then, in their order.
    pub(crate) fn take_changes<'a>(
        &'a mut self,
        each: &mut dyn FnMut(&Change<'_>),
    ) -> impl Iterator<Item = u64> + use<'a> {
        let Self { changes, traces, .. } = self;
        let Changes { came, left } = changes.get_or_insert_default();
        left.drain(..).for_each(|span| each(&Change::Gone(span)));
        for (_, trace, at) in &*came {
            if let Some(Known::Waiting(trace)) = traces.get(trace) {
                trace.spans.get(*at).into_iter().for_each(|span| each(&trace.change(span)));
            }
        }
        came.drain(..).map(|(span, ..)| span)
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
