//! Methods of HTTP, as the conventions name them.

use std::sync::LazyLock;

use http::{Method, Version};
use tach_core::adapter::variable;

/// Replaces a method that is not known, since a caller can choose any name.
pub(crate) const OTHER: &str = "_OTHER";
/// The methods of RFC 9110, RFC 5789 and QUERY's draft.
const BY_DEFAULT: &str = "GET,POST,PUT,DELETE,PATCH,HEAD,OPTIONS,CONNECT,TRACE,QUERY";

static KNOWN: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let own = variable("OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS").unwrap_or_default();
    let own = own.into_string().ok().filter(|own| !own.is_empty());
    own.map_or(BY_DEFAULT, |own| own.leak()).split(',').map(str::trim).collect()
});

/// Returns the method if it is known, or [`OTHER`].
#[inline]
pub(crate) fn known(method: &Method) -> &'static str {
    KNOWN.iter().copied().find(|known| *known == method.as_str()).unwrap_or(OTHER)
}

/// Returns the method as the conventions have it in the name of a span.
pub(crate) fn in_name(known: &'static str) -> &'static str {
    if known == OTHER { "HTTP" } else { known }
}

/// Returns the version of HTTP, as the conventions write it.
pub(crate) fn version(version: Version) -> &'static str {
    match version {
        Version::HTTP_09 => "0.9",
        Version::HTTP_10 => "1.0",
        Version::HTTP_2 => "2",
        Version::HTTP_3 => "3",
        _ => "1.1",
    }
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

    #[test]
    fn versions_are_written_by_the_conventions() {
        use Version as V;
        let all = [V::HTTP_09, V::HTTP_10, V::HTTP_11, V::HTTP_2, V::HTTP_3];
        assert_eq!(all.map(version), ["0.9", "1.0", "1.1", "2", "3"]);
    }
}
