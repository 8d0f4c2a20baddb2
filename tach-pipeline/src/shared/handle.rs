//! A handle to the shared state, which may lead to another pipeline's in a forked child.

use std::sync::Arc;
#[cfg(feature = "opentelemetry")]
use std::sync::Weak;

use super::Shared;

#[derive(Clone)]
pub(crate) struct Handle {
    own: Arc<Shared>,
    /// Ends the back end, which holds `own` too, after the last handle.
    #[cfg_attr(not(feature = "opentelemetry"), expect(dead_code, reason = "it is only dropped"))]
    alive: Arc<Alive>,
}

impl Handle {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { alive: Arc::new(Alive(Arc::clone(&shared))), own: shared }
    }

    /// Returns the number of the pipeline that this handle was built for, also if it logs to
    /// another one.
    #[cfg(feature = "tracing")]
    pub(crate) fn id(&self) -> u64 {
        self.own.id
    }

    /// Returns the state of the pipeline that this handle logs to.
    #[inline]
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        let mut shared = &self.own;
        while let Some(successor) = shared.successor.get() {
            shared = &successor.own;
        }
        shared
    }

    /// If this process was forked from the one that built the pipeline, makes all handles of the
    /// pipeline follow `successor`, unless they follow another pipeline of this process. Returns
    /// whether they follow `successor`.
    #[cfg(any(feature = "log", feature = "tracing"))]
    pub(crate) fn is_followed_by(&self, successor: &Self) -> bool {
        let last = self.shared();
        if !last.process.is_current() && successor.own.process.is_current() {
            let _set_by_another_thread = last.successor.set(successor.clone());
        }
        !self.own.process.is_current() && Arc::ptr_eq(self.shared(), &successor.own)
    }
}

/// A handle that does not keep the back end.
#[cfg(feature = "opentelemetry")]
pub(crate) struct WeakHandle {
    alive: Weak<Alive>,
}

#[cfg(feature = "opentelemetry")]
impl Handle {
    pub(crate) fn downgrade(&self) -> WeakHandle {
        WeakHandle { alive: Arc::downgrade(&self.alive) }
    }
}

#[cfg(feature = "opentelemetry")]
impl WeakHandle {
    /// Returns `None` after the last handle was dropped.
    pub(crate) fn upgrade(&self) -> Option<Handle> {
        let alive = self.alive.upgrade()?;
        Some(Handle { own: Arc::clone(&alive.0), alive })
    }
}

/// Ends the back end when the last handle is dropped.
struct Alive(Arc<Shared>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.end();
    }
}
