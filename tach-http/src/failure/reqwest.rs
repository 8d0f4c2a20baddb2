//! Errors of reqwest.

use core::any::Any;
use core::error::Error as _;
use core::iter::successors;

use super::BoxError;

/// Returns the type and the description of an error of reqwest's, whose own text has the URL with
/// its query.
pub(super) fn describe(
    error: &dyn Any,
    boxed: Option<&BoxError>,
) -> Option<(&'static str, String)> {
    let inner = || boxed.and_then(|boxed| boxed.downcast_ref());
    let own: &reqwest::Error = error.downcast_ref().or_else(inner)?;
    let kind = if own.is_timeout() {
        "timeout"
    } else if own.is_connect() {
        "connect"
    } else {
        "reqwest::Error"
    };
    let root = successors(own.source(), |&error| error.source()).last();
    Some((kind, root.map_or_else(String::new, ToString::to_string)))
}
