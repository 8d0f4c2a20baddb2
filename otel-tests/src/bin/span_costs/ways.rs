//! The ways of spans to a collector.

use std::borrow::Cow;
use std::time::Duration;

use fastrace_opentelemetry::OpenTelemetryReporter;
use opentelemetry::InstrumentationScope;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider};
use tach_pipeline::{
    Builder, Durations, FlightRecorder, Otlp, Pipeline, Sampling, Signal, Sink, Tail,
};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// The names. `tach` is the pipeline of the page of a service, and the next ones are the same with
/// something more; others are named by what they leave out. `tach, a layer` is the pipeline as a
/// layer of a `Registry`.
pub(crate) const WAYS: [&str; 14] = [
    "tach",
    "registry",
    "tach, unsampled",
    "tach, a layer",
    "tach, tail",
    "tach, recorder",
    "tach, without records",
    "tach, spans alone",
    "tach, spans alone, unsampled",
    "tracing-opentelemetry",
    "leanest",
    "default, unsampled",
    "fastrace",
    "fastrace, unsampled",
];

/// The time after which the tail keeps a trace as slow: longer than any here.
const SLOW: Duration = Duration::from_secs(1);

/// The variable of the collector, which each process that installs a way needs.
pub(crate) const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

/// Ends the telemetry of a way.
pub(crate) type End = Box<dyn FnOnce()>;

/// Installs a way.
pub(crate) fn install(way: &str, endpoint: &str) -> End {
    match way {
        "tach, a layer" => {
            let guard = recommended().build().unwrap();
            tracing_subscriber::registry().with(guard.pipeline().clone()).init();
            Box::new(move || guard.pipeline().flush(Duration::from_secs(60)).unwrap())
        }
        _ if way.starts_with("tach") => {
            let builder = match way {
                "tach, without records" => only([Signal::Traces, Signal::Metrics], endpoint),
                "tach, spans alone" | "tach, spans alone, unsampled" => {
                    only([Signal::Traces], endpoint)
                }
                _ => recommended(),
            };
            let builder = match way {
                // No span is slow, and all are kept: the tail's whole work.
                "tach, tail" => builder.tail(Tail::ratio(1.0).slower_than(SLOW)),
                "tach, recorder" => builder.flight_recorder(FlightRecorder::new()),
                _ if way.ends_with("unsampled") => builder.sampling(Sampling::ratio(0.0)),
                _ => builder,
            };
            let pipeline = builder.init().unwrap();
            Box::new(move || pipeline.flush(Duration::from_secs(60)).unwrap())
        }
        "fastrace" | "fastrace, unsampled" => {
            let scope = InstrumentationScope::builder("bench").build();
            let resource = Cow::Owned(Resource::builder().build());
            let reporter = OpenTelemetryReporter::new(exporter(endpoint), resource, scope);
            fastrace::set_reporter(reporter, fastrace::collector::Config::default());
            Box::new(fastrace::flush)
        }
        "registry" => {
            tracing_subscriber::registry().with(tracing_subscriber::layer::Identity::new()).init();
            Box::new(|| {})
        }
        _ => {
            let builder = SdkTracerProvider::builder().with_batch_exporter(exporter(endpoint));
            let builder = match way {
                "default, unsampled" => builder.with_sampler(Sampler::AlwaysOff),
                _ => builder,
            };
            let provider = builder.build();
            let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("bench"));
            let layer = if way == "leanest" {
                layer
                    .with_location(false)
                    .with_threads(false)
                    .with_tracked_inactivity(false)
                    .with_target(false)
                    .with_context_activation(false)
            } else {
                layer
            };
            tracing_subscriber::registry().with(layer).init();
            Box::new(move || {
                let _lost = provider.shutdown();
            })
        }
    }
}

/// The pipeline of the page of a service: a test of xtask compares them. [`ENDPOINT`] names the
/// collector.
fn recommended() -> Builder {
    Pipeline::builder()
        .sink(Sink::otlp(Otlp::from_env()))
        .sink(Sink::stderr().filter("warn"))
        .durations(Durations::new().attribute("http.route"))
        .filter_from_env("RUST_LOG")
}

fn only<const N: usize>(signals: [Signal; N], endpoint: &str) -> Builder {
    Pipeline::builder().sink(Sink::otlp(Otlp::new().endpoint(endpoint).signals(signals)))
}

fn exporter(endpoint: &str) -> SpanExporter {
    let builder = SpanExporter::builder().with_http().with_protocol(Protocol::HttpBinary);
    builder.with_endpoint(format!("{endpoint}/v1/traces")).build().unwrap()
}
