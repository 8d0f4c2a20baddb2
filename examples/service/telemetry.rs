//! Telemetry, by either of two ways: the pipeline alone, or OpenTelemetry's SDK with tach's clock.

mod direct;
mod sdk;
mod span_lines;

use std::env;

use tach_pipeline::Guard;

use crate::Failure;

const SERVICE_NAME: &str = "tach-example";

/// Where spans and the events of tracing go. It is to be shut down before the process ends.
#[derive(Debug)]
pub(crate) enum Telemetry {
    Direct(Guard),
    Sdk(sdk::Providers),
}

impl Telemetry {
    pub(crate) fn start(uses_sdk: bool) -> Result<Self, Failure> {
        if uses_sdk { sdk::start().map(Self::Sdk) } else { direct::start().map(Self::Direct) }
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
fn is_exported(signal: &str) -> bool {
    let own = format!("OTEL_EXPORTER_OTLP_{signal}_ENDPOINT");
    ["OTEL_EXPORTER_OTLP_ENDPOINT", own.as_str()].into_iter().any(is_set)
}

fn is_set(variable: &str) -> bool {
    env::var_os(variable).is_some_and(|value| !value.is_empty())
}
