//! tracing-opentelemetry's names over tach-pipeline, for its tests. `cargo xtask peers
//! tracing-opentelemetry` runs them.
//!
//! The spans go over the wire: a provider has a pipeline, which sends to a receiver in this
//! process, and gives the tests what is decoded there. Each file ends with the tests from
//! tracing-opentelemetry's file of the same name.

mod decode;
mod layer;
mod provider;
mod wire;

pub use tach_pipeline::OpenTelemetrySpanExt;

/// The names of tracing-opentelemetry that the tests use.
pub mod tracing_opentelemetry {
    pub use crate::layer::{get_otel_context, layer};
    pub use tach_pipeline::OpenTelemetrySpanExt;
}

/// The names of `opentelemetry_sdk` that the tests use.
pub mod opentelemetry_sdk {
    pub use sdk::{error, propagation};

    pub mod trace {
        pub use sdk::trace::{Sampler, Span, SpanData, SpanLimits};

        pub use crate::provider::{InMemorySpanExporter, SdkTracerProvider, SpanExporter, Tracer};
    }
}

/// The programs in tracing-opentelemetry's folder `tests`.
macro_rules! tests {
    ($($name:ident)*) => {$(
        #[cfg(test)]
        mod $name {
            #[allow(unused_imports, reason = "not every program sets options")]
            use crate::layer::Options as _;
            use crate::{opentelemetry_sdk, tracing_opentelemetry};

            include!(concat!(env!("PEER_TESTS"), "/", stringify!($name), ".rs"));
        }
    )*};
}

tests! {
    batch_global_subscriber
    errors
    filtered
    follows_from
    otel_context
    parallel
    parents
    span_ext
    trace_state_propagation
}
