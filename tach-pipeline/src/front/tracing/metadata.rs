//! What `tracing` knows about an event or a span before it happens.

use tracing_core::Metadata;
use tracing_core::field::Field;

use crate::level::Level;
use crate::limits::Callsite;

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
