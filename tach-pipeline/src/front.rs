//! The [`Pipeline`](crate::Pipeline) as each front end's logger.

#[cfg(feature = "config")]
mod apply;
pub(crate) mod install;
mod log;
mod logger;
#[cfg(feature = "slog")]
mod slog;
#[cfg(feature = "tracing")]
pub(crate) mod tracing;

#[cfg(feature = "tracing")]
use self::tracing::write_current_spans;

/// Without a feature that has spans, there are none.
#[cfg(not(feature = "tracing"))]
const fn write_current_spans<const ALL: bool>(
    _: &crate::shared::Shared,
    _: &mut crate::frame::Writer<'_>,
) -> Option<crate::ids::Around> {
    None
}
