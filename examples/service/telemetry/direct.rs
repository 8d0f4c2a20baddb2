//! Records and spans by the pipeline alone: no SDK, no runtime.
#![expect(clippy::print_stdout, reason = "the durations are the output without a collector")]

use core::time::Duration;

use tach_pipeline::{Durations, Guard, Otlp, Pipeline, Signal, Sink};

use super::{SERVICE_NAME, is_exported, is_set};
use crate::Failure;

/// The time in which a collector must have accepted the last spans.
const LAST_EXPORT: Duration = Duration::from_secs(5);

pub(super) fn start() -> Result<Guard, Failure> {
    let builder = Pipeline::builder()
        .filter_from_env("RUST_LOG")
        .sink(Sink::stderr())
        .durations(Durations::new());
    let signals = [("LOGS", Signal::Logs), ("TRACES", Signal::Traces)];
    let exported: Vec<_> = signals
        .into_iter()
        .filter(|(name, _)| is_exported(name))
        .map(|(_, signal)| signal)
        .collect();
    if exported.is_empty() {
        return Ok(builder.init()?);
    }
    // The standard `OTEL_*` variables name the collector.
    let mut otlp = Otlp::from_env().signals(exported);
    if !is_set("OTEL_SERVICE_NAME") {
        otlp = otlp.service_name(SERVICE_NAME);
    }
    Ok(builder.sink(Sink::otlp(otlp)).init()?)
}

/// Sends what is left, and prints how long the spans took.
pub(super) fn shutdown(pipeline: &Guard) -> Result<(), Failure> {
    let flushed = pipeline.flush(LAST_EXPORT);
    for spans in pipeline.durations() {
        println!(
            "{:<10} {:>4} spans, p50 {:.1?}, p99 {:.1?}, max {:.1?}",
            spans.name(),
            spans.count(),
            spans.quantile(0.5),
            spans.quantile(0.99),
            spans.max(),
        );
    }
    Ok(flushed?)
}
