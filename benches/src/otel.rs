//! OpenTelemetry's spans and log records, not exported, with its own clock and with tach's.

use core::hint::black_box;
use core::time::Duration;
use std::sync::LazyLock;

use opentelemetry::global::BoxedTracer;
use opentelemetry::logs::{AnyValue, LogRecord, Logger, LoggerProvider, Severity};
use opentelemetry::trace::{Span as _, TraceContextExt, Tracer, TracerProvider};
use opentelemetry::{Context, InstrumentationScope};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::logs::{LogProcessor, SdkLogRecord, SdkLogger, SdkLoggerProvider};
use opentelemetry_sdk::trace::{
    Sampler, SdkTracer, SdkTracerProvider, Span, SpanData, SpanProcessor,
};
use tach_otel::{Clocked, EventTime};
use tracing_subscriber::layer::SubscriberExt;

use crate::{Group, Subject};

/// A control, whose ratio is 1.000 without noise.
const AGAIN: &str = "opentelemetry_sdk again";

/// A processor that drops spans and log records.
#[derive(Debug)]
struct Discard;

impl SpanProcessor for Discard {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        black_box(span);
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

impl LogProcessor for Discard {
    fn emit(&self, record: &mut SdkLogRecord, _: &InstrumentationScope) {
        black_box(record);
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

static PLAIN: LazyLock<SdkTracer> = LazyLock::new(|| provider(Discard).tracer("benches"));
/// The same tracer, wrapped. The SDK counts a tracer's spans, so with several threads a span costs
/// up to a fifth more or less by where the allocator puts a tracer.
static CLOCKED: LazyLock<Clocked<SdkTracer>> = LazyLock::new(|| Clocked::new(PLAIN.clone()));

fn provider(processor: impl SpanProcessor + 'static) -> SdkTracerProvider {
    SdkTracerProvider::builder().with_span_processor(processor).build()
}

static PLAIN_LOGS: LazyLock<SdkLogger> = LazyLock::new(|| {
    SdkLoggerProvider::builder().with_log_processor(Discard).build().logger("benches")
});
static CLOCKED_LOGS: LazyLock<Clocked<SdkLogger>> =
    LazyLock::new(|| Clocked::new(PLAIN_LOGS.clone()));
static EVENT_TIME_LOGS: LazyLock<SdkLogger> = LazyLock::new(|| {
    let builder = SdkLoggerProvider::builder().with_log_processor(EventTime::default());
    builder.with_log_processor(Discard).build().logger("benches")
});

/// The tracers that `global::tracer` returns.
static GLOBAL_PLAIN: LazyLock<BoxedTracer> =
    LazyLock::new(|| BoxedTracer::new(Box::new(PLAIN.clone())));
static GLOBAL_CLOCKED: LazyLock<BoxedTracer> =
    LazyLock::new(|| BoxedTracer::new(Box::new(CLOCKED.clone())));
static UNSAMPLED: LazyLock<SdkTracer> = LazyLock::new(|| unsampled().tracer("benches"));
static UNSAMPLED_CLOCKED: LazyLock<Clocked<SdkTracer>> =
    LazyLock::new(|| Clocked::new(UNSAMPLED.clone()));

fn unsampled() -> SdkTracerProvider {
    let builder = SdkTracerProvider::builder().with_sampler(Sampler::AlwaysOff);
    builder.with_span_processor(Discard).build()
}

/// Returns the roads of services. `cargo xtask bench otel` runs those whose names contain "otel".
pub(crate) fn groups() -> Vec<Group> {
    vec![
        roots(),
        global(),
        pairs(),
        closures(),
        layers(),
        unsampled_pairs(),
        children(),
        events(),
        records(),
    ]
}

fn roots() -> Group {
    fn run(tracer: &impl Tracer, spans: u64) {
        let nothing = Context::new();
        for _ in 0..spans {
            tracer.start_with_context("work", black_box(&nothing)).end();
        }
    }
    Group {
        name: "otel: provider.tracer()",
        subjects: vec![
            Subject { name: "opentelemetry_sdk", run: |spans| run(&*PLAIN, spans) },
            Subject { name: AGAIN, run: |spans| run(&*PLAIN, spans) },
            Subject { name: "tach Clocked", run: |spans| run(&*CLOCKED, spans) },
        ],
    }
}

fn global() -> Group {
    fn run(tracer: &BoxedTracer, spans: u64) {
        for _ in 0..spans {
            tracer.start("work").end();
        }
    }
    Group {
        name: "otel: global::tracer()",
        subjects: vec![
            Subject { name: "opentelemetry_sdk", run: |spans| run(&GLOBAL_PLAIN, spans) },
            Subject { name: "tach Clocked", run: |spans| run(&GLOBAL_CLOCKED, spans) },
        ],
    }
}

/// Runs a root and a child, each in a context.
fn pair<T: Tracer<Span: Send + Sync + 'static>>(tracer: &T, pairs: u64) {
    for _ in 0..pairs {
        let root = tracer.start_with_context("root", black_box(&Context::new()));
        let root = Context::new().with_span(root);
        let child = root.with_span(tracer.start_with_context("child", &root));
        child.span().end();
        root.span().end();
    }
}

fn pairs() -> Group {
    Group {
        name: "otel: root and child, Context",
        subjects: vec![
            Subject { name: "opentelemetry_sdk", run: |pairs| pair(&*PLAIN, pairs) },
            Subject { name: AGAIN, run: |pairs| pair(&*PLAIN, pairs) },
            Subject { name: "tach Clocked", run: |pairs| pair(&*CLOCKED, pairs) },
        ],
    }
}

fn unsampled_pairs() -> Group {
    Group {
        name: "otel: sampled out, Context",
        subjects: vec![
            Subject { name: "opentelemetry_sdk", run: |pairs| pair(&*UNSAMPLED, pairs) },
            Subject { name: "tach Clocked", run: |pairs| pair(&*UNSAMPLED_CLOCKED, pairs) },
        ],
    }
}

fn closures() -> Group {
    fn run<T: Tracer<Span: Send + Sync + 'static>>(tracer: &T, pairs: u64) {
        for _ in 0..pairs {
            tracer.in_span("outer", |_| tracer.in_span("inner", drop));
        }
    }
    Group {
        name: "otel: in_span in in_span",
        subjects: vec![
            Subject { name: "opentelemetry_sdk", run: |pairs| run(&*PLAIN, pairs) },
            Subject { name: "tach Clocked", run: |pairs| run(&*CLOCKED, pairs) },
        ],
    }
}

fn children() -> Group {
    fn run<T: Tracer<Span: Send + Sync + 'static>>(tracer: &T, spans: u64) {
        let parent = Context::new().with_span(tracer.start_with_context("parent", &Context::new()));
        for _ in 0..spans {
            tracer.start_with_context("work", black_box(&parent)).end();
        }
    }
    Group {
        name: "otel: span with a parent",
        subjects: vec![
            Subject { name: "opentelemetry_sdk", run: |spans| run(&*PLAIN, spans) },
            Subject { name: "tach Clocked", run: |spans| run(&*CLOCKED, spans) },
        ],
    }
}

fn events() -> Group {
    fn run(tracer: &impl Tracer, spans: u64) {
        let nothing = Context::new();
        for _ in 0..spans {
            let mut span = tracer.start_with_context("work", black_box(&nothing));
            for _ in 0..4 {
                span.add_event("event", vec![]);
            }
            span.end();
        }
    }
    Group {
        name: "otel: span with four events",
        subjects: vec![
            Subject { name: "opentelemetry_sdk", run: |spans| run(&*PLAIN, spans) },
            Subject { name: "tach Clocked", run: |spans| run(&*CLOCKED, spans) },
        ],
    }
}

fn records() -> Group {
    fn run(logger: &impl Logger, records: u64) {
        for _ in 0..records {
            let mut record = logger.create_log_record();
            record.set_severity_number(Severity::Info);
            record.set_body(AnyValue::from("ready"));
            logger.emit(record);
        }
    }
    Group {
        name: "otel: log record",
        subjects: vec![
            Subject { name: "opentelemetry_sdk", run: |records| run(&*PLAIN_LOGS, records) },
            Subject { name: "tach Clocked", run: |records| run(&*CLOCKED_LOGS, records) },
            Subject { name: "tach EventTime", run: |records| run(&*EVENT_TIME_LOGS, records) },
        ],
    }
}

fn layers() -> Group {
    fn run<T>(tracer: T, spans: u64)
    where
        T: Tracer<Span: Send + Sync> + Send + Sync + 'static,
    {
        let layer = tracing_opentelemetry::layer().with_tracer(tracer);
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            for _ in 0..spans {
                tracing::info_span!("work").in_scope(|| tracing::info!("event"));
            }
        });
    }
    Group {
        name: "otel: tracing-opentelemetry",
        subjects: vec![
            Subject { name: "opentelemetry_sdk", run: |spans| run(PLAIN.clone(), spans) },
            Subject { name: "tach Clocked", run: |spans| run(CLOCKED.clone(), spans) },
        ],
    }
}
