//! gRPC's answer to a request whose budget is exhausted (`PROTOCOL-HTTP2.md`).

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Response};

use crate::exhausted::Exhausted;

const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
const DEADLINE_EXCEEDED: HeaderValue = HeaderValue::from_static("4");
const CONTENT: &[u8] = b"application/grpc";

/// Returns whether the content is gRPC's. gRPC-Web is another protocol, with trailers in the body.
pub(crate) fn is_content(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|value| is_grpc(value.as_bytes()))
}

/// Accepts a suffix such as `+proto`, and parameters after a semicolon.
fn is_grpc(content_type: &[u8]) -> bool {
    let Some((name, rest)) = content_type.split_at_checked(CONTENT.len()) else { return false };
    name.eq_ignore_ascii_case(CONTENT) && matches!(rest.first(), None | Some(b'+' | b';'))
}

/// Returns a response without messages.
pub(crate) fn response(error: &Exhausted) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    *response.headers_mut() = trailers(error);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    response
}

pub(crate) fn trailers(error: &Exhausted) -> HeaderMap {
    let mut trailers = HeaderMap::with_capacity(3);
    trailers.insert(STATUS, DEADLINE_EXCEEDED);
    // Percent-encoding would change no byte of the message, which is ASCII except for the `µ` of
    // microseconds.
    let message = error.to_string().replace('\u{b5}', "u");
    if let Ok(message) = HeaderValue::try_from(message) {
        trailers.insert(MESSAGE, message);
    }
    trailers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grpc_is_told_from_its_relatives() {
        let cases = [
            ("application/grpc", true),
            ("application/grpc+proto", true),
            ("Application/gRPC;charset=x", true),
            ("application/grpc-web", false),
            ("application/grpc-web+proto", false),
            ("application/json", false),
            ("application/grp", false),
            ("", false),
        ];
        for (value, expected) in cases {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(value));
            assert_eq!(is_content(&headers), expected, "{value}");
        }
        assert!(!is_content(&HeaderMap::new()));
    }

    #[test]
    fn the_message_is_ascii() {
        let budget = tach_core::Budget::new(core::time::Duration::from_micros(5));
        let error = Exhausted::new(&budget, None, crate::exhausted::Spent::Before);
        let expected = "the time budget of 5us was spent before the call";
        assert_eq!(trailers(&error).get(MESSAGE).unwrap(), expected);
    }
}
