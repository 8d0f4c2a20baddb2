//! The public API with tower's own tools, mostly in real time.

mod allocation;
mod auto_traits;
mod bodies;
mod client;
mod corpus;
mod current;
mod exhausted;
#[cfg(feature = "axum")]
mod extract;
mod grpc;
mod header;
mod hops;
mod in_time;
mod kit;
mod manual;
mod queues;
#[cfg(feature = "retry")]
mod retry;
mod runtimes;
mod spans;
mod timing;
