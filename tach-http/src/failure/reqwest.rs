//! Errors of reqwest.

use core::error::Error as _;
use core::iter::successors;

use super::{AnyError, Known};

/// Returns the type of an error of reqwest's, whose own text has the URL with its query, and the
/// error at its root.
pub(super) fn known(error: AnyError<'_>) -> Option<Known<'_>> {
    let own: &reqwest::Error = error.downcast_ref()?;
    let kind = if own.is_timeout() {
        "timeout"
    } else if own.is_connect() {
        "connect"
    } else {
        "reqwest::Error"
    };
    let root = successors(own.source(), |&error| error.source()).last();
    Some((kind, root.filter(|root| !root.is::<reqwest::Error>())))
}
