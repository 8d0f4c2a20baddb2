//! The pipeline of the page of a service, `tach-pipeline/docs/tasks/service.md`: a test of xtask
//! compares them.

use core::error::Error;

use tach_pipeline::{Durations, Otlp, Pipeline, Sink};

/// Installs the pipeline. The variables `OTEL_*` name the collector and the sampler.
pub(crate) fn install() -> Result<(), Box<dyn Error>> {
    let pipeline = Pipeline::builder()
        .sink(Sink::otlp(Otlp::from_env()))
        .sink(Sink::stderr().filter("warn"))
        .durations(Durations::new().attribute("http.route"))
        .filter_from_env("RUST_LOG")
        .init()?;
    pipeline.log_panics();
    Ok(())
}
