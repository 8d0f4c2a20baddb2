//! The pipeline installed for all front ends, and its filter in what they have cached.

use super::{logger, tracing};
use crate::error::Error;
use crate::filter::Levels;
use crate::pipeline::Pipeline;
use crate::pipeline::builder::Builder;
use crate::pipeline::guard::Guard;

impl Builder {
    /// Builds the pipeline, and installs it for all front ends whose features are enabled: as the
    /// global subscriber of tracing, then as the logger of `log`.
    ///
    /// In a forked child it takes the place of the pipeline that the parent installed.
    ///
    /// For a subscriber with other layers, [`build`](Self::build) and install each: see the
    /// [crate](crate#plugging-in).
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build), or if one of the two was set before. If tracing's was, `log` is
    /// left alone.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let pipeline = Pipeline::builder().filter_from_env("RUST_LOG").init()?;
    /// log::info!("ready");
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    pub fn init(self) -> Result<Guard, Error> {
        let pipeline = self.build()?;
        // First, since tracing's feature `log` makes log's records of events until then.
        tracing::install(&pipeline)?;
        logger::install(&pipeline)?;
        Ok(pipeline)
    }
}

impl Pipeline {
    /// Replaces the filter: see [`Builder::filter`](crate::Builder::filter).
    ///
    /// Tracing's cache of enabled callsites is rebuilt. If the pipeline is the logger of `log`,
    /// [`log::max_level`] is set. If it is only a layer of tracing, that level is raised but not
    /// lowered, since other layers may need it.
    ///
    /// # Errors
    ///
    /// If the filter can't be parsed. The old filter stays.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let pipeline = Pipeline::builder().filter("info").build()?;
    /// pipeline.set_logger()?;
    /// pipeline.set_filter("info,app::db=trace")?;
    /// assert_eq!(log::max_level(), log::LevelFilter::Trace);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_filter(&self, directives: &str) -> Result<(), Error> {
        let filters = &self.shared().filters;
        filters.set(Levels::parse(directives)?);
        tracing::filter_changed();
        if filters.is_logger.is_on() {
            log::set_max_level(filters.most());
        } else if filters.is_layer.is_on() {
            // Other layers may need the level that is set.
            log::set_max_level(filters.most().max(log::max_level()));
        }
        Ok(())
    }
}
