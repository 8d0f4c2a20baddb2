//! The options of a pipeline for a child that is forked without `exec`.

use std::sync::Arc;

use super::Builder;
use crate::environment::Environment;
use crate::error::Error;
use crate::faults::Faults;
use crate::shared::Shared;
use crate::shared::succession::Start;
use crate::sink::Sink;
use crate::sync::Lock;

impl Builder {
    /// Returns the same options for another pipeline, with what the environment has set.
    pub(super) fn again(&self) -> Self {
        Self {
            sinks: self.sinks.iter().map(Sink::again).collect(),
            filter: self.filter.clone(),
            filter_from_env: self.filter_from_env.clone(),
            environment: Environment { is_read: true, ..Environment::default() },
            faults: Faults::default(),
            when_full: self.when_full,
            queue_bytes: self.queue_bytes,
            interval: self.interval,
            clock: self.clock.clone(),
            before_errors: self.before_errors.clone(),
            is_collapsing: self.is_collapsing,
            redacted: self.redacted.clone(),
            rate_limit: self.rate_limit,
            then_each: self.then_each,
            are_texts_copied: self.are_texts_copied,
            flush_timeout: self.flush_timeout,
            flushes_at_exit: self.flushes_at_exit,
            flush_on: self.flush_on,
            on_incident: self.on_incident.clone(),
            record_bytes: self.record_bytes,
            spans: self.spans.clone(),
            survival: self.survival.clone(),
            keys: self.keys.clone(),
        }
    }

    /// Returns a function that starts a pipeline in a forked child, in the place of its parent's.
    /// It uses the options as they are when it is called.
    pub(super) fn start_in_child(options: Arc<Lock<Self>>) -> Box<Start> {
        Box::new(move |parent: &Arc<Shared>| {
            // The lock is held only in a child of a child, if it was forked while its parent was
            // starting a pipeline.
            let again = options.try_lock().map(|options| options.again());
            again.ok_or_else(Error::forked)?.start(Some(parent)).map(|it| it.handle)
        })
    }
}
