//! The pipeline as what each front end asks for.

#[cfg(feature = "tracing")]
pub(crate) mod lines;
#[cfg(feature = "log")]
mod log;
#[cfg(feature = "slog")]
mod slog;
#[cfg(feature = "tracing")]
mod tracing;
