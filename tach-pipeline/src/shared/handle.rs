//! A handle to the shared state, which may lead to another pipeline's in a forked child.

use std::sync::Arc;

use super::Shared;

#[derive(Clone)]
pub(crate) struct Handle {
    own: Arc<Shared>,
    /// Ends the back end, which holds `own` too, after the last handle.
    _alive: Arc<Alive>,
}

impl Handle {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { _alive: Arc::new(Alive(Arc::clone(&shared))), own: shared }
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
    /// pipeline follow `successor`. Returns whether they do.
    #[cfg(any(feature = "log", feature = "tracing"))]
    pub(crate) fn is_followed_by(&self, successor: &Self) -> bool {
        if self.own.process.is_current() || !successor.own.process.is_current() {
            return false;
        }
        let follower = self.own.successor.get_or_init(|| successor.clone());
        Arc::ptr_eq(&follower.own, &successor.own)
    }
}

/// Ends the back end when the last handle is dropped.
struct Alive(Arc<Shared>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.end();
    }
}
