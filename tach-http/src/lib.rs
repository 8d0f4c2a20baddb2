//! Spans of HTTP and gRPC requests, for servers and clients of tower.
//!
//! [`RequestLayer::server`] gives each request a span of `tracing` in its caller's trace.
//! [`RequestLayer::client`] gives each call a span, and the next service the headers.
//! `tach_pipeline` sends the spans to a collector, and their durations by route.
//!
//! ```no_run
//! # #[cfg(feature = "axum")] mod server {
//! use axum::{Router, routing::get};
//! use tach_http::RequestLayer;
//! use tach_pipeline::{Durations, Otlp, Pipeline, Sink};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! Pipeline::builder()
//!     .sink(Sink::otlp(Otlp::from_env()))
//!     .durations(Durations::new().attribute("http.route"))
//!     .init()?;
//! let app = Router::new().route("/users/{id}", get(|| async { "a user" }));
//! let app = app.layer(RequestLayer::server());
//! # axum::serve(tokio::net::TcpListener::bind("127.0.0.1:3000").await?, app).await?;
//! # Ok(())
//! # }
//! # }
//! ```
//!
//! # What is recorded
//!
//! By OpenTelemetry's conventions:
//!
//! | | HTTP | gRPC |
//! |---|---|---|
//! | the span in the program | `http.server.request`, `http.client.request` | `rpc.server.call`, `rpc.client.call` |
//! | its name | `GET /users/{id}`, or `GET` without a route | `package.Service/Method`, or `grpc` |
//! | at the start | `http.request.method`, `server.address`, `server.port`; of a server `http.route`, `url.path`, `url.scheme`, `network.protocol.version`, of a client `url.full` | `rpc.system.name`, `server.address`, `server.port`; of a server `url.path`, of a client `rpc.method` |
//! | at the end | `http.response.status_code`; of a client `network.protocol.version` | `rpc.response.status_code`; of a server `rpc.method` |
//! | error of a server | 500 to 599 | `UNKNOWN`, `DEADLINE_EXCEEDED`, `UNIMPLEMENTED`, `INTERNAL`, `UNAVAILABLE`, `DATA_LOSS` |
//! | error of a client | 400 to 599 | all but `OK` |
//!
//! An error sets the status and `error.type`: the code, `timeout` (a budget, reqwest's timer),
//! `cancelled` (the caller has gone away, the call was dropped), `panic`, `connect` (reqwest) or
//! the type of the error. `tach.budget.outcome` says what a `BudgetLayer` of `tach_tower` did:
//! `exhausted`, `refused` or `ended_body` (not in gRPC).
//!
//! [`RequestLayer::server`] around a `BudgetLayer` also records the time left.
//!
//! Not recorded: a query, which has secrets; `user_agent.original`, for its price; the peer's
//! address and `http.request.resend_count`, which a layer does not see; a client's error, unless it
//! is, or wraps, one of reqwest, `std::io` or a budget. Callers make up no names: methods outside
//! of RFC 9110, `PATCH` and `QUERY`, or of `OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS`, are `_OTHER`,
//! and so are gRPC's until a service answers other than `UNIMPLEMENTED`. An answer that is not
//! gRPC's is HTTP's.
//!
//! # Features
//!
//! - `axum`: the matched route.
//! - `reqwest`: the layer around its client.
//! - `reqwest-middleware`: the layer as a middleware.

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod address;
mod body;
mod client;
mod current;
mod failure;
mod future;
mod grpc;
mod headers;
mod layer;
mod method;
mod open;
mod options;
#[cfg(feature = "reqwest")]
mod reqwest;
mod server;
mod service;

pub use tach_tower::{ClientSide, ServerSide};

pub use crate::body::ResponseBody;
pub use crate::current::set_route;
pub use crate::future::ResponseFuture;
pub use crate::layer::RequestLayer;
pub use crate::service::RequestService;

/// The example in the README.
#[cfg(all(doctest, feature = "axum", feature = "reqwest"))]
#[doc = include_str!("../README.md")]
struct Readme;
