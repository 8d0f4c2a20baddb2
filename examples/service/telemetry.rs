//! Telemetry, by either of two ways: the pipeline alone, or OpenTelemetry's SDK with tach's clock.

mod direct;
mod sdk;
mod span_lines;

use std::env;

use axum::http::HeaderMap;
use tach_pipeline::Pipeline;
use tracing::Span;

use crate::Failure;

const SERVICE_NAME: &str = "tach-example";

/// Which way spans go.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Road {
    Direct,
    Sdk,
}

impl Road {
    /// Makes the caller's span the parent of `span`, if the headers of the request name one.
    pub(crate) fn adopt(self, span: &Span, headers: &HeaderMap) {
        match self {
            Self::Direct => direct::adopt(span, headers),
            Self::Sdk => sdk::adopt(span, headers),
        }
    }

    /// Adds the headers that make `span` the parent of the next service's span.
    pub(crate) fn announce(self, span: &Span, headers: &mut HeaderMap) {
        match self {
            Self::Direct => direct::announce(span, headers),
            Self::Sdk => sdk::announce(span, headers),
        }
    }
}

/// Where spans and the events of tracing go. It is to be shut down before the process ends.
#[derive(Debug)]
pub(crate) enum Telemetry {
    Direct(Pipeline),
    Sdk(sdk::Providers),
}

impl Telemetry {
    /// Sends spans to `receiver`, if there is one, or else where the variables say.
    pub(crate) fn start(road: Road, receiver: Option<&str>) -> Result<Self, Failure> {
        match road {
            Road::Direct => direct::start(receiver).map(Self::Direct),
            Road::Sdk => sdk::start(receiver).map(Self::Sdk),
        }
    }

    pub(crate) fn shutdown(self) -> Result<(), Failure> {
        match self {
            Self::Direct(pipeline) => direct::shutdown(&pipeline),
            Self::Sdk(providers) => providers.shutdown(),
        }
    }
}

/// Returns whether a variable names the endpoint for spans, or logs. An empty variable counts as
/// unset, as in the exporters, which read the other `OTEL_*` variables.
pub(crate) fn is_exported(signal: &str) -> bool {
    let own = format!("OTEL_EXPORTER_OTLP_{signal}_ENDPOINT");
    ["OTEL_EXPORTER_OTLP_ENDPOINT", own.as_str()].into_iter().any(is_set)
}

fn is_set(variable: &str) -> bool {
    env::var_os(variable).is_some_and(|value| !value.is_empty())
}
