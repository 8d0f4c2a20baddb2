//! OTLP's messages in protobuf (<https://github.com/open-telemetry/opentelemetry-proto>).

pub(crate) mod attributes;
pub(crate) mod exception;
pub(crate) mod limits;
pub(crate) mod metadata;
#[doc(hidden)]
pub mod protobuf;
mod record;
mod scope;
mod site;
pub(crate) mod taken;
pub(crate) mod value;

pub use self::record::LogRecords;
pub use self::scope::in_scope;
pub(crate) use self::scope::of_resource;
