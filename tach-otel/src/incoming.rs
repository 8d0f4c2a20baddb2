//! The treatment of given times.

/// How a [`Clocked`](crate::Clocked) span treats a given time: the start and the events in a
/// `SpanBuilder`, and the arguments of `add_event_with_timestamp` and `end_with_timestamp`.
///
/// The caller is often OpenTelemetry itself, with a time that it has just read from the OS's wall
/// clock.
///
/// # Examples
///
/// ```
/// use opentelemetry_sdk::trace::SdkTracerProvider;
/// use tach_otel::{Clocked, Incoming};
///
/// let replaying = Clocked::new(SdkTracerProvider::default()).with_incoming(Incoming::Keep);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Incoming {
    /// Passes the time on unchanged: for spans whose times were measured elsewhere.
    ///
    /// # Guarantees
    ///
    /// The time is compared neither with the span's start nor with the current time.
    ///
    /// # Cost
    ///
    /// None for the time. A span's start reads tach's clock nevertheless, for its other times and
    /// its children.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "trace")] {
    /// use std::time::{Duration, UNIX_EPOCH};
    ///
    /// use opentelemetry::trace::{Span, Tracer, TracerProvider};
    /// use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};
    /// use tach_otel::{Clocked, Incoming};
    ///
    /// let exporter = InMemorySpanExporter::default();
    /// let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    /// let tracer = Clocked::new(provider).with_incoming(Incoming::Keep).tracer("replay");
    ///
    /// let end = UNIX_EPOCH + Duration::from_secs(7);
    /// tracer.start("old").end_with_timestamp(end);
    /// assert_eq!(exporter.get_finished_spans().unwrap()[0].end_time, end);
    /// # }
    /// ```
    Keep,

    /// Moves the time onto tach's timeline: subtracts its age by the OS's wall clock from tach's
    /// current time.
    ///
    /// # Guarantees
    ///
    /// - A span's end and events are not before its start.
    /// - No time is after the call that gives it. A time in the future becomes the current time.
    /// - If each time is read from the wall clock after the previous call, the times keep the order
    ///   of the calls, to the resolution of the wall clock.
    ///
    /// *Not* promised: the age of a time that was read before the wall clock was set. If the thread
    /// is held up between the two clock reads, the time comes out younger.
    ///
    /// # Cost
    ///
    /// One read of the OS's clock and one of tach's, once for all times of a `SpanBuilder` and once
    /// for every other time.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "trace")] {
    /// use std::time::{Duration, SystemTime};
    ///
    /// use opentelemetry::trace::{Span, Tracer, TracerProvider};
    /// use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};
    /// use tach_otel::Clocked;
    ///
    /// let exporter = InMemorySpanExporter::default();
    /// let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    /// let tracer = Clocked::new(provider).tracer("checkout");
    ///
    /// let queued = SystemTime::now() - Duration::from_secs(60);
    /// tracer.span_builder("pay").with_start_time(queued).start(&tracer).end();
    /// let span = &exporter.get_finished_spans().unwrap()[0];
    /// assert!(span.end_time.duration_since(span.start_time).unwrap().as_secs() >= 60);
    /// # }
    /// ```
    #[default]
    Rebase,

    /// Replaces the time with tach's current time: for callers that always mean the present.
    ///
    /// tracing-opentelemetry is not such a caller. It may start a span some time after its
    /// `tracing::Span` was created, and gives the time of the creation.
    ///
    /// # Guarantees
    ///
    /// Those of a span without given times.
    ///
    /// # Cost
    ///
    /// One read of tach's clock.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "trace")] {
    /// use std::time::UNIX_EPOCH;
    ///
    /// use opentelemetry::trace::{Span, Tracer, TracerProvider};
    /// use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};
    /// use tach_otel::{Clocked, Incoming};
    ///
    /// let exporter = InMemorySpanExporter::default();
    /// let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    /// let tracer = Clocked::new(provider).with_incoming(Incoming::Restamp).tracer("checkout");
    ///
    /// tracer.span_builder("pay").with_start_time(UNIX_EPOCH).start(&tracer).end();
    /// assert!(exporter.get_finished_spans().unwrap()[0].start_time > UNIX_EPOCH);
    /// # }
    /// ```
    Restamp,
}
