//! A handle that does not keep the pipeline, for contexts of `opentelemetry`.

use crate::pipeline::Pipeline;
use crate::shared::weak::WeakHandle;

/// A handle that does not keep the pipeline.
pub(crate) struct WeakPipeline(WeakHandle);

impl WeakPipeline {
    /// Returns `None` after the last handle was dropped.
    pub(crate) fn upgrade(&self) -> Option<Pipeline> {
        Some(Pipeline::with_handle(self.0.upgrade()?))
    }
}

impl Pipeline {
    /// Returns a handle that does not keep the pipeline.
    pub(crate) fn downgrade(&self) -> WeakPipeline {
        WeakPipeline(self.handle.downgrade())
    }
}
