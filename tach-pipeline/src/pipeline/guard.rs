//! The flush at the end of `main`.

use core::fmt;

use crate::pipeline::Pipeline;

/// Flushes its [pipeline](Self::pipeline) when it is dropped: [`Builder::build`] returns it.
///
/// The guard [flushes](Pipeline::flush) within the time that
/// [`Builder::flush_timeout`](crate::Builder::flush_timeout) sets. If something can't be written,
/// the guard prints the reason and the number of records to stderr. The pipeline works on while it
/// has handles. When the last one is dropped, it is flushed once more, within the same time. A
/// pipeline that is installed keeps a handle, and [the exit](crate::Builder::without_flush_at_exit)
/// of the process flushes it.
///
/// [`Builder::build`]: crate::Builder::build
///
/// # Examples
///
/// ```
/// use tach_pipeline::Pipeline;
///
/// let guard = Pipeline::builder().build()?;
/// guard.pipeline().set_logger()?;
/// log::info!("the last words");
/// drop(guard);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "dropping the last handle ends the pipeline"]
pub struct Guard {
    pipeline: Pipeline,
}

impl Guard {
    pub(crate) fn new(pipeline: Pipeline) -> Self {
        Self { pipeline }
    }

    /// Returns a handle to the pipeline, which is cloned for further handles. They don't flush.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let guard = Pipeline::builder().build()?;
    /// let handle = guard.pipeline().clone();
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub const fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let shared = self.pipeline.known();
        // On other systems no function is called at the exit, so this counts as the end of the
        // process.
        if cfg!(not(any(unix, windows))) {
            shared.channel.exits();
        }
        shared.leave();
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Guard").field(&self.pipeline).finish()
    }
}
