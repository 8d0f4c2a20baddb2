//! The [`Pipeline`](crate::Pipeline) as each front end's logger.

#[cfg(feature = "config")]
mod apply;
mod install;
mod log;
mod logger;
#[cfg(feature = "slog")]
mod slog;
#[cfg(feature = "tracing")]
pub(crate) mod tracing;
