//! The three kinds of telemetry.

/// The kind of telemetry in a request.
///
/// # Examples
///
/// ```
/// use tach_otlp::{Otlp, Signal};
///
/// let exporter = Otlp::new().exporter()?;
/// assert_eq!(exporter.endpoint(Signal::Logs), "http://localhost:4318/v1/logs");
/// # Ok::<(), tach_otlp::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Signal {
    /// Log records.
    Logs,
    /// Spans.
    Traces,
    /// Metrics.
    Metrics,
}

impl Signal {
    pub(crate) const ALL: [Self; 3] = [Self::Logs, Self::Traces, Self::Metrics];

    /// Returns the signal's place in [`ALL`](Self::ALL).
    pub(crate) const fn index(self) -> usize {
        match self {
            Self::Logs => 0,
            Self::Traces => 1,
            Self::Metrics => 2,
        }
    }

    /// Returns the path of requests over HTTP.
    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::Logs => "/v1/logs",
            Self::Traces => "/v1/traces",
            Self::Metrics => "/v1/metrics",
        }
    }

    /// Returns the path of a method of gRPC.
    pub(crate) const fn method(self) -> &'static str {
        match self {
            Self::Logs => "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
            Self::Traces => "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
            Self::Metrics => "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
        }
    }
}
