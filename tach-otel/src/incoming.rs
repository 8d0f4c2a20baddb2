//! What becomes of times that a caller gives.

/// What a [`Clocked`](crate::Clocked) span does with a time that a caller gives.
///
/// That is a start time in a `SpanBuilder`, the times of events in it, and the arguments of
/// `add_event_with_timestamp` and `end_with_timestamp`. Callers are often OpenTelemetry itself: what
/// passes through `global::tracer`, a `Context` or tracing-opentelemetry comes with a time that was
/// read from the OS's wall clock just before.
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
    /// Passes the time on exactly as it is: for spans whose times were measured elsewhere.
    ///
    /// # Guarantees
    ///
    /// The time is not compared with the span's start, nor with now.
    ///
    /// # Cost
    ///
    /// No clock is read for the time. Tach's is read all the same when the span starts, for what of it,
    /// and of its children, is given no times.
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

    /// Moves the time onto tach's timeline: its age by the OS's wall clock is taken from tach's now.
    ///
    /// # Guarantees
    ///
    /// The end and the events of a span are not before its start, and none of its times is after the call
    /// that gives it: what lies ahead becomes now. A time that was read just before the call becomes one
    /// between that reading and now, to the grain of the OS's clock, so calls keep their order, to that grain,
    /// if each time is read after the call before it. *Not* promised: the age of a time that was taken before
    /// the wall clock was set, or the whole age if the thread is held up between the two reads: the time
    /// then comes out younger.
    ///
    /// # Cost
    ///
    /// One read of the OS's clock and one of tach's for every time, and once for all times of a
    /// `SpanBuilder` together.
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

    /// Replaces the time by tach's now: for callers that always mean the present.
    ///
    /// tracing-opentelemetry is not one of them. It starts a span some time after its
    /// `tracing::Span` was created, and gives the time of the creation.
    ///
    /// # Guarantees
    ///
    /// As for a span that is given no times.
    ///
    /// # Cost
    ///
    /// One read of tach's clock, as for a span that is given no times.
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
