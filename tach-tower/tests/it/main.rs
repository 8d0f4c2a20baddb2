//! The public API with tower's own tools, mostly in real time.

mod allocation;
mod auto_traits;
mod bodies;
mod client;
mod corpus;
mod counts;
mod current;
mod detach;
mod drain;
mod exhausted;
#[cfg(feature = "axum")]
mod extract;
mod frames;
mod grpc;
mod header;
mod hops;
mod in_time;
mod kit;
mod limits;
mod manual;
mod nested;
mod paused;
mod peers;
mod permits;
mod queues;
mod retry;
mod runtimes;
mod silent;
