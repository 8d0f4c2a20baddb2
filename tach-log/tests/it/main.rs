//! The public API, within real back ends.

mod adapter;
mod allocation;
mod any_text;
mod auto_traits;
mod bounds;
mod bracket;
mod env_logger;
mod event_time;
mod faults;
mod formats;
mod ids;
mod layouts;
mod lines;
mod manual;
#[cfg(feature = "serde")]
mod nested;
#[cfg(feature = "serde")]
mod schemas;
#[cfg(feature = "slog")]
mod slog;
mod written;
