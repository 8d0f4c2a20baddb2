//! Time budgets for tower services.
//!
//! [`BudgetLayer`] gives each HTTP request a [`Budget`]. Handlers find it among the request's
//! extensions and can ask what remains of it; when it is gone, the request is answered with 504.
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
//! # When time is judged
//!
//! A budget is tach's to judge, so what a handler reads from it and when the layer ends it agree.
//! But a clock acts only when it is asked, and a task that nothing wakes asks no more: a timer of
//! tokio's wakes it when the budget should be gone. That is why tokio is no optional feature here.
//! `tokio::time::pause` stops that timer only; it does not move tach's clock. A test gives the layer a
//! clock of its own by [`BudgetLayer::with_clock`].

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod future;
mod header;
mod layer;
mod service;
mod stats;

pub use tach_core::{Budget, BudgetExhausted};

pub use crate::future::ResponseFuture;
pub use crate::header::GRPC_TIMEOUT;
pub use crate::layer::BudgetLayer;
pub use crate::service::BudgetService;
pub use crate::stats::Stats;
