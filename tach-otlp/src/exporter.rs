//! Sends requests to a collector, one after another.

mod pauses;

use core::fmt;
use core::time::Duration;
use std::io::{self, Write as _};

use flate2::Compression;
use flate2::write::GzEncoder;

pub(crate) use self::pauses::Pauses;
use crate::encode;
use crate::error::Error;
use crate::rejection::Rejection;
use crate::signal::Signal;

/// A collector, with the time of the next try for each signal. Signals that have the same server,
/// certificates and proxy share a connection, which is kept.
///
/// # Examples
///
/// ```no_run
/// use tach_otlp::{Otlp, Signal};
///
/// let mut exporter = Otlp::new().exporter()?;
/// let spans = Vec::new(); // `ScopeSpans` in protobuf
/// exporter.send(Signal::Traces, &spans).unwrap();
/// # Ok::<(), tach_otlp::Error>(())
/// ```
pub struct Exporter {
    /// In the order of [`Signal::ALL`].
    pub(crate) lanes: [Lane; 3],
    /// The `Resource`, as a field of `ResourceLogs`, `ResourceSpans` or `ResourceMetrics`.
    pub(crate) resource: Vec<u8>,
    pub(crate) retry_for: Duration,
}

/// The client and the pauses for one signal.
pub(crate) struct Lane {
    pub(crate) transport: Transport,
    /// The address for messages.
    pub(crate) endpoint: String,
    pub(crate) compresses: bool,
    pub(crate) max_delay: Duration,
    pub(crate) pauses: Pauses,
}

/// A client of the collector.
pub(crate) trait Client: Send {
    /// Sends a request, and returns whether its items were accepted.
    fn send(&mut self, request: &[u8]) -> Result<(), Rejection>;
}

/// How the requests of a signal are sent.
pub(crate) enum Transport {
    Client(Box<dyn Client>),
    /// Rejects all items, since a variable of the environment can't be used. The service must not
    /// fail because of that, but must not send to a place that the variable would have excluded.
    Unusable(Error),
    /// The signal is not sent.
    Disabled,
}

impl Transport {
    fn send(&mut self, request: &[u8]) -> Result<(), Rejection> {
        match self {
            Self::Client(client) => client.send(request),
            // Reject for good: the variable will not change while the process runs.
            Self::Unusable(error) => Err(Rejection::never(error.to_string())),
            Self::Disabled => Ok(()),
        }
    }
}

impl Exporter {
    /// Sends one request, and waits for the collector's answer, at most for the
    /// [timeout](crate::Otlp::timeout).
    ///
    /// `items` are `ScopeLogs`, `ScopeSpans` or `ScopeMetrics` as fields of the signal's message:
    /// see [`encode::in_scope`]. Items of the same scope in a row are sent in one message.
    ///
    /// The call does not wait for the [pause](Self::pause) that a rejection begins.
    ///
    /// # Errors
    ///
    /// If the collector can't be reached or did not accept all items.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_otlp::{Otlp, Rejection, Signal};
    ///
    /// let otlp = Otlp::new().endpoint("http://localhost:1");
    /// let rejection = otlp.exporter()?.send(Signal::Logs, &[]).unwrap_err();
    /// assert!(matches!(rejection, Rejection::Later { .. }), "no collector listens there");
    /// # Ok::<(), tach_otlp::Error>(())
    /// ```
    pub fn send(&mut self, signal: Signal, items: &[u8]) -> Result<(), Rejection> {
        let Self { lanes, resource, .. } = self;
        let lane = &mut lanes[signal.index()];
        let sent = lane.request(resource, items).and_then(|request| lane.transport.send(&request));
        match &sent {
            Err(Rejection::Later { after, .. }) => lane.pauses.failed(*after),
            Ok(()) | Err(Rejection::Whole { .. } | Rejection::Never { .. }) => lane.pauses.end(),
        }
        sent
    }

    /// Returns how long the next request of a signal should wait: zero unless the last one was
    /// rejected for [`Later`](Rejection::Later). Pauses grow from 0.5 s to 5 s, with a random
    /// jitter of up to 50 %. A pause that the collector asks for is used instead, up to a minute.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_otlp::{Otlp, Signal};
    ///
    /// assert!(Otlp::new().exporter()?.pause(Signal::Logs).is_zero());
    /// # Ok::<(), tach_otlp::Error>(())
    /// ```
    #[must_use]
    pub fn pause(&self, signal: Signal) -> Duration {
        self.lanes[signal.index()].pauses.left()
    }

    /// Ends the [pause](Self::pause) of a signal, as an accepted request does. Call it if the items
    /// of the last request are known to be the reason of the rejection, so that other items need
    /// not wait.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_otlp::{Otlp, Signal};
    ///
    /// let mut exporter = Otlp::new().endpoint("http://localhost:1").exporter()?;
    /// exporter.send(Signal::Logs, &[]).unwrap_err();
    /// assert!(!exporter.pause(Signal::Logs).is_zero());
    /// exporter.end_pause(Signal::Logs);
    /// assert!(exporter.pause(Signal::Logs).is_zero());
    /// # Ok::<(), tach_otlp::Error>(())
    /// ```
    pub fn end_pause(&mut self, signal: Signal) {
        self.lanes[signal.index()].pauses.end();
    }

    /// Returns how long items may wait for others before they are sent:
    /// [`Otlp::max_delay`](crate::Otlp::max_delay), or
    /// [`Otlp::metric_interval`](crate::Otlp::metric_interval) for metrics.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_otlp::{Otlp, Signal};
    ///
    /// let exporter = Otlp::new().exporter()?;
    /// assert_eq!(exporter.max_delay(Signal::Metrics), Duration::from_secs(60));
    /// # Ok::<(), tach_otlp::Error>(())
    /// ```
    #[must_use]
    pub fn max_delay(&self, signal: Signal) -> Duration {
        self.lanes[signal.index()].max_delay
    }

    /// Returns how long the same items should be sent again:
    /// [`Otlp::retry_for`](crate::Otlp::retry_for).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let exporter = tach_otlp::Otlp::new().exporter()?;
    /// assert_eq!(exporter.retry_for(), Duration::from_secs(300));
    /// # Ok::<(), tach_otlp::Error>(())
    /// ```
    #[must_use]
    pub fn retry_for(&self) -> Duration {
        self.retry_for
    }

    /// Returns the address of a signal's requests for messages, without its query, which may be a
    /// secret.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_otlp::{Otlp, Signal};
    ///
    /// let exporter = Otlp::new().endpoint("http://collector:4318?key=secret").exporter()?;
    /// assert_eq!(exporter.endpoint(Signal::Logs), "http://collector:4318/v1/logs");
    /// # Ok::<(), tach_otlp::Error>(())
    /// ```
    #[must_use]
    pub fn endpoint(&self, signal: Signal) -> &str {
        &self.lanes[signal.index()].endpoint
    }

    #[cfg(test)]
    pub(crate) fn is_unusable(&self, signal: Signal) -> bool {
        matches!(self.lanes[signal.index()].transport, Transport::Unusable(_))
    }
}

impl Lane {
    /// Returns an `ExportLogsServiceRequest`, or the request for traces or metrics, compressed if
    /// the options say so.
    fn request(&self, resource: &[u8], items: &[u8]) -> Result<Vec<u8>, Rejection> {
        let mut request = Vec::new();
        encode::of_resource(&mut request, resource, items);
        if self.compresses { gzip(&request).map_err(Rejection::failed) } else { Ok(request) }
    }
}

fn gzip(request: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(request)?;
    encoder.finish()
}

/// The headers may be secrets, so only the addresses are printed.
impl fmt::Debug for Exporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let endpoints = self.lanes.each_ref().map(|lane| &lane.endpoint);
        f.debug_struct("Exporter").field("endpoints", &endpoints).finish_non_exhaustive()
    }
}
