//! The wrapper around providers, tracers and loggers.

use tach_core::{Clock, SystemClock};

use crate::Incoming;
use crate::clock_id::ClockId;

/// A provider, a tracer or a logger that takes its times from tach.
///
/// Around a `TracerProvider` it is one that gives wrapped tracers, which start `ClockedSpan`s; around a
/// `LoggerProvider` it is one that gives wrapped loggers.
///
/// # Guarantees
///
/// Every span is started with an explicit time, and every log record is made with both its times, the
/// same, so the wrapped ones have no need to read a clock. What they do otherwise (sampling, limits,
/// export) is unchanged.
///
/// A log record has the time at which it was made, which in an appender is that of the event: if a
/// [event time](tach_core::event_time) is pinned to the thread, the stamp's. It follows the wall clock, as lines of
/// text do; only spans keep to their trace's anchor. A time that is set later, by a caller, is kept.
///
/// # Cost
///
/// A span costs one read of tach's clock at its start, one for each event, and one at its end, in
/// place of as many of the OS's. For a time that is given, [`Incoming`] says what it costs. The start is
/// read also for a span that the sampler then drops, because the tracer samples and starts in one
/// call; such a span reads no clock after that. A log record costs one read. No allocation, no lock.
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
    /// Wraps a provider or a tracer; times that callers give are rebased.
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
    /// Takes times from `clock`, such as a [`ManualClock`](tach_core::ManualClock) in a test of what
    /// is exported.
    ///
    /// It holds for the tracers that are made, and the spans that are started, from now on.
    ///
    /// Times that are given, by callers or by OpenTelemetry itself, are still taken for the OS's wall
    /// clock's, as [`Incoming::Rebase`] does it by default: those of OpenTelemetry are. A time of
    /// `clock`'s own would be moved by as far as the two are apart: pass such times with
    /// [`Incoming::Keep`].
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

    /// Chooses what becomes of times that callers give.
    ///
    /// It holds for the tracers that are made, and the spans that are started, from now on.
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

    /// What is wrapped, for calls that only it has.
    ///
    /// # Examples
    ///
    /// ```
    /// use opentelemetry_sdk::trace::SdkTracerProvider;
    /// use tach_otel::Clocked;
    ///
    /// let provider = Clocked::new(SdkTracerProvider::default());
    /// provider.get_ref().shutdown().unwrap();
    /// ```
    #[must_use]
    pub fn get_ref(&self) -> &T {
        &self.inner
    }
}

impl<T, C: Clone> Clocked<T, C> {
    /// What the wrapped provider gave, wrapped alike.
    pub(crate) fn around<U>(&self, inner: U) -> Clocked<U, C> {
        Clocked {
            inner,
            incoming: self.incoming,
            clock: self.clock.clone(),
            clock_id: self.clock_id,
        }
    }
}
