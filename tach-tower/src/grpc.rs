//! The protocols of gRPC, and their answers to a request whose budget is exhausted
//! (`PROTOCOL-HTTP2.md`, `PROTOCOL-WEB.md`).

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Extensions, HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};

use crate::exhausted::Exhausted;

const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
const DEADLINE_EXCEEDED: HeaderValue = HeaderValue::from_static("4");
/// A server that stops: clients try another one.
const UNAVAILABLE: HeaderValue = HeaderValue::from_static("14");
const GRPC: &str = "application/grpc";
const WEB: &str = "application/grpc-web";
const WEB_TEXT: &str = "application/grpc-web-text";

/// What the head of a response has.
pub(crate) type Head<'a> = (StatusCode, &'a HeaderMap, &'a Extensions);

/// What a request speaks. gRPC-Web is for browsers, over HTTP/1.1 as well. Its trailers are a part
/// of the body, so a body that is cut ends with an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP alone.
    Http,
    /// gRPC over HTTP/2.
    Grpc,
    /// gRPC-Web.
    Web,
    /// gRPC-Web in Base64.
    WebText,
}

impl Protocol {
    /// Returns the protocol of a request. gRPC's are all `POST`.
    #[inline]
    pub fn of(method: &Method, headers: &HeaderMap) -> Self {
        if method == Method::POST {
            Self::of_content(headers.get(CONTENT_TYPE))
        } else {
            Self::Http
        }
    }

    fn of_content(content_type: Option<&HeaderValue>) -> Self {
        let value = content_type.map_or(&[][..], HeaderValue::as_bytes);
        match value.split_at_checked(GRPC.len()) {
            Some((name, rest)) if name.eq_ignore_ascii_case(GRPC.as_bytes()) => {
                // A suffix such as `+proto` may follow, and parameters after a semicolon.
                match rest.split(|byte| b"+;".contains(byte)).next().unwrap_or_default() {
                    [] => Self::Grpc,
                    web if web.eq_ignore_ascii_case(b"-web") => Self::Web,
                    web if web.eq_ignore_ascii_case(b"-web-text") => Self::WebText,
                    _ => Self::Http,
                }
            }
            _ => Self::Http,
        }
    }

    #[inline]
    pub(crate) fn is_grpc(self) -> bool {
        self != Self::Http
    }

    /// Returns whether a response says that the time of its server is over. tonic's servers say
    /// `CANCELLED` then.
    #[inline]
    pub(crate) fn is_end(self, (status, headers, _): Head<'_>) -> bool {
        match self {
            Self::Http => status == StatusCode::GATEWAY_TIMEOUT,
            _ => headers.get(STATUS).is_some_and(|code| code == "4" || code == "1"),
        }
    }

    /// Returns whether a response says that its server failed: what a handler answers if its own
    /// call or query has failed. The answer of another layer is none of the handler's.
    #[inline]
    pub(crate) fn is_failure(self, (status, headers, extensions): Head<'_>) -> bool {
        let is_code =
            |code: &HeaderValue| matches!(code.as_bytes(), b"1" | b"2" | b"4" | b"13" | b"14");
        let has_code = || self.is_grpc() && headers.get(STATUS).is_some_and(is_code);
        (status.is_server_error() || has_code()) && extensions.get::<Exhausted>().is_none()
    }

    /// Returns a response without messages, whose headers are the trailers.
    pub(crate) fn response(self, error: &Exhausted) -> Response<Bytes> {
        let content = match self {
            Self::Http | Self::Grpc => GRPC,
            Self::Web => WEB,
            Self::WebText => WEB_TEXT,
        };
        let mut response = Response::new(Bytes::new());
        *response.headers_mut() = trailers(error);
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content));
        response
    }
}

pub(crate) fn trailers(error: &Exhausted) -> HeaderMap {
    let mut trailers = HeaderMap::with_capacity(3);
    trailers.insert(STATUS, if error.is_drain() { UNAVAILABLE } else { DEADLINE_EXCEEDED });
    // The message must be ASCII, so write `us` for `µs`. No other byte of it needs an encoding.
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
            ("application/grpc", Protocol::Grpc),
            ("application/grpc+proto", Protocol::Grpc),
            ("Application/gRPC;charset=x", Protocol::Grpc),
            ("application/grpcx", Protocol::Http),
            ("application/grpc-web", Protocol::Web),
            ("application/grpc-web+proto", Protocol::Web),
            ("application/grpc-web-text", Protocol::WebText),
            ("application/grpc-web-text+proto", Protocol::WebText),
            ("application/grpc-other", Protocol::Http),
            ("application/json", Protocol::Http),
            ("application/grp", Protocol::Http),
            ("", Protocol::Http),
        ];
        for (value, expected) in cases {
            let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(value))]);
            assert_eq!(Protocol::of(&Method::POST, &headers), expected, "{value}");
            assert_eq!(Protocol::of(&Method::GET, &headers), Protocol::Http);
        }
        assert_eq!(Protocol::of(&Method::POST, &HeaderMap::new()), Protocol::Http);
    }

    #[test]
    fn the_message_is_ascii() {
        let part = core::time::Duration::from_micros(5);
        let error = Exhausted::new(part, crate::exhausted::Spent::Before);
        let expected = "the time budget of 5us was spent before the call";
        assert_eq!(trailers(&error).get(MESSAGE).unwrap(), expected);
    }
}
