//! Requests, as users of the crate see them.

mod auto_traits;
mod corpus;
mod exporter;
mod secrets;
