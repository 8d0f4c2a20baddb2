//! OpenTelemetry's spans and log records, not exported, with its own clock and with tach's.

use core::hint::black_box;
use core::time::Duration;
use std::sync::LazyLock;

use opentelemetry::logs::{AnyValue, LogRecord, Logger, LoggerProvider, Severity};
use opentelemetry::trace::{Span as _, TraceContextExt, Tracer, TracerProvider};
use opentelemetry::{Context, InstrumentationScope};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::logs::{LogProcessor, SdkLogRecord, SdkLogger, SdkLoggerProvider};
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider, Span, SpanData, SpanProcessor};
use tach_otel::{Align, Clocked, EventTime};
use tracing_subscriber::layer::SubscriberExt;

use crate::{Group, Subject};

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
static CLOCKED: LazyLock<Clocked<SdkTracer>> =
    LazyLock::new(|| Clocked::new(provider(Discard)).tracer("benches"));
static ALIGNED: LazyLock<SdkTracer> =
    LazyLock::new(|| provider(Align::new(Discard)).tracer("benches"));

fn provider(processor: impl SpanProcessor + 'static) -> SdkTracerProvider {
    SdkTracerProvider::builder().with_span_processor(processor).build()
}

static PLAIN_LOGS: LazyLock<SdkLogger> = LazyLock::new(|| {
    SdkLoggerProvider::builder().with_log_processor(Discard).build().logger("benches")
});
static CLOCKED_LOGS: LazyLock<Clocked<SdkLogger>> = LazyLock::new(|| {
    Clocked::new(SdkLoggerProvider::builder().with_log_processor(Discard).build()).logger("benches")
});
static EVENT_TIME_LOGS: LazyLock<SdkLogger> = LazyLock::new(|| {
    let builder = SdkLoggerProvider::builder().with_log_processor(EventTime::new());
    builder.with_log_processor(Discard).build().logger("benches")
});

pub(crate) fn groups() -> Vec<Group> {
    vec![roots(), children(), events(), records(), layers()]
}

fn roots() -> Group {
    fn run(tracer: &impl Tracer, spans: u64) {
        let nothing = Context::new();
        for _ in 0..spans {
            tracer.start_with_context("work", black_box(&nothing)).end();
        }
    }
    Group {
        name: "OTel span, start and end",
        subjects: vec![
            Subject { name: "opentelemetry_sdk", run: |spans| run(&*PLAIN, spans) },
            Subject { name: "tach Clocked", run: |spans| run(&*CLOCKED, spans) },
            Subject { name: "tach Align", run: |spans| run(&*ALIGNED, spans) },
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
        name: "OTel span with a parent",
        subjects: vec![
            Subject { name: "opentelemetry_sdk", run: |spans| run(&*PLAIN, spans) },
            Subject { name: "tach Clocked", run: |spans| run(&*CLOCKED, spans) },
            Subject { name: "tach Align", run: |spans| run(&*ALIGNED, spans) },
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
        name: "OTel span with four events",
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
        name: "OTel log record",
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
                tracing::info_span!("work").in_scope(|| black_box(()));
            }
        });
    }
    Group {
        name: "tracing-opentelemetry span",
        subjects: vec![
            Subject { name: "opentelemetry_sdk", run: |spans| run(PLAIN.clone(), spans) },
            Subject { name: "tach Clocked", run: |spans| run(CLOCKED.clone(), spans) },
        ],
    }
}
