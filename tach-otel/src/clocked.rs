//! The wrapper around providers, tracers and loggers.

use tach_core::{Clock, SystemClock};

#[cfg(feature = "trace")]
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
/// # Examples
///
/// ```
/// # #[cfg(feature = "trace")] {
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
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Clocked<T, C = SystemClock> {
    pub(crate) inner: T,
    pub(crate) clock: C,
    #[cfg(feature = "trace")]
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
        Self {
            inner,
            clock: SystemClock,
            #[cfg(feature = "trace")]
            lines: Lines::of_system(),
        }
    }
}

impl<T, C> Clocked<T, C> {
    /// Uses `clock` instead of the system clock, such as a [`ManualClock`](tach_core::ManualClock)
    /// in a test. Tracers and spans that exist keep their clock.
    ///
    /// Times that callers give are still compared with the OS's wall clock, because OpenTelemetry
    /// reads its times from it. A given time that was read just now becomes this clock's current
    /// time. This holds for a [`SystemClock`] that is passed here too.
    ///
    /// The spans of the returned value, its clones and its tracers share a line, and no others do.
    /// What they share is never freed: a hundred bytes, and the table of 256 KiB if a span starts
    /// near a step. So call it once for a clock, not once for a request.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "trace")] {
    /// use std::sync::Arc;
    /// use std::time::Duration;
    ///
    /// use opentelemetry::trace::{Span, Tracer, TracerProvider};
    /// use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};
    /// use tach_core::{ManualClock, UnixTime};
    /// use tach_otel::Clocked;
    ///
    /// let exporter = InMemorySpanExporter::default();
    /// let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    /// let clock = Arc::new(ManualClock::new(UnixTime::EPOCH));
    /// let tracer = Clocked::new(provider).with_clock(clock.clone()).tracer("checkout");
    ///
    /// let mut span = tracer.start("pay");
    /// clock.advance(Duration::from_secs(5));
    /// span.end();
    /// let span = &exporter.get_finished_spans().unwrap()[0];
    /// assert_eq!(span.end_time, span.start_time + Duration::from_secs(5));
    /// # }
    /// ```
    #[must_use]
    pub fn with_clock<D: Clock>(self, clock: D) -> Clocked<T, D> {
        Clocked {
            inner: self.inner,
            #[cfg(feature = "trace")]
            lines: Lines::new(&clock),
            clock,
        }
    }
}

impl<T, C: Clone> Clocked<T, C> {
    /// Wraps a tracer or logger of the wrapped provider in the same way.
    pub(crate) fn around<U>(&self, inner: U) -> Clocked<U, C> {
        Clocked {
            inner,
            clock: self.clock.clone(),
            #[cfg(feature = "trace")]
            lines: self.lines,
        }
    }
}
