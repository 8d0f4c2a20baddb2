//! Records and spans by the pipeline alone: no SDK, no runtime.
#![expect(clippy::print_stdout, reason = "the durations are the output without a collector")]

use core::time::Duration;

use tach_pipeline::{Durations, Otlp, Pipeline, Signal, Sink, SpanDurations};

use super::{SERVICE_NAME, is_exported, is_set};
use crate::Failure;

/// The time in which a collector must have accepted the last spans.
const LAST_EXPORT: Duration = Duration::from_secs(5);

pub(super) fn start(receiver: Option<&str>) -> Result<Pipeline, Failure> {
    let mut builder = Pipeline::builder()
        .filter_from_env("RUST_LOG")
        .sink(Sink::stderr())
        .durations(Durations::new().attribute("http.route"));
    if let Some(receiver) = receiver {
        let otlp = Otlp::new().endpoint(receiver).signals([Signal::Traces]);
        builder = builder.sink(Sink::otlp(otlp));
    }
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
pub(super) fn shutdown(pipeline: &Pipeline) -> Result<(), Failure> {
    let flushed = pipeline.flush(LAST_EXPORT);
    let line = |spans: SpanDurations| {
        let route: String = spans.attributes().map(|(_, route)| route).collect();
        format!(
            "{:<19} {route:<14} {:>3} spans, p50 {:.1?}, p99 {:.1?}, max {:.1?}",
            spans.name(),
            spans.count(),
            spans.quantile(0.5),
            spans.quantile(0.99),
            spans.max(),
        )
    };
    let mut lines: Vec<_> = pipeline.durations().into_iter().map(line).collect();
    lines.sort_unstable();
    println!("{}", lines.join("\n"));
    Ok(flushed?)
}
