//! The pipeline as the logger of `log`.

use std::sync::OnceLock;

use crate::error::Error;
use crate::pipeline::{Pipeline, global};

/// The pipeline that was installed first.
static LOGGER: OnceLock<Pipeline> = OnceLock::new();

impl Pipeline {
    /// Installs this as the logger of `log`, and its [`max_level`](Self::max_level).
    ///
    /// If the logger is a pipeline from which this process was forked, this pipeline takes its
    /// place.
    ///
    /// # Errors
    ///
    /// If `log` has another logger already.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let guard = Pipeline::builder().build()?;
    /// guard.pipeline().set_logger()?;
    /// log::info!("ready");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_logger(&self) -> Result<(), log::SetLoggerError> {
        let logger = Box::new(self.clone());
        global::install(&LOGGER, self, || log::set_boxed_logger(logger))?;
        let filters = &self.known().filters;
        filters.is_logger.on();
        log::set_max_level(filters.most());
        Ok(())
    }
}

pub(super) fn install(pipeline: &Pipeline) -> Result<(), Error> {
    pipeline.set_logger().map_err(|_| Error::already_set("the logger of log"))
}
