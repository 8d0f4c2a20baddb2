//! The public API, with the spans that a collector receives.

mod auto_traits;
#[cfg(feature = "axum")]
mod axum;
mod bodies;
mod budget;
mod client;
mod filter;
mod grpc;
mod headers;
mod hyper;
mod kit;
#[cfg(feature = "reqwest")]
mod reqwest;
mod roads;
mod server;
