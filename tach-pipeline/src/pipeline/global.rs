//! The pipelines that are the process's logger of `log` and its global subscriber of tracing.
//!
//! Both can be set once. A forked child inherits them but not the back end's thread. A pipeline
//! that is installed in the child replaces the inherited one.

use std::sync::{Arc, OnceLock};

use crate::error::{Class, Error};
use crate::pipeline::Pipeline;
use crate::shared::Handle;

/// Calls `install`, which installs `pipeline`. In a forked child that fails, since the parent's
/// pipeline is installed. Then the handles of the parent's pipeline log to `pipeline` from now on.
///
/// # Errors
///
/// Returns the error of `install` if another logger was installed, or a pipeline of this process.
pub(crate) fn install<E>(
    installed: &OnceLock<Pipeline>,
    pipeline: &Pipeline,
    install: impl FnOnce() -> Result<(), E>,
) -> Result<(), E> {
    let result = install();
    match installed.get() {
        None if result.is_ok() => drop(installed.set(pipeline.clone())),
        Some(old) if old.handle.is_followed_by(&pipeline.handle) => return Ok(()),
        _ => {}
    }
    result
}

impl Handle {
    /// In a process that was forked from the pipeline's, makes all handles of the pipeline log to
    /// `successor`, unless the program has installed another pipeline in this process. Ends the
    /// pipeline that the first record has started. Returns whether they log to `successor`.
    fn is_followed_by(&self, successor: &Self) -> bool {
        let last = self.own.last();
        let is_there = last.process.is_current();
        if (!is_there || last.is_inherited) && successor.own.process.is_current() {
            last.succession.set(successor.clone());
            if is_there {
                last.leave();
                last.channel.end();
            }
        }
        !self.own.process.is_current() && Arc::ptr_eq(self.own.last(), &successor.own)
    }
}

impl Error {
    pub(crate) fn already_set(what: &'static str) -> Self {
        let message =
            format!("{what} was set before; a program sets it once, so remove one of the two");
        Self::other(Class::AlreadySet, message, None)
    }
}
