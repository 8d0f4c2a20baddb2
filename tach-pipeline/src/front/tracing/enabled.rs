//! Whether the pipeline takes events and spans, as `tracing` asks.

use tracing_core::subscriber::Interest;
use tracing_core::{LevelFilter, Metadata};

use super::metadata::level;
use crate::filter::Filters;
use crate::level::Level;
use crate::pipeline::Pipeline;

impl Filters {
    /// Returns whether an enabled span is recorded. Unlike a record, a span is not kept for a
    /// backtrace.
    #[inline]
    pub(super) fn is_span_recorded(&self, level: Level, target: &str) -> bool {
        self.kept.is_none() || self.are_written(level, target)
    }
}

pub(super) fn is_enabled(pipeline: &Pipeline, metadata: &Metadata<'_>) -> bool {
    pipeline.known().filters.enabled(level(metadata), metadata.target())
}

/// Returns an answer that `tracing` may cache until the filter changes.
pub(super) fn interest(pipeline: &Pipeline, metadata: &Metadata<'_>) -> Interest {
    if is_enabled(pipeline, metadata) { Interest::always() } else { Interest::never() }
}

pub(super) fn most(pipeline: &Pipeline) -> LevelFilter {
    match pipeline.known().filters.most() {
        log::LevelFilter::Off => LevelFilter::OFF,
        log::LevelFilter::Error => LevelFilter::ERROR,
        log::LevelFilter::Warn => LevelFilter::WARN,
        log::LevelFilter::Info => LevelFilter::INFO,
        log::LevelFilter::Debug => LevelFilter::DEBUG,
        log::LevelFilter::Trace => LevelFilter::TRACE,
    }
}
