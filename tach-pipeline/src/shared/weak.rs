//! A handle that does not keep the back end, for contexts of `opentelemetry`.

use std::sync::{Arc, Weak};

use super::{Alive, Handle};

/// A handle that does not keep the back end.
pub(crate) struct WeakHandle {
    alive: Weak<Alive>,
}

impl Handle {
    pub(crate) fn downgrade(&self) -> WeakHandle {
        WeakHandle { alive: Arc::downgrade(&self.alive) }
    }
}

impl WeakHandle {
    /// Returns `None` after the last handle was dropped.
    pub(crate) fn upgrade(&self) -> Option<Handle> {
        let alive = self.alive.upgrade()?;
        Some(Handle { own: Arc::clone(&alive.0), alive })
    }
}
