//! Steps the wall clock with libfaketime during one trace of the plain SDK and one of tach, exports
//! both to `OTEL_EXPORTER_OTLP_ENDPOINT`, and prints their ids.
//!
//! The argument is the file with libfaketime's offset.

use std::path::Path;
use std::{env, fs};

use opentelemetry::Context;
use opentelemetry::trace::{Span, TraceContextExt, TraceId, Tracer, TracerProvider};
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tach_otel::Clocked;

fn main() {
    let setting = env::args_os().nth(1).expect("the argument is libfaketime's file");
    let exporter = SpanExporter::builder().with_http().build().expect("the exporter can be made");
    let provider = SdkTracerProvider::builder().with_batch_exporter(exporter).build();
    println!("{}", stepped(&provider.tracer("plain"), setting.as_ref()));
    println!("{}", stepped(&Clocked::new(provider.clone()).tracer("clocked"), setting.as_ref()));
    provider.shutdown().expect("all is sent");
}

/// Creates a trace during which the wall clock is set back by an hour, and forward again.
fn stepped<T: Tracer<Span: Send + Sync + 'static>>(tracer: &T, setting: &Path) -> TraceId {
    let step = |to: &str| fs::write(setting, to).expect("the file can be written");
    let root = Context::new().with_span(tracer.start("root"));
    tracer.start_with_context("before", &root).end();
    let mut over = tracer.start_with_context("over", &root);
    step("-3600");
    over.end();
    tracer.start_with_context("after", &root).end();
    root.span().end();
    step("+0");
    root.span().span_context().trace_id()
}
