//! Time budgets for tower services.
//!
//! A request knows how much time it has left, on every hop. On a server, [`BudgetLayer`] gives each
//! HTTP request a [`Budget`]: the least of a limit and of the headers that the caller sent. Around
//! a client, [`PropagateBudgetLayer`] writes the time that is left into the next request. When the
//! budget is exhausted, the server answers 504, or gRPC's `DEADLINE_EXCEEDED`, the client's call
//! fails, and bodies end.
//!
//! ```
//! use std::convert::Infallible;
//! use std::time::Duration;
//!
//! use http::{Request, Response, StatusCode};
//! use tach_tower::{Budget, BudgetLayer, GRPC_TIMEOUT, Syntax};
//! use tower::{ServiceBuilder, ServiceExt, service_fn};
//!
//! async fn handle(request: Request<()>) -> Result<Response<String>, Infallible> {
//!     let left = request.extensions().get::<Budget>().map(Budget::remaining);
//!     Ok(Response::new(format!("{left:?}")))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Infallible> {
//! let layer = BudgetLayer::new(Duration::from_secs(30)).with_header(GRPC_TIMEOUT, Syntax::Grpc);
//! let service = ServiceBuilder::new().layer(layer).service(service_fn(handle));
//!
//! let mut request = Request::new(());
//! request.headers_mut().insert(GRPC_TIMEOUT, "5S".parse().unwrap());
//! let response = service.oneshot(request).await?;
//! assert_eq!(response.status(), StatusCode::OK);
//! # Ok(())
//! # }
//! ```
//!
//! # Where the budget is
//!
//! | code | finds it by |
//! |---|---|
//! | a handler with a request | `request.extensions().get::<Budget>()` |
//! | a handler of axum | `RequestBudget`, an extractor (feature `axum`) |
//! | any code that the handler calls, and its response's body | [`current()`](current()) |
//! | a spawned task | [`within`], with the budget of the task that spawns it |
//!
//! # Comparison
//!
//! | | tach-tower | tower | tower-http | tonic's server |
//! |---|---|---|---|---|
//! | begins | at the call | when the service is ready | when it is ready | at the call |
//! | a handler can ask for the time left | yes | no | no | no |
//! | reads the caller's headers | in six syntaxes | no | no | `grpc-timeout` |
//! | announces the time left | yes | no | no | no |
//! | ends bodies and streams | yes | no | by another layer | no |
//! | the response | 504 or `DEADLINE_EXCEEDED` | an error | 408 | `CANCELLED` |
//! | requests | of the crate `http` | any | of `http` | of tonic |
//!
//! A layer costs more than tower's timeout on a request that is ready at once, and about the same
//! on one that waits.
//!
//! # What can go wrong
//!
//! - A handler that blocks its thread is not interrupted: the answer comes when it yields.
//! - A task that a handler spawns has no budget, unless it runs [`within`] one.
//! - Headers carry a duration, so the time on the network is not counted. A [`Syntax`] with an
//!   absolute time counts it, and needs clocks that agree.
//!
//! # gRPC
//!
//! The layers work with tonic's servers and channels, and need none of its types. tonic's own
//! server also enforces `grpc-timeout`, and answers `CANCELLED`. Its timer starts after the
//! layer's, so the layer answers first, unless the handler blocks its thread past the budget's end.
//!
//! # Clocks
//!
//! Tach's clock decides whether a budget is exhausted, for the handler and for the layer. One timer
//! of each tokio runtime wakes the tasks of all its requests, within two milliseconds. It is a task
//! of the runtime that never ends.
//!
//! A test controls the clock with [`BudgetLayer::with_clock`]. With the system's clock, tokio's
//! paused time has no use: it leaps by a waiting request's budget again and again, until the budget
//! has ended in real time.
//!
//! # Features
//!
//! - `tokio` (default): the timer that ends a request which nothing wakes. Without it a budget is
//!   checked only when the request is polled, on any executor.
//! - `axum`: `RequestBudget`, an argument of handlers, with the request's [`Budget`] in its field
//!   `0`.
//! - `reqwest`: [`PropagateBudget`] around a client of reqwest.
//! - `retry`: `RetryBudget`, for `tower::retry`.
//! - `tracing`, `opentelemetry`: the budget as fields of spans; `opentelemetry` also has the counts
//!   as an instrument.
//! - `metrics`: the counts, reported to the recorder of the crate `metrics` as
//!   `tach_budget_outcomes_total`, with the labels `layer` (`server` or `client`) and `outcome`.

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod body;
mod call;
mod client;
mod current;
#[cfg(feature = "axum")]
mod extract;
mod grpc;
mod header;
mod observe;
mod server;
mod settings;
mod timer;

pub use tach_core::{Budget, Error};

pub use crate::body::BudgetBody;
#[cfg(feature = "reqwest")]
pub use crate::client::ReqwestFuture;
#[cfg(feature = "retry")]
pub use crate::client::RetryBudget;
pub use crate::client::{PropagateBudget, PropagateBudgetLayer, PropagateFuture};
pub use crate::current::{Within, current, within};
#[cfg(feature = "axum")]
pub use crate::extract::RequestBudget;
pub use crate::header::{ENVOY_TIMEOUT, GRPC_TIMEOUT, Syntax};
pub use crate::observe::{Stage, Stages, Stats};
pub use crate::server::{BudgetLayer, BudgetService, ResponseFuture};

/// The example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
