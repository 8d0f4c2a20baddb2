//! Writes a dump as a `TracesData` of OTLP, in protobuf
//! (<https://github.com/open-telemetry/opentelemetry-proto>, `trace.proto`).

use std::io;
use std::sync::Arc;

use tach_otlp::Otlp;
use tach_otlp::adapter::{self, SpanLimits, of_resource};
use tach_spans::otlp::write_span;

use crate::format::FlightFormat;
use crate::ring::Item;
use crate::snapshot::Snapshot;
use tach_record::frame::Frame;
use tach_spans::spans::span::Span;

/// After this many bytes of spans, a new `ResourceSpans` begins.
const WRITTEN: usize = 64 * 1024;

impl FlightFormat {
    /// OTLP's `TracesData` in protobuf, with the resource and the limits of `options`. It can be
    /// posted to a collector as it is, at `/v1/traces`.
    ///
    /// It has the spans, with the events within them. Other events are left out.
    ///
    /// The variables that `options` could not use are reported as for a sink, by a pipeline whose
    /// recorder writes files in this format. `Pipeline::write_flight` reports none: see
    /// [`Otlp::ignored_variables`].
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::{FlightFormat, Otlp};
    ///
    /// let format = FlightFormat::otlp(&Otlp::from_env());
    /// ```
    #[must_use]
    pub fn otlp(options: &Otlp) -> Self {
        let (resource, limits) = (adapter::resource(options), adapter::span_limits(options));
        let write = move |snapshot: &Snapshot, to: &mut dyn io::Write| {
            write(snapshot, &resource, &limits, to)
        };
        let ignored = options.ignored_variables().iter().map(ToString::to_string).collect();
        Self { extension: "otlp", write: Arc::new(write), ignored }
    }
}

/// Writes a dump: the spans with the events within them.
///
/// # Errors
///
/// If `to` fails.
fn write(
    snapshot: &Snapshot,
    resource: &[u8],
    limits: &SpanLimits,
    to: &mut dyn io::Write,
) -> io::Result<()> {
    // Collect the events within spans, sorted by their spans' ids and in order. Count them first: a
    // vector that grows takes up to three times as much memory.
    let within = || {
        snapshot.items().enumerate().filter_map(|(at, item)| match item {
            Item::Event(_, record) => Some((Frame::read(record)?.context()?.span, at, record)),
            Item::Span(_) => None,
        })
    };
    let mut events = Vec::with_capacity(within().count());
    events.extend(within());
    events.sort_unstable_by_key(|(span, at, _)| (*span, *at));
    let mut spans = Vec::new();
    let mut records = Vec::new();
    let mut request = Vec::new();
    let mut flush = |spans: &mut Vec<u8>, least: usize| {
        if spans.len() < least {
            return Ok(());
        }
        request.clear();
        of_resource(&mut request, resource, spans);
        spans.clear();
        to.write_all(&request)
    };
    for item in snapshot.items() {
        let Item::Span(stored) = item else { continue };
        let Some(span) = stored.span(&snapshot.redacted) else { continue };
        records.clear();
        records.extend_from_slice(span.records);
        let from = events.partition_point(|(id, ..)| *id < span.context.span);
        let own = events[from..].iter().take_while(|(id, ..)| *id == span.context.span);
        own.for_each(|(.., record)| records.extend_from_slice(record));
        // Count no event as dropped: the recorder keeps events separately, even those for which the
        // span had no room.
        let mut dropped = span.dropped;
        dropped.parts.events = 0;
        let whole = Span { records: &records, dropped, ..span };
        write_span(&mut spans, &whole, limits, &|_, _| true);
        flush(&mut spans, WRITTEN)?;
    }
    flush(&mut spans, 1)?;
    to.flush()
}
