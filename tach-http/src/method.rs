//! Methods of HTTP, as the conventions name them.

use http::Method;

/// A method that is not one of HTTP's own: its name is the caller's choice.
pub(crate) const OTHER: &str = "_OTHER";

/// Returns the method of RFC 9110, RFC 5789 or of QUERY's draft, or [`OTHER`].
#[inline]
pub(crate) fn known(method: &Method) -> &'static str {
    const KNOWN: [&str; 10] =
        ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "CONNECT", "TRACE", "QUERY"];
    let method = method.as_str();
    KNOWN.into_iter().find(|&known| known == method).unwrap_or(OTHER)
}

/// Returns the method as the conventions have it in the name of a span.
pub(crate) fn in_name(known: &'static str) -> &'static str {
    if known == OTHER { "HTTP" } else { known }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_of_the_callers_is_no_name() {
        for (method, expected, name) in [
            ("GET", "GET", "GET"),
            ("TRACE", "TRACE", "TRACE"),
            ("QUERY", "QUERY", "QUERY"),
            ("get", OTHER, "HTTP"),
            ("PROPFIND", OTHER, "HTTP"),
        ] {
            let known = known(&Method::from_bytes(method.as_bytes()).unwrap());
            assert_eq!((known, in_name(known)), (expected, name));
        }
    }
}
