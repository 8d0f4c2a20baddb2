//! Time budgets for tower services.
//!
//! [`BudgetLayer`] gives each HTTP request a [`Budget`]. Handlers find it in the request's
//! extensions, and read how much time is left. When it is exhausted, the request is answered with
//! 504.
//!
//! ```
//! use std::convert::Infallible;
//! use std::time::Duration;
//!
//! use http::{Request, Response, StatusCode};
//! use tach_tower::{Budget, BudgetLayer, GRPC_TIMEOUT};
//! use tower::{ServiceBuilder, ServiceExt, service_fn};
//!
//! async fn handle(request: Request<()>) -> Result<Response<String>, Infallible> {
//!     let left = request.extensions().get::<Budget>().map(Budget::remaining);
//!     Ok(Response::new(format!("{left:?}")))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Infallible> {
//! let layer = BudgetLayer::new(Duration::from_secs(30)).with_header(GRPC_TIMEOUT);
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
//! # Clocks
//!
//! Tach's clock decides whether a budget is exhausted, for the handler and for the layer. A timer
//! of tokio wakes the task at that time, so tokio is a required dependency. `tokio::time::pause`
//! stops only the timer. A test controls the clock with [`BudgetLayer::with_clock`].

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod future;
mod header;
mod layer;
mod service;
mod stats;

pub use tach_core::Budget;

pub use crate::future::ResponseFuture;
pub use crate::header::GRPC_TIMEOUT;
pub use crate::layer::BudgetLayer;
pub use crate::service::BudgetService;
pub use crate::stats::Stats;

/// The example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
