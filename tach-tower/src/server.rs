//! The layer around a server's services.

mod future;
mod layer;
mod service;

pub use self::future::ResponseFuture;
pub use self::layer::BudgetLayer;
pub use self::service::BudgetService;
