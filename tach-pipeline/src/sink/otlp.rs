//! A collector of OpenTelemetry as a sink.

#[cfg(feature = "tracing")]
mod durations;
#[cfg(feature = "tracing")]
mod span;

use core::time::Duration;
use std::io;

#[cfg(feature = "tracing")]
use tach_otlp::adapter;
use tach_otlp::{Exporter, Otlp, Rejection, Signal};

#[cfg(feature = "tracing")]
pub(super) use self::durations::write_durations;
#[cfg(feature = "tracing")]
pub(crate) use self::span::write_span;
use crate::channel::thread;
#[cfg(feature = "tracing")]
use crate::durations::Temporality;
use crate::error::{Class, Error};
use crate::sink::refused::Refused;

/// Records of some seconds: a collector that is started again must not cost any.
pub(super) const BUFFER_BYTES: usize = 16 * 1024 * 1024;
/// The most bytes of records in a request. While a collector far away answers, records gather for
/// the next request. Some proxies refuse a body of more than 1 MiB.
pub(super) const MOST_BYTES: usize = 512 * 1024;

impl Error {
    /// An option of a collector, or a variable, can't be used.
    pub(crate) fn otlp(error: &tach_otlp::Error) -> Self {
        Self::other(Class::OPTION, error.to_string(), None)
    }
}

/// Returns how often metrics are sent, and which time they are about.
#[cfg(feature = "tracing")]
pub(super) fn of_metrics(options: &Otlp) -> (Duration, Temporality) {
    let (interval, temporality) = adapter::metrics(options);
    match temporality {
        tach_otlp::Temporality::Delta => (interval, Temporality::Delta),
        _ => (interval, Temporality::Cumulative),
    }
}

/// A collector that is sent one signal.
pub(super) struct Collector {
    exporter: Exporter,
    max_delay: Duration,
}

impl Collector {
    /// # Errors
    ///
    /// If an option can't be used.
    pub(super) fn open(options: &Otlp, signal: Signal) -> Result<Self, Error> {
        let exporter = options.exporter(signal).map_err(|error| Error::otlp(&error))?;
        // Metrics are sent at once: they were gathered on the back end.
        let max_delay =
            if signal == Signal::Metrics { Duration::ZERO } else { exporter.max_delay() };
        Ok(Self { exporter, max_delay })
    }

    /// Sends records, as the format writes them, and returns their length.
    ///
    /// # Errors
    ///
    /// If the collector can't be reached or asks for a later try. If it refuses records for good,
    /// the error is a [`Refused`].
    pub(super) fn send(&mut self, records: &[u8]) -> io::Result<usize> {
        match thread::silently(|| self.exporter.send(records)) {
            Ok(()) => Ok(records.len()),
            Err(Rejection::Later { error, .. }) => Err(error),
            Err(Rejection::Never { count, reason }) => Err(Refused { count, reason }.into_error()),
        }
    }

    /// Returns how long the collector must not be tried.
    pub(super) fn pause(&self) -> Duration {
        self.exporter.pause()
    }

    /// Returns the longest time to gather records.
    pub(super) fn max_delay(&self) -> Duration {
        self.max_delay
    }

    /// Returns how long the same records are sent again.
    pub(super) fn retry_for(&self) -> Duration {
        self.exporter.retry_for()
    }
}
