//! Time budgets for tower services.
//!
//! A request knows how much time it has left, on every hop. On a server, [`BudgetLayer::server`]
//! gives each HTTP request a [`Budget`]: the least of a limit and of the headers that the caller
//! sent. Around a client, [`BudgetLayer::client`] writes the time that is left into the next
//! request. When the budget is exhausted, the server answers 504, or gRPC's `DEADLINE_EXCEEDED`,
//! the client's call fails with [`Exhausted`], and bodies end.
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
//! The README has a whole program, with a client of reqwest.
//!
//! # Where to go
//!
//! | you want | see |
//! |---|---|
//! | limits, defaults, headers | [`Settings`] |
//! | the time left in a handler of axum | [`RequestBudget`] (feature `axum`) |
//! | the same in any code that the handler calls | [`current()`](current()) |
//! | the same in a spawned task, in a thread | [`scope`], [`within`] |
//! | to end a query, or a call of a client without a layer | [`enforce`] |
//! | retries | [`Retry`] (feature `retry`) |
//! | a client of reqwest | [`BudgetLayer::client`] (feature `reqwest`) |
//! | handlers that finish what they began | [`DetachLayer`] |
//! | gRPC | [`BudgetLayer::server`] |
//! | tests with paused time | [`BudgetLayer`] |
//!
//! # What can go wrong
//!
//! - A handler that blocks its thread is not interrupted until it yields.
//! - Headers carry a duration, so the time on the network is not counted.
//! - A server's handler is dropped where it waits, at its budget's end and when its client hangs
//!   up. A pooled connection then goes back with an open transaction, unless its pool rolls back:
//!   `docs/databases.md` has recipes.
//! - A body that is not polled does not end: see [`BudgetBody`].
//! - A call whose response outlives the handler's [`head`](Settings::head), as a stream that a
//!   handler passes on, ends with it. Call it in a [`scope`] with `Budget::new(Duration::MAX)` if
//!   it shall not.

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
