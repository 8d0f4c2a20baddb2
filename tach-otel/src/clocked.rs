//! The wrapper around providers, tracers and loggers.

use tach_core::{Clock, SystemClock};

use crate::lines::Lines;

/// A provider, tracer or logger that takes its times from tach.
///
/// Around a `TracerProvider` it provides wrapped tracers, which start `ClockedSpan`s. Around a
/// `LoggerProvider` it provides wrapped loggers.
///
/// # Guarantees
///
/// Every span starts with an explicit time, and every log record is created with both its times,
/// which are equal. The wrapped value reads no clock. Its sampling, limits and export are
/// unchanged. (The attribute of a span that was open during a step counts for its limit.)
///
/// A log record has the time of its creation or, if an [event time](tach_core::event_time) is
/// current on the thread, that time. It follows the wall clock, as lines of text do. A time that a
/// caller sets later replaces it. `ClockedSpan` has the guarantees of spans.
///
/// # Cost
///
/// A log record reads tach's clock once. `ClockedSpan` has the cost of spans. No allocation.
///
/// # What can go wrong
///
/// - A span costs more under tracing-opentelemetry: its layer reads the wall clock for every start,
///   event and end, also where no time would mean the present. Its `busy_ns` and `idle_ns` come
///   from `std::time::Instant`.
/// - That layer reads the clock when a span is created, and starts the span when it is entered. If
///   the clock is stepped in between and tach has noticed, the start is off by the step, as for a
///   spawned task that waits.
/// - The points of metrics, and an event that a `SpanProcessor` adds in `on_start`, have the wall
///   clock's time. So have the spans of a tracer that other code takes from a provider of its own.
///
/// # Examples
///
/// ```
/// use opentelemetry::trace::{Span, Tracer, TracerProvider};
/// use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};
/// use tach_otel::Clocked;
///
/// let exporter = InMemorySpanExporter::default();
/// let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
/// let tracer = Clocked::new(provider).tracer("checkout");
///
/// tracer.start("pay").end();
/// let spans = exporter.get_finished_spans().unwrap();
/// assert!(spans[0].start_time <= spans[0].end_time);
/// ```
///
/// The layer of tracing-opentelemetry takes a wrapped tracer, and an appender a wrapped provider:
///
/// ```
/// use opentelemetry::trace::TracerProvider;
/// use opentelemetry_appender_tracing::layer::OpenTelemetryTracingBridge;
/// use opentelemetry_sdk::logs::SdkLoggerProvider;
/// use opentelemetry_sdk::trace::SdkTracerProvider;
/// use tach_otel::Clocked;
/// use tracing_subscriber::layer::SubscriberExt;
///
/// let spans = SdkTracerProvider::builder().build();
/// let tracer = Clocked::new(spans.clone()).tracer("checkout");
/// let logs = SdkLoggerProvider::builder().build();
/// let subscriber = tracing_subscriber::registry()
///     .with(tracing_opentelemetry::layer().with_tracer(tracer))
///     .with(OpenTelemetryTracingBridge::new(&Clocked::new(logs.clone())));
/// # drop(subscriber);
/// # spans.shutdown().unwrap();
/// # logs.shutdown().unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct Clocked<T, C = SystemClock> {
    pub(crate) inner: T,
    pub(crate) clock: C,
    pub(crate) lines: Lines,
}

impl<T> Clocked<T> {
    /// Wraps a provider, a tracer or a logger.
    ///
    /// # Examples
    ///
    /// ```
    /// use opentelemetry_sdk::trace::SdkTracerProvider;
    /// use tach_otel::Clocked;
    ///
    /// let provider = Clocked::new(SdkTracerProvider::default());
    /// ```
    #[must_use]
    pub fn new(inner: T) -> Self {
        Self { inner, clock: SystemClock, lines: Lines::of_system() }
    }
}

impl<T, C> Clocked<T, C> {
    /// Uses `clock` instead of the system clock, such as a [`ManualClock`](tach_core::ManualClock)
    /// in a test. Tracers and spans that exist keep their clock.
    ///
    /// Times that callers give are still compared with the OS's wall clock, because OpenTelemetry
    /// reads its times from it. The [rule of given times](crate::ClockedSpan#given-times) says what
    /// becomes of them if this clock is apart from it.
    ///
    /// The spans of the returned value, its clones and its tracers share a line, and no others do.
    /// What they share, a hundred bytes, is never freed. So call it once for a clock, not once for
    /// a request.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use opentelemetry::trace::{Span, Tracer, TracerProvider};
    /// use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};
    /// use tach_core::{ManualClock, UnixTime};
    /// use tach_otel::Clocked;
    ///
    /// static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);
    ///
    /// let exporter = InMemorySpanExporter::default();
    /// let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    /// let tracer = Clocked::new(provider).with_clock(&CLOCK).tracer("checkout");
    ///
    /// let mut span = tracer.start("pay");
    /// CLOCK.advance(Duration::from_secs(5));
    /// span.end();
    /// let span = &exporter.get_finished_spans().unwrap()[0];
    /// assert_eq!(span.end_time, span.start_time + Duration::from_secs(5));
    /// ```
    #[must_use]
    pub fn with_clock<D: Clock + ?Sized>(self, clock: &'static D) -> Clocked<T, &'static D> {
        Clocked { inner: self.inner, lines: Lines::new(clock), clock }
    }

    /// Returns the wrapped value.
    ///
    /// # Examples
    ///
    /// ```
    /// use opentelemetry_sdk::trace::SdkTracerProvider;
    /// use tach_otel::Clocked;
    ///
    /// let provider = Clocked::new(SdkTracerProvider::default());
    /// provider.get_ref().force_flush().unwrap();
    /// ```
    #[must_use]
    pub const fn get_ref(&self) -> &T {
        &self.inner
    }
}

impl<T, C: Clone> Clocked<T, C> {
    /// Wraps a tracer or logger of the wrapped provider in the same way.
    pub(crate) fn around<U>(&self, inner: U) -> Clocked<U, C> {
        Clocked { inner, clock: self.clock.clone(), lines: self.lines }
    }
}
