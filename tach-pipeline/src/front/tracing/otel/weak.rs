//! A handle that does not keep the pipeline alive, for contexts of `opentelemetry`.

use std::sync::{Arc, Weak};

use crate::pipeline::Pipeline;
use crate::shared::{Alive, Handle};

/// A handle that does not keep the pipeline alive.
#[derive(Debug, Clone)]
pub(super) struct WeakPipeline(Weak<Alive>);

impl WeakPipeline {
    /// Returns `None` after the last handle was dropped.
    pub(super) fn upgrade(&self) -> Option<Pipeline> {
        let alive = self.0.upgrade()?;
        Some(Pipeline::with_handle(Handle { own: Arc::clone(&alive.0), alive }))
    }
}

impl Pipeline {
    /// Returns a handle that does not keep the pipeline alive.
    pub(super) fn downgrade(&self) -> WeakPipeline {
        WeakPipeline(Arc::downgrade(&self.handle.alive))
    }
}
