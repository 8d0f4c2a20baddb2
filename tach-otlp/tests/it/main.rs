//! Requests, as users of the crate see them.
#![cfg(feature = "http")]

mod auto_traits;
mod exporter;
