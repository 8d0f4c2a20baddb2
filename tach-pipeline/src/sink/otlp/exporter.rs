//! Sends records to a collector, as requests of OTLP over HTTP
//! (<https://opentelemetry.io/docs/specs/otlp/#otlphttp>).

use core::time::Duration;
use std::io::{self, Write as _};

use flate2::Compression;
use flate2::write::GzEncoder;
use tach_log::Value;

use super::client::{Answer, Client};
use super::pauses::Pauses;
use super::protobuf::{Field, bytes, split_field};
use super::scope::{self, field};
use crate::sink::refused::Refused;
use crate::thread;

/// The most characters of a collector's message.
const LONGEST_REASON: usize = 200;

/// A collector, and when it may be tried again.
pub(in crate::sink) struct Exporter {
    pub(super) client: Client,
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
        let outcome = match thread::silently(|| self.client.post(&request)) {
            Ok(answer) => judge(&answer),
            Err(error) => Err(Rejection::Later(error, None)),
        };
        match outcome {
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
        let mut of_resource = self.resource.clone();
        scope::merge(&mut of_resource, items);
        let mut request = Vec::with_capacity(of_resource.len() + 16);
        bytes(&mut request, field::OF_RESOURCE, &of_resource);
        if !self.compresses {
            return Ok(request);
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&request)?;
        encoder.finish()
    }
}

/// Why records were not accepted.
enum Rejection {
    /// They may be accepted later, after this pause if the collector names one.
    Later(io::Error, Option<Duration>),
    Never(Refused),
}

/// Returns whether the collector accepted the records.
fn judge(answer: &Answer) -> Result<(), Rejection> {
    match answer.status {
        200..300 => rejected(&answer.body).map_or(Ok(()), |refused| Err(Rejection::Never(refused))),
        429 | 502..=504 => {
            let error = io::Error::other(format!("the collector is busy: {}", reason(answer)));
            Err(Rejection::Later(error, answer.retry_after))
        }
        _ => Err(Rejection::Never(Refused { count: None, reason: reason(answer) })),
    }
}

/// Returns the refusal that an accepted request's answer holds, if it holds one
/// (`ExportLogsServiceResponse`).
fn rejected(body: &[u8]) -> Option<Refused> {
    let Field::Bytes(partial_success) = find(body, 1)? else { return None };
    let Some(Field::Number(count @ 1..)) = find(partial_success, 1) else { return None };
    let reason = match find(partial_success, 2) {
        Some(Field::Bytes(reason)) => String::from_utf8_lossy(reason).into_owned(),
        _ => String::new(),
    };
    Some(Refused { count: Some(count), reason: printable(&reason) })
}

/// Returns the last field of that number, which is the one that counts.
fn find(mut message: &[u8], number: u64) -> Option<Field<'_>> {
    let mut found = None;
    while let Some((field, value, rest)) = split_field(message) {
        if field == number {
            found = Some(value);
        }
        message = rest;
    }
    found
}

/// Returns the status and the message of an answer: a `Status` in protobuf, or a text.
fn reason(answer: &Answer) -> String {
    let message = match find(&answer.body, 2) {
        Some(Field::Bytes(message)) => message,
        _ => &answer.body,
    };
    let status = answer.status;
    match core::str::from_utf8(message).map(str::trim) {
        Ok(text) if !text.is_empty() => format!("HTTP {status}: {}", printable(text)),
        _ => format!("HTTP {status}"),
    }
}

/// Returns the beginning of a text on one line.
fn printable(text: &str) -> String {
    Value::Str(text).to_string().chars().take(LONGEST_REASON).collect()
}
