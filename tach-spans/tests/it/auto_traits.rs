//! Properties that the compiler derives, and that a change of a private field could take away.

use core::panic::{RefUnwindSafe, UnwindSafe};

use tach_spans::{callsites, durations, spans, trace};
use test_support::assert_implements;

assert_implements!(
    [Send + Sync + Unpin + UnwindSafe + RefUnwindSafe]
    tach_spans::Durations, tach_spans::Sampling, tach_spans::SpanDurations, tach_spans::Tail,
    tach_spans::TraceContext,
    durations::histogram::Histogram, durations::options::Durations,
    durations::snapshot::SpanDurations, durations::Collected, durations::Table,
    spans::kept::Kept, spans::open::End, spans::open::Spans, spans::slow::Slow, spans::span::Dropped,
    spans::span::LastValues<'_>, spans::status::Code,
    spans::status::Status, spans::tail::waiting::WaitingTraces, spans::tail::Tail,
    spans::traces::Traces, spans::trees::Trees,
    trace::current::Innermost, trace::layers::Keys, trace::layers::Layers,
    trace::sampling::Callers, trace::sampling::Sampling, trace::slots::Closing, trace::slots::Start,
    trace::slots::Number, trace::slots::Open, trace::w3c::TraceContext, trace::Contexts,
    trace::Begun, trace::Slot, trace::Started,
);

assert_implements!(
    [Send + Sync]
    callsites::whole::Whole, callsites::Callsite, spans::traces::Round<'_>,
);

assert_implements!(
    [Send]
    spans::span::Item<'_>, spans::span::Span<'_>,
);

#[cfg(feature = "opentelemetry")]
assert_implements!(
    [Send + Sync]
    trace::otel::started::Started, trace::otel::Foreign,
);

#[cfg(feature = "opentelemetry")]
assert_implements!([Unpin] trace::otel::Active);
