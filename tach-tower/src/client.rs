//! The layer around a client.

mod future;
mod layer;
#[cfg(feature = "reqwest")]
mod reqwest;
#[cfg(feature = "retry")]
mod retry;
mod service;

pub use self::future::PropagateFuture;
pub use self::layer::PropagateBudgetLayer;
#[cfg(feature = "reqwest")]
pub use self::reqwest::ReqwestFuture;
#[cfg(feature = "retry")]
pub use self::retry::RetryBudget;
pub use self::service::PropagateBudget;
