//! An exporter that prints a line a span: start, duration, trace, name.

use core::future::{Future, ready};
use core::time::Duration;
use std::io::{self, Write as _};

use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use tach_core::UnixTime;

#[derive(Debug)]
pub(crate) struct SpanLines;

impl SpanExporter for SpanLines {
    fn export(&self, spans: Vec<SpanData>) -> impl Future<Output = OTelSdkResult> + Send {
        ready(print(&spans).map_err(|error| OTelSdkError::InternalFailure(error.to_string())))
    }
}

fn print(spans: &[SpanData]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for span in spans {
        let start = UnixTime::from_system_time(span.start_time);
        // The end of a clocked span is not before its start.
        let duration = span.end_time.duration_since(span.start_time).unwrap_or(Duration::ZERO);
        let trace = span.span_context.trace_id();
        writeln!(out, "{start:.6} {duration:>12.3?} {trace} {}", span.name)?;
    }
    out.flush()
}
