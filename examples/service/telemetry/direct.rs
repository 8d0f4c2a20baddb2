//! Records and spans by the pipeline alone: no SDK, no runtime.
#![expect(clippy::print_stdout, reason = "the durations are the output without a collector")]

use core::time::Duration;

use tach_pipeline::{Durations, Guard, Otlp, Pipeline, Sink};

use super::{SERVICE_NAME, is_exported, is_set};
use crate::Failure;

/// The time in which a collector must have accepted the last spans.
const LAST_EXPORT: Duration = Duration::from_secs(5);

pub(super) fn start() -> Result<Guard, Failure> {
    let mut builder = Pipeline::builder()
        .filter_from_env("RUST_LOG")
        .sink(Sink::stderr())
        .durations(Durations::new());
    if is_exported("TRACES") {
        builder = builder.sink(Sink::otlp_spans(otlp()));
    }
    if is_exported("LOGS") {
        builder = builder.sink(Sink::otlp(otlp()));
    }
    Ok(builder.init()?)
}

/// Returns the collector that the standard `OTEL_*` variables name.
fn otlp() -> Otlp {
    let otlp = Otlp::from_env();
    if is_set("OTEL_SERVICE_NAME") { otlp } else { otlp.service_name(SERVICE_NAME) }
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
