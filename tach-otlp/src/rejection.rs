//! A collector's answer to a request: which items it refused, and why.

use core::time::Duration;
use std::io;

use crate::encode::protobuf::{Field, split_field};
use crate::secret::Secrets;

/// Why the items of a request were not accepted.
///
/// # Examples
///
/// ```
/// use std::thread;
/// use tach_otlp::{Exporter, Rejection, Signal};
///
/// /// Sends `items`, again and again until the collector accepts or refuses them.
/// fn send(exporter: &mut Exporter, items: &[u8]) -> Result<(), String> {
///     loop {
///         match exporter.send(Signal::Logs, items) {
///             Ok(()) => return Ok(()),
///             Err(Rejection::Later { .. }) => thread::sleep(exporter.pause(Signal::Logs)),
///             Err(Rejection::Whole { reason } | Rejection::Never { reason, .. }) => {
///                 return Err(reason);
///             }
///         }
///     }
/// }
/// ```
#[derive(Debug)]
pub enum Rejection {
    /// The same items may be accepted later: the collector can't be reached, or is busy.
    Later {
        /// The failure of the network, or the collector's own words.
        error: io::Error,
        /// The pause that the collector asks for. [`Exporter::pause`](crate::Exporter::pause)
        /// follows it.
        after: Option<Duration>,
    },
    /// The collector refused the request as a whole, for one of the items or for its length. A
    /// request with fewer of the items may be accepted.
    Whole {
        /// The collector's own words, as in [`Never`](Self::Never).
        reason: String,
    },
    /// The collector refused items for good, or warns. To send them again is useless.
    Never {
        /// The number of refused items. `None` if all of them were refused, or if the collector's
        /// number can't be read. With `Some(0)` the collector accepted all, and `reason` is its
        /// warning.
        count: Option<u64>,
        /// The collector's own words: printable, on one line, 200 characters at most.
        reason: String,
    },
}

impl Rejection {
    /// Creates the rejection of a request that did not reach the collector, or had no answer.
    pub(crate) fn failed(error: io::Error) -> Self {
        Self::Later { error, after: None }
    }

    /// Creates the rejection by a collector that is busy, and asks for a pause of `after`.
    pub(crate) fn busy(reason: &str, after: Option<Duration>) -> Self {
        // Some collectors ask for a pause of zero. They are busy nevertheless.
        let after = after.filter(|after| !after.is_zero());
        let asks = after.map_or_else(String::new, |after| format!("; it asks to wait {after:?}"));
        let error = io::Error::other(format!("the collector is busy: {reason}{asks}"));
        Self::Later { error, after }
    }

    pub(crate) fn never(reason: String) -> Self {
        Self::Never { count: None, reason }
    }
}

/// Reads the message in the answer to an accepted request, such as `ExportLogsServiceResponse`.
/// Fails if the message rejects items or has a warning.
pub(crate) fn accepted(message: &[u8], secrets: &Secrets) -> Result<(), Rejection> {
    let Some(Field::Bytes(partial_success)) = find(message, 1) else { return Ok(()) };
    let count = match find(partial_success, 1) {
        Some(Field::Number(count)) => Some(count),
        Some(_) => None,
        None => Some(0),
    };
    let reason = match find(partial_success, 2) {
        Some(Field::Bytes(reason)) => reason,
        _ => &[],
    };
    partial(count, &String::from_utf8_lossy(reason), secrets)
}

/// Like [`accepted`], for an answer in JSON.
pub(crate) fn accepted_json(answer: &str, secrets: &Secrets) -> Result<(), Rejection> {
    // Replace escaped quotation marks: `member` would take them for the end of a text.
    let answer = answer.replace("\\\"", "'");
    let counts = ["rejectedLogRecords", "rejectedSpans", "rejectedDataPoints"];
    let count = counts.iter().find_map(|key| member(&answer, key));
    let count = count.map_or(Some(0), |count| count.parse().ok());
    partial(count, member(&answer, "errorMessage").unwrap_or_default(), secrets)
}

/// `count` is `None` if the collector states a number that can't be read.
fn partial(count: Option<u64>, reason: &str, secrets: &Secrets) -> Result<(), Rejection> {
    if count == Some(0) && reason.is_empty() {
        return Ok(());
    }
    Err(Rejection::Never { count, reason: secrets.printable(reason) })
}

/// Returns the member of a JSON object with that name: a text, or a number, which may be in a text.
/// `null` stands for the default of a member, as in the JSON of protobuf.
fn member<'a>(object: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = object.split_once(&format!("\"{name}\""))?;
    let value = rest.trim_start().strip_prefix(':')?.trim_start();
    match value.strip_prefix('"') {
        Some(text) => text.split('"').next(),
        None => value.split([',', '}']).next().map(str::trim).filter(|value| *value != "null"),
    }
}

/// Returns the fields of a message.
pub(crate) fn fields(mut message: &[u8]) -> impl Iterator<Item = (u64, Field<'_>)> {
    core::iter::from_fn(move || {
        let (number, value, rest) = split_field(message)?;
        message = rest;
        Some((number, value))
    })
}

/// Returns the last field with that number: protobuf lets it override earlier ones.
pub(crate) fn find(message: &[u8], number: u64) -> Option<Field<'_>> {
    fields(message).filter(|(found, _)| *found == number).last().map(|(_, value)| value)
}
