//! The pipeline as what each front end asks for.

mod log;
#[cfg(feature = "slog")]
mod slog;
#[cfg(feature = "tracing")]
mod tracing;
#[cfg(feature = "tracing")]
pub(super) mod writer;
