//! Requests, as users of the crate see them.

mod auto_traits;
mod exporter;
mod secrets;
