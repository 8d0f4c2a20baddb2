//! An open span to which a call adds something.

use crate::ids::SpanContext;
use crate::pipeline::Pipeline;
use crate::trace::slots::Open;

/// An open span to which a call adds something.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    pub(super) span: Open,
    pub(super) context: SpanContext,
}

impl Target {
    #[inline]
    pub(super) fn new(span: Open) -> Self {
        Self { span, context: span.ids().context() }
    }

    /// Returns whether what is added is kept, since the span waits.
    #[inline]
    pub(super) fn waits(&self) -> bool {
        let ids = self.span.ids();
        // Another thread may have set its parent since its ids were read.
        !self.context.is_sampled && (ids.waits() || ids.may_be_sampled())
    }
}

impl Pipeline {
    /// Returns an open span as the target of a call, if the pipeline records it.
    #[inline]
    pub(super) fn target(&self, span: Open) -> Option<Target> {
        self.shared().spans.contexts.record(span).then(|| Target::new(span))
    }
}
