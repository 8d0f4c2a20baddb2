//! gRPC's status codes (<https://github.com/grpc/grpc/blob/master/doc/statuscodes.md>).

use http::{HeaderMap, HeaderName, StatusCode};

const STATUS: HeaderName = HeaderName::from_static("grpc-status");

/// Returns the full name of a method, which a request's path has after the slash.
pub(crate) fn rpc_method(path: &str) -> &str {
    path.strip_prefix('/').unwrap_or(path)
}

/// Returns the name of the status code in headers or trailers. A code that gRPC does not define is
/// `UNKNOWN`.
pub(crate) fn status(headers: &HeaderMap) -> Option<&'static str> {
    const NAMES: &str = "OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND \
        ALREADY_EXISTS PERMISSION_DENIED RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED \
        OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED";
    let code = headers.get(STATUS)?.to_str().ok().and_then(|code| code.parse::<usize>().ok());
    Some(code.and_then(|code| NAMES.split(' ').nth(code)).unwrap_or(UNKNOWN))
}

/// Returns the name of the status code for a response without one. `None` for 200, whose trailers
/// may have one (`http-grpc-status-mapping.md`).
pub(crate) fn of_http(status: StatusCode) -> Option<&'static str> {
    Some(match status.as_u16() {
        200 => return None,
        400 => "INTERNAL",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => UNIMPLEMENTED,
        429 | 502..=504 => UNAVAILABLE,
        _ => UNKNOWN,
    })
}

pub(crate) const UNKNOWN: &str = "UNKNOWN";
pub(crate) const DEADLINE_EXCEEDED: &str = "DEADLINE_EXCEEDED";
pub(crate) const UNAVAILABLE: &str = "UNAVAILABLE";
/// The caller went away, or the program dropped the response.
pub(crate) const CANCELLED: &str = "CANCELLED";
/// The server has no such method.
pub(crate) const UNIMPLEMENTED: &str = "UNIMPLEMENTED";

/// Returns whether the conventions count a status as an error of a server: the others are the
/// caller's.
pub(crate) fn is_server_error(status: &str) -> bool {
    ["UNKNOWN", "DEADLINE_EXCEEDED", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS"]
        .contains(&status)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_status_has_its_name() {
        let of = |code| status(&HeaderMap::from_iter([(STATUS, HeaderValue::from_static(code))]));
        assert_eq!(status(&HeaderMap::new()), None);
        for (code, name) in
            [("0", "OK"), ("4", "DEADLINE_EXCEEDED"), ("16", "UNAUTHENTICATED"), ("17", UNKNOWN)]
        {
            assert_eq!(of(code), Some(name));
        }
        assert_eq!((of("x"), of("-1")), (Some(UNKNOWN), Some(UNKNOWN)));
        assert!(is_server_error("UNIMPLEMENTED") && !is_server_error("CANCELLED"));
    }
}
