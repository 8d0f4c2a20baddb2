//! Properties that the compiler derives, and that a change of a private field could take away.

use core::panic::{RefUnwindSafe, UnwindSafe};

use tach_pipeline::{
    Builder, Error, Guard, Incident, JournalExport, Names, Pipeline, Rotation, Sink, SinkStats,
    Stats, SyncPolicy, Task, WhenFull, kind,
};
use test_support::assert_implements;

assert_implements!(
    [Send + Sync + Unpin + UnwindSafe + RefUnwindSafe]
    Pipeline, Guard, WhenFull, JournalExport, Names, Rotation, Stats, SinkStats, SyncPolicy, Task,
);
assert_implements!([Send + Sync + Unpin] Error, Incident<'_>);
assert_implements!(
    [Send + Sync + Unpin + UnwindSafe + RefUnwindSafe]
    tach_pipeline::testing::Captured, tach_pipeline::testing::CapturedRecord,
);

#[cfg(feature = "syslog")]
assert_implements!(
    [Send + Sync + Unpin + UnwindSafe + RefUnwindSafe]
    tach_pipeline::Facility, tach_pipeline::Syslog,
);

#[cfg(feature = "otlp")]
assert_implements!(
    [Send + Sync + Unpin + UnwindSafe + RefUnwindSafe]
    tach_pipeline::Otlp,
);

#[cfg(feature = "tracing")]
assert_implements!(
    [Send + Sync + Unpin + UnwindSafe + RefUnwindSafe]
    tach_pipeline::Durations, tach_pipeline::SpanDurations,
    tach_pipeline::FlightFormat, tach_pipeline::FlightRecorder,
);

#[cfg(feature = "otlp")]
assert_implements!(
    [Send + Sync + Unpin + UnwindSafe + RefUnwindSafe]
    tach_pipeline::Sampling, tach_pipeline::Tail, tach_pipeline::TraceContext,
);

#[cfg(feature = "opentelemetry")]
assert_implements!(
    [Send + Sync + Unpin + UnwindSafe + RefUnwindSafe]
    tach_pipeline::Tracer,
    tach_pipeline::TracerProvider,
);

// Writers and formats need not be `Sync`.
assert_implements!(
    [Send + Unpin]
    Sink, Sink<kind::File>, Sink<kind::Stream>, Sink<kind::OneFormat>, Builder,
    kind::Any, kind::Stream, kind::OneFormat,
);
assert_implements!([Send + Sync + Unpin + UnwindSafe + RefUnwindSafe] kind::File);

#[cfg(feature = "config")]
assert_implements!([Send + Unpin] tach_pipeline::Config);

#[test]
fn sizes() {
    // For tracing, a handle also contains how it finds its spans, and the address of the registry.
    let keys = if cfg!(feature = "tracing") { size_of::<(u32, u64, usize)>() } else { 0 };
    assert_eq!(size_of::<Pipeline>(), 2 * size_of::<usize>() + keys);
    assert_eq!(size_of::<JournalExport>(), 0);
}
