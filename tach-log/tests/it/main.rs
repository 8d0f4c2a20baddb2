//! The public API, within real back ends.

mod allocation;
mod auto_traits;
mod bracket;
mod env_logger;
mod manual;
#[cfg(feature = "slog")]
mod slog;
