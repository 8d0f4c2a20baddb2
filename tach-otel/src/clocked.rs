//! The wrapper around providers, tracers and loggers.

use tach_core::{Clock, SystemClock};

use crate::Incoming;
use crate::clock_id::ClockId;

/// A provider, tracer or logger that takes its times from tach.
///
/// Around a `TracerProvider` it provides wrapped tracers, which start `ClockedSpan`s. Around a
/// `LoggerProvider` it provides wrapped loggers.
///
/// # Guarantees
///
/// Every span starts with an explicit time, and every log record is created with both its times,
/// which are equal. The wrapped value reads no clock. Its sampling, limits and export are
/// unchanged.
///
/// A log record has the time of its creation or, if an [event time](tach_core::event_time) is
/// current on the thread, that time. It follows the wall clock, as lines of text do. Only
/// spans follow their trace's anchor. A time that a caller sets later replaces it.
///
/// # Cost
///
/// A span reads tach's clock at its start, for each event and at its end. [`Incoming`] has the cost
/// of given times. A span that the sampler drops reads it at its start only. A log record reads it
/// once. No allocation, no lock.
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
    pub(crate) incoming: Incoming,
    pub(crate) clock: C,
    pub(crate) clock_id: ClockId,
}

impl<T> Clocked<T> {
    /// Wraps a provider, a tracer or a logger. Given times are [rebased](Incoming::Rebase).
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
        Self { inner, incoming: Incoming::default(), clock: SystemClock, clock_id: ClockId::SYSTEM }
    }
}

impl<T, C> Clocked<T, C> {
    /// Uses `clock` instead of the system clock, such as a [`ManualClock`](tach_core::ManualClock)
    /// in a test. Tracers and spans that exist keep their clock.
    ///
    /// [`Incoming::Rebase`] still takes given times for the OS's wall clock's, as OpenTelemetry's
    /// own are. Give times of `clock` with [`Incoming::Keep`].
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
        Clocked { inner: self.inner, incoming: self.incoming, clock, clock_id: ClockId::new() }
    }

    /// Sets the treatment of times that callers give. Tracers and spans that exist keep theirs.
    ///
    /// # Examples
    ///
    /// ```
    /// use opentelemetry_sdk::trace::SdkTracerProvider;
    /// use tach_otel::{Clocked, Incoming};
    ///
    /// let provider = Clocked::new(SdkTracerProvider::default()).with_incoming(Incoming::Keep);
    /// ```
    #[must_use]
    pub fn with_incoming(mut self, incoming: Incoming) -> Self {
        self.incoming = incoming;
        self
    }
}

impl<T, C: Clone> Clocked<T, C> {
    /// Wraps a tracer or logger of the wrapped provider in the same way.
    pub(crate) fn around<U>(&self, inner: U) -> Clocked<U, C> {
        Clocked {
            inner,
            incoming: self.incoming,
            clock: self.clock.clone(),
            clock_id: self.clock_id,
        }
    }
}
