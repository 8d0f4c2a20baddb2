//! What `tracing` knows about an event or a span before it happens.

use tracing_core::Metadata;
use tracing_core::field::Field;

use crate::frame::Place;
use crate::frame::texts::MaybeStatic;
use crate::level::Level;
use crate::limits::Callsite;

/// Returns the place that counts against a rate limit. Do not call for an event that `tracing-log`
/// made, since all of these have one place.
pub(super) fn callsite(metadata: &Metadata<'static>) -> Option<Callsite> {
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

pub(super) fn place<'a>(
    metadata: &Metadata<'a>,
    text: impl Fn(&'a str) -> MaybeStatic<'a>,
) -> Place<'a> {
    Place {
        file: text(metadata.file().unwrap_or_default()),
        line: metadata.line().unwrap_or(0),
        module: text(metadata.module_path().unwrap_or_default()),
    }
}

/// Returns the event's name, unless it is the default of tracing's macros, `event FILE:LINE`.
#[inline]
pub(super) fn given_name(metadata: &'static Metadata<'static>) -> Option<&'static str> {
    const BEGIN: &str = "event ";
    let name = metadata.name();
    let file = metadata.file().map_or(0, str::len);
    // To compare the file's name too would take longer.
    let is_default =
        name.starts_with(BEGIN) && name.as_bytes().get(BEGIN.len() + file) == Some(&b':');
    (!is_default).then_some(name)
}

/// Returns the key without the `r#` of names such as `r#type`.
pub(super) fn key(field: &Field) -> &'static str {
    let name = field.name();
    name.strip_prefix("r#").unwrap_or(name)
}
