//! Time budgets for tower services.
//!
//! A request knows how much time it has left, on every hop. On a server, [`BudgetLayer::server`]
//! gives each HTTP request a [`Budget`]: the least of a limit and of the headers that the caller
//! sent. Around a client, [`BudgetLayer::client`] writes the time that is left into the next
//! request. When the budget is exhausted, the server answers 504, or gRPC's `DEADLINE_EXCEEDED`,
//! the client's call fails with [`Exhausted`], and bodies end.
//!
//! # A server of axum
//!
//! ```no_run
//! # #[cfg(feature = "axum")] mod server {
//! use std::time::Duration;
//!
//! use axum::Router;
//! use axum::routing::get;
//! use tach_tower::{BudgetLayer, RequestBudget, Settings};
//! use tokio::net::TcpListener;
//!
//! /// A handler that asks for the time left.
//! async fn left(RequestBudget(budget): RequestBudget) -> String {
//!     format!("{:?} left\n", budget.remaining())
//! }
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> std::io::Result<()> {
//!     let settings = Settings::new().head(Duration::from_secs(5)).idle(Duration::from_secs(60));
//!     let layer = BudgetLayer::server(settings);
//!     let app = Router::new().route("/left", get(left)).layer(layer);
//!     axum::serve(TcpListener::bind("127.0.0.1:3000").await?, app).await
//! }
//! # }
//! ```
//!
//! # A client of reqwest
//!
//! ```no_run
//! # #[cfg(feature = "reqwest")] mod client {
//! use std::time::Duration;
//!
//! use reqwest::{Method, Request, StatusCode};
//! use tach_tower::{Budget, BudgetLayer, Exhausted, Settings, scope};
//! use tower::{Layer, ServiceExt};
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//!     let layer = BudgetLayer::client(Settings::new().reserve(Duration::from_millis(10)));
//!     let client = layer.layer(reqwest::Client::new());
//!     let request = Request::new(Method::GET, "http://127.0.0.1:3000/left".parse()?);
//!     // In a handler, the budget of its request is current already.
//!     let call = scope(Budget::new(Duration::from_secs(1)), client.oneshot(request));
//!     match call.await {
//!         Ok(response) if response.status() == StatusCode::GATEWAY_TIMEOUT => {
//!             println!("the server had too little time");
//!         }
//!         Ok(response) => print!("{}", response.text().await?),
//!         Err(error) if error.is::<Exhausted>() => println!("{error}"),
//!         Err(error) => return Err(error),
//!     }
//!     Ok(())
//! }
//! # }
//! ```
//!
//! # Where the budget is
//!
//! | code | finds it by |
//! |---|---|
//! | a handler of axum | [`RequestBudget`], an extractor (feature `axum`) |
//! | any code that the handler calls, and its response's body | [`current()`](current()) |
//! | a spawned task | [`scope`], with the budget of the task that spawns it |
//! | a thread, or `spawn_blocking` | [`within`], with that budget |
//!
//! [`enforce`] ends any future with a budget: a query, or a call of a client without a layer.
//!
//! # Comparison
//!
//! | | tach-tower | tower | tower-http | tonic's server |
//! |---|---|---|---|---|
//! | begins | at the call | when the service is ready | when it is ready | at the call |
//! | a handler can ask for the time left | yes | no | no | no |
//! | reads the caller's headers | in three syntaxes, or by a function | no | no | `grpc-timeout` |
//! | announces the time left | yes | no | no | no |
//! | ends bodies and streams | yes | no | by another layer | no |
//! | the response | 504 or `DEADLINE_EXCEEDED` | an error | 408 | `CANCELLED` |
//! | requests | of the crate `http` | any | of `http` | of tonic |
//!
//! # What can go wrong
//!
//! - A handler that blocks its thread is not interrupted until it yields.
//! - A spawned task has no budget, unless it runs in a [`scope`].
//! - Headers carry a duration, so the time on the network is not counted.
//! - A server's handler is dropped where it waits, at its budget's end and when its client hangs
//!   up. A pooled connection then goes back with an open transaction, unless its pool rolls back.
//!   [`DetachLayer`] lets handlers finish; `docs/databases.md` has recipes.
//! - A body that is not polled does not end: see [`BudgetBody`].
//! - A call whose response outlives the handler's own limit, as a stream that a handler passes on,
//!   ends with the handler's [`head`](Settings::head), which is the current budget. Call it in a
//!   [`scope`] with `Budget::new(Duration::MAX)` if it shall not.
//!
//! # gRPC
//!
//! The layers work with tonic's servers and channels, and need none of its types; also with
//! gRPC-Web, inside and outside of tonic-web's layer. tonic's own server also enforces
//! `grpc-timeout`, and answers `CANCELLED`. Its timer starts after the layer's, so the layer
//! answers first, unless the handler blocks its thread past the budget's end.
//!
//! # Clocks
//!
//! A call that waits is ended by a `tokio::time::Sleep`, as with tower's `Timeout`.
//! [`Budget::remaining`] reads tach's clock, because a budget also works without a runtime. If the
//! two clocks disagree, the call ends when the sleep fires.
//!
//! With tokio's paused time, requests, bodies and [`enforce`] end as they do in real time. Only
//! [`Budget::remaining`] stands still then. For a test that asks it, `ManualClock::during` of
//! tach-core puts a clock in place that the test moves by hand.
//!
//! # Features
//!
//! - `axum`: [`RequestBudget`], an argument of handlers.
//! - `reqwest`: [`BudgetService`] around a client of reqwest.
//! - `retry`: [`Retry`], a policy of `tower::retry`.

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(all(feature = "axum", feature = "retry")),
    allow(
        rustdoc::broken_intra_doc_links,
        reason = "the front page names items of features, and CI checks its links with all of them"
    )
)]

mod alarm;
mod body;
mod call;
mod client;
mod counts;
mod current;
mod detach;
mod drain;
mod exhausted;
#[cfg(feature = "axum")]
mod extract;
mod future;
mod grpc;
mod header;
mod hook;
mod layer;
mod limited;
mod limits;
#[cfg(feature = "retry")]
mod retry;
mod server;
mod service;
mod settings;
mod shared;
mod side;
mod stats;

pub use tach_core::Budget;

pub use crate::body::BudgetBody;
pub use crate::client::ClientSide;
pub use crate::current::{current, scope, within};
pub use crate::detach::{Detach, DetachLayer, Detached};
pub use crate::exhausted::Exhausted;
#[cfg(feature = "axum")]
pub use crate::extract::RequestBudget;
pub use crate::future::ResponseFuture;
pub use crate::header::Syntax;
pub use crate::layer::BudgetLayer;
pub use crate::limited::enforce;
#[cfg(feature = "retry")]
pub use crate::retry::Retry;
pub use crate::server::ServerSide;
pub use crate::service::BudgetService;
pub use crate::settings::Settings;
pub use crate::stats::Stats;

/// What tach-http uses.
#[doc(hidden)]
pub mod adapter {
    pub use crate::current::replace_arrived;
    pub use crate::grpc::Protocol;
    pub use crate::hook::Hook;
}

/// The example in the README.
#[cfg(all(doctest, feature = "axum", feature = "reqwest"))]
#[doc = include_str!("../README.md")]
struct Readme;
