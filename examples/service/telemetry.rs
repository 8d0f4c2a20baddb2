//! Telemetry, by either of two ways: the pipeline alone, or OpenTelemetry's SDK with tach's clock.

mod direct;
mod sdk;
mod span_lines;

use std::env;

use tach_http::{ClientSide, RequestLayer, ServerSide};
use tach_pipeline::Pipeline;

use crate::Failure;

const SERVICE_NAME: &str = "tach-example";

/// Which way spans go.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Road {
    Direct,
    Sdk,
}

impl Road {
    /// Returns the layer of the requests that the service answers.
    pub(crate) fn server(self) -> RequestLayer<ServerSide> {
        match self {
            Self::Direct => RequestLayer::server(),
            Self::Sdk => RequestLayer::server().extract(sdk::adopt),
        }
    }

    /// Returns the layer of the requests that the service sends.
    pub(crate) fn client(self) -> RequestLayer<ClientSide> {
        match self {
            Self::Direct => RequestLayer::client(),
            Self::Sdk => RequestLayer::client().inject(sdk::announce),
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
