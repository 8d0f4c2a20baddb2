//! What an answer of the collector says about the records of a request.

use core::time::Duration;
use std::io;

use tach_log::Value;

use super::client::Answer;
use crate::protobuf::{Field, split_field};
use crate::sink::refused::Refused;

/// The most characters of a collector's message.
pub(super) const LONGEST_REASON: usize = 200;

/// Why records were not accepted.
pub(super) enum Rejection {
    /// They may be accepted later, after this pause if the collector names one.
    Later(io::Error, Option<Duration>),
    Never(Refused),
}

impl Rejection {
    /// A collector that has no time now.
    pub(super) fn busy(reason: &str, asked: Option<Duration>) -> Self {
        Self::Later(io::Error::other(format!("the collector is busy: {reason}")), asked)
    }

    pub(super) fn never(reason: String) -> Self {
        Self::Never(Refused { count: None, reason })
    }
}

/// Returns whether the collector accepted the records, by an answer of HTTP.
pub(super) fn judge(answer: &Answer) -> Result<(), Rejection> {
    match answer.status {
        200..300 => accepted(&answer.body),
        429 | 502..=504 => Err(Rejection::busy(&reason(answer), answer.retry_after)),
        _ => Err(Rejection::never(reason(answer))),
    }
}

/// Returns whether an accepted request's message, such as `ExportLogsServiceResponse`, rejects none
/// of the records.
pub(super) fn accepted(message: &[u8]) -> Result<(), Rejection> {
    let Some(Field::Bytes(partial_success)) = find(message, 1) else { return Ok(()) };
    let Some(Field::Number(count @ 1..)) = find(partial_success, 1) else { return Ok(()) };
    let reason = match find(partial_success, 2) {
        Some(Field::Bytes(reason)) => {
            // A character has up to four bytes.
            let beginning = &reason[..reason.len().min(4 * LONGEST_REASON)];
            String::from_utf8_lossy(beginning).into_owned()
        }
        _ => String::new(),
    };
    Err(Rejection::Never(Refused { count: Some(count), reason: printable(&reason) }))
}

/// Returns the fields of a message.
pub(super) fn fields(mut message: &[u8]) -> impl Iterator<Item = (u64, Field<'_>)> {
    core::iter::from_fn(move || {
        let (number, value, rest) = split_field(message)?;
        message = rest;
        Some((number, value))
    })
}

/// Returns the last field of that number, which is the one that counts.
pub(super) fn find(message: &[u8], number: u64) -> Option<Field<'_>> {
    fields(message).filter(|(found, _)| *found == number).last().map(|(_, value)| value)
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
pub(super) fn printable(text: &str) -> String {
    let beginning: String = text.chars().take(LONGEST_REASON).collect();
    Value::Str(&beginning).to_string().chars().take(LONGEST_REASON).collect()
}
