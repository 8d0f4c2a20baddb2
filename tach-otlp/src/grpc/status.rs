//! The status of a gRPC answer (<https://opentelemetry.io/docs/specs/otlp/#otlpgrpc-response>).

use core::time::Duration;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use http::{HeaderMap, HeaderValue, StatusCode};
use percent_encoding::percent_decode;

use crate::advice::Advice;
use crate::encode::protobuf::Field;
use crate::rejection::{Rejection, accepted, fields, find};
use crate::secret::Secrets;

/// Accepts both forms that servers write: with and without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The names of the codes.
const CODES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

/// An item is invalid.
const INVALID_ARGUMENT: usize = 3;
/// A quota is used up or, with servers in Go, the message is too long.
const RESOURCE_EXHAUSTED: usize = 8;

/// The codes after which OTLP requires that the same records are sent again.
const RETRYABLE: [usize; 6] = [1, 4, 10, 11, 14, 15];

/// The end of the URL that names the type `RetryInfo`.
const RETRY_INFO: &[u8] = b"/google.rpc.RetryInfo";

/// Returns whether the collector accepted the records. `headers` are those before and after the
/// body.
pub(super) fn judge(
    http: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
    advice: &Advice,
) -> Result<(), Rejection> {
    let code = headers.get("grpc-status").and_then(|code| code.to_str().ok()?.parse().ok());
    let Some(code) = code else {
        // A proxy has answered in place of the server.
        let reason = format!("HTTP {} without a status of gRPC", http.as_u16());
        return Err(match http.as_u16() {
            429 | 502..=504 => Rejection::busy(&reason, None),
            _ => Rejection::never(reason + &advice.of_status(http, "")),
        });
    };
    if code == 0 {
        // Skip gRPC's prefix of the message: a flag and a length.
        return accepted(body.get(5..).unwrap_or_default(), &advice.secrets);
    }
    let asked = headers.get("grpc-status-details-bin").and_then(|it| retry_delay(it.as_bytes()));
    let message = headers.get("grpc-message").map(HeaderValue::as_bytes).unwrap_or_default();
    let reason = reason(code, message, &advice.secrets);
    if RETRYABLE.contains(&code) || code == RESOURCE_EXHAUSTED && asked.is_some() {
        // A delay of zero leaves the pause to the client.
        return Err(Rejection::busy(&reason, asked.filter(|delay| !delay.is_zero())));
    }
    Err(match code {
        INVALID_ARGUMENT | RESOURCE_EXHAUSTED => Rejection::Whole { reason },
        _ => Rejection::never(reason + &advice.of_code(code)),
    })
}

fn reason(code: usize, message: &[u8], secrets: &Secrets) -> String {
    let name = CODES.get(code).copied().unwrap_or("unknown");
    let message = secrets.printable(percent_decode(message).decode_utf8_lossy().trim());
    let colon = if message.is_empty() { "" } else { ": " };
    format!("gRPC {code} {name}{colon}{message}")
}

/// Returns the delay of the `RetryInfo` among the details of a `Status`.
fn retry_delay(details: &[u8]) -> Option<Duration> {
    let status = BASE64.decode(details).ok()?;
    let info = fields(&status).find_map(|(number, detail)| {
        let (3, Field::Bytes(detail)) = (number, detail) else { return None };
        match (find(detail, 1)?, find(detail, 2)) {
            (Field::Bytes(url), Some(Field::Bytes(value))) if url.ends_with(RETRY_INFO) => {
                Some(value.to_vec())
            }
            (Field::Bytes(url), None) if url.ends_with(RETRY_INFO) => Some(Vec::new()),
            _ => None,
        }
    })?;
    let Some(Field::Bytes(delay)) = find(&info, 1) else { return Some(Duration::ZERO) };
    let part = |number| match find(delay, number) {
        // A negative number of seconds is encoded as a very large number.
        Some(Field::Number(part)) => part.min(u64::from(u32::MAX)),
        _ => 0,
    };
    let nanos = part(2).min(999_999_999);
    Some(Duration::from_secs(part(1)) + Duration::from_nanos(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::protobuf::{bytes, message, number};

    fn details(url: &str, seconds: u64, nanos: u64) -> Vec<u8> {
        let mut status = Vec::new();
        number(&mut status, 1, 8);
        message(&mut status, 3, |any| bytes(any, 1, b"type.googleapis.com/other"));
        message(&mut status, 3, |any| {
            bytes(any, 1, url.as_bytes());
            message(any, 2, |info| {
                message(info, 1, |delay| {
                    number(delay, 1, seconds);
                    number(delay, 2, nanos);
                });
            });
        });
        status
    }

    fn headers(code: usize, status: Option<&[u8]>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert("grpc-status", code.into());
        headers.insert("grpc-message", "no%20room%0a".parse().unwrap());
        if let Some(status) = status {
            let text = BASE64.encode(status);
            headers.insert("grpc-status-details-bin", text.parse().unwrap());
        }
        headers
    }

    fn judged(http: StatusCode, headers: &HeaderMap, body: &[u8]) -> Result<(), Rejection> {
        judge(http, headers, body, &Advice::of_test(true))
    }

    const RETRY: &str = "type.googleapis.com/google.rpc.RetryInfo";

    #[test]
    fn the_codes_of_the_specification_are_retried() {
        for code in 0..20 {
            let verdict = judged(StatusCode::OK, &headers(code, None), b"");
            match code {
                0 => assert!(verdict.is_ok()),
                1 | 4 | 10 | 11 | 14 | 15 => {
                    assert!(matches!(verdict, Err(Rejection::Later { after: None, .. })), "{code}");
                }
                3 | 8 => {
                    let Err(Rejection::Whole { reason }) = verdict else { panic!("{code}") };
                    assert!(reason.contains("no room"), "{reason}");
                }
                _ => {
                    let Err(Rejection::Never { count, reason }) = verdict else { panic!("{code}") };
                    assert!(reason.contains("no room"), "{reason}");
                    assert_eq!(count, None);
                }
            }
        }
    }

    #[test]
    fn retry_info_has_a_full_collector_tried_again() {
        for (status, delay) in [
            (details(RETRY, 2, 500_000_000), Some(Duration::from_millis(2_500))),
            (details(RETRY, 0, 0), None),
            (details(RETRY, u64::MAX, u64::MAX), Some(Duration::new(u32::MAX.into(), 999_999_999))),
        ] {
            for code in [8, 14] {
                let verdict = judged(StatusCode::OK, &headers(code, Some(&status)), b"");
                let Err(Rejection::Later { after, .. }) = verdict else { panic!("{code}") };
                assert_eq!(after, delay);
            }
        }
        let other = details("type.googleapis.com/google.rpc.Help", 2, 0);
        let verdict = judged(StatusCode::OK, &headers(8, Some(&other)), b"");
        assert!(matches!(verdict, Err(Rejection::Whole { .. })));
        // The reader does not panic, wherever the message is cut off.
        let status = details(RETRY, 2, 0);
        for end in 0..status.len() {
            let _any = judged(StatusCode::OK, &headers(8, Some(&status[..end])), b"");
        }
    }

    #[test]
    fn an_answer_without_a_status_is_a_proxy_s() {
        for (http, is_retried) in [(404, false), (200, false), (429, true), (503, true)] {
            let http = StatusCode::from_u16(http).unwrap();
            let verdict = judged(http, &HeaderMap::new(), b"");
            assert_eq!(matches!(verdict, Err(Rejection::Later { .. })), is_retried, "{http}");
        }
    }
}
