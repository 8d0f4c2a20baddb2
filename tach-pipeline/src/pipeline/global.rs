//! The pipelines that are the process's logger of `log` and its global subscriber of tracing.
//!
//! Both can be set once. A forked child inherits them with a pipeline that nobody writes for, so
//! there another pipeline takes that one's place.

use crate::error::{Class, Error};
use crate::pipeline::Pipeline;
use crate::sync::Lock;

/// The pipeline that was installed for one front end.
pub(crate) struct Installed(Lock<Option<Pipeline>>);

#[cfg(feature = "log")]
pub(crate) static LOGGER: Installed = Installed::none();
#[cfg(feature = "tracing")]
pub(crate) static SUBSCRIBER: Installed = Installed::none();

impl Installed {
    const fn none() -> Self {
        Self(Lock::new(None))
    }

    /// Keeps the pipeline that `install` installs. If it fails in a forked child, since the
    /// parent's pipeline is installed, that pipeline's handles follow `pipeline` from now on.
    ///
    /// # Errors
    ///
    /// Returns the error of `install` if another logger was installed, or a pipeline of this
    /// process.
    pub(crate) fn install<E>(
        &self,
        pipeline: &Pipeline,
        install: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        let mut installed = self.0.lock();
        if let Err(error) = install() {
            let is_followed =
                installed.as_ref().is_some_and(|old| old.handle.is_followed_by(&pipeline.handle));
            if !is_followed {
                return Err(error);
            }
        }
        *installed = Some(pipeline.clone());
        Ok(())
    }
}

impl Error {
    pub(crate) fn already_set(what: &'static str) -> Self {
        let message =
            format!("{what} was set before; a program sets it once, so remove one of the two");
        Self::other(Class::ALREADY_SET, message, None)
    }
}
