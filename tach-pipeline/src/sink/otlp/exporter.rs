//! Sends records to a collector, as requests of OTLP (<https://opentelemetry.io/docs/specs/otlp>).

use core::time::Duration;
use std::io::{self, Write as _};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::pauses::Pauses;
use super::scope;
use super::transport::Transport;
use super::verdict::Rejection;
use crate::channel::thread;

/// A collector, and when it may be tried again.
pub(in crate::sink) struct Exporter {
    pub(super) transport: Transport,
    /// The `Resource` of all records, as a field of `ResourceLogs`.
    pub(super) resource: Vec<u8>,
    pub(super) compresses: bool,
    pub(super) max_delay: Duration,
    pub(super) retries_for: Duration,
    pub(super) pauses: Pauses,
}

impl Exporter {
    /// Sends records: fields of `ResourceLogs`, as the format writes them. Returns their length.
    ///
    /// # Errors
    ///
    /// If the collector can't be reached or asks for a later try. If it refuses records for good,
    /// the error is a [`Refused`].
    pub(in crate::sink) fn export(&mut self, records: &[u8]) -> io::Result<usize> {
        let request = self.request(records)?;
        match thread::silently(|| self.transport.send(&request)) {
            Ok(()) => {
                self.pauses.end();
                Ok(records.len())
            }
            Err(Rejection::Later(error, asked)) => {
                self.pauses.failed(asked);
                Err(error)
            }
            Err(Rejection::Never(refused)) => {
                self.pauses.end();
                Err(refused.into_error())
            }
        }
    }

    /// Returns how long the collector must not be tried.
    pub(in crate::sink) fn pause(&self) -> Duration {
        self.pauses.left()
    }

    /// Returns the longest time to gather records.
    pub(in crate::sink) fn max_delay(&self) -> Duration {
        self.max_delay
    }

    /// Returns how long the same records are sent again.
    pub(in crate::sink) fn retries_for(&self) -> Duration {
        self.retries_for
    }

    /// Returns an `ExportLogsServiceRequest`, or that of traces or metrics, compressed if that is
    /// chosen.
    fn request(&self, items: &[u8]) -> io::Result<Vec<u8>> {
        let mut request = Vec::new();
        scope::of_resource(&mut request, &self.resource, items);
        if !self.compresses {
            return Ok(request);
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&request)?;
        encoder.finish()
    }
}
