//! The flush at the end of `main`.

use core::fmt;
use core::ops::Deref;
use core::time::Duration;

use crate::pipeline::Pipeline;
use crate::shared::FLUSH_TIMEOUT;

/// A [`Pipeline`] that is flushed when the guard is dropped. Keep it until the end of `main`.
///
/// It dereferences to its pipeline, so `guard.clone()` is a [`Pipeline`], such as for a subscriber.
///
/// The guard [flushes](Pipeline::flush) within five seconds, or as long as
/// [`with_timeout`](Self::with_timeout) sets. If something can't be written, the guard prints the
/// reason and the number of records to stderr. The pipeline works on while it has handles. When the
/// last one is dropped, it is flushed once more, within the same time. A pipeline that is installed
/// keeps a handle, and the exit of the process flushes it.
///
/// Where [`Builder::flush_at_exit`](crate::Builder::flush_at_exit) flushes, the exit of the process
/// does the same without a guard.
///
/// # Examples
///
/// ```
/// use tach_pipeline::Pipeline;
///
/// let pipeline = Pipeline::builder().build()?;
/// pipeline.set_logger()?;
/// log::info!("the last words");
/// drop(pipeline);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "dropping it at once leaves nothing that flushes at the end"]
pub struct Guard {
    pipeline: Pipeline,
    timeout: Duration,
}

impl Guard {
    pub(crate) fn new(pipeline: Pipeline) -> Self {
        Self { pipeline, timeout: FLUSH_TIMEOUT }
    }

    /// Sets how long the guard waits.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use tach_pipeline::Pipeline;
    ///
    /// let pipeline = Pipeline::builder().build()?.with_timeout(Duration::from_secs(30));
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    pub const fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }
}

impl Deref for Guard {
    type Target = Pipeline;

    fn deref(&self) -> &Pipeline {
        &self.pipeline
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let shared = self.pipeline.shared();
        let _set_by_another_guard = shared.channel.leave_timeout.set(self.timeout);
        // Where nothing is called at the exit, this is the end of the process.
        if cfg!(not(unix)) {
            shared.channel.exits();
        }
        shared.leave(self.timeout);
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}
