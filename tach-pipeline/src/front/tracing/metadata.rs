//! What `tracing` knows about an event or a span before it happens, and whether the pipeline takes
//! it.

use tracing_core::field::Field;
use tracing_core::subscriber::Interest;
use tracing_core::{LevelFilter, Metadata};

use crate::filter::Filters;
use crate::level::Level;
use crate::limits::Callsite;
use crate::pipeline::Pipeline;

/// Returns the place that counts against a rate limit. Do not call for an event that `tracing-log`
/// made, since all of these have one place.
pub(super) fn callsite(metadata: &Metadata<'static>) -> Option<Callsite<'static>> {
    Some(Callsite { file: metadata.file()?, line: metadata.line()? })
}

pub(super) fn level(metadata: &Metadata<'_>) -> Level {
    match *metadata.level() {
        tracing_core::Level::ERROR => Level::of(log::Level::Error),
        tracing_core::Level::WARN => Level::of(log::Level::Warn),
        tracing_core::Level::INFO => Level::of(log::Level::Info),
        tracing_core::Level::DEBUG => Level::of(log::Level::Debug),
        tracing_core::Level::TRACE => Level::of(log::Level::Trace),
    }
}

/// Returns the key without the `r#` of names such as `r#type`.
pub(super) fn key(field: &Field) -> &'static str {
    let name = field.name();
    name.strip_prefix("r#").unwrap_or(name)
}

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
