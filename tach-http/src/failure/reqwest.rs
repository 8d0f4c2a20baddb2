//! Errors of reqwest.

use core::any::Any;
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

/// Returns an error of reqwest's, or of reqwest-middleware's.
pub(super) fn chain(error: &dyn Any) -> Option<AnyError<'_>> {
    #[cfg(feature = "reqwest-middleware")]
    if let Some(error) = error.downcast_ref() {
        return Some(inner(error));
    }
    error.downcast_ref::<reqwest::Error>().map(|error| error as _)
}

/// Returns the error that an error of reqwest-middleware's prints as.
#[cfg(feature = "reqwest-middleware")]
pub(super) fn inner(error: &reqwest_middleware::Error) -> AnyError<'_> {
    match error {
        reqwest_middleware::Error::Reqwest(error) => error,
        reqwest_middleware::Error::Middleware(error) => &**error,
    }
}
