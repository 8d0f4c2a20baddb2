//! No environment variables and no standard error: `status()` is where the user looks.

use core::fmt;

use super::Request;

pub(crate) fn requested_source() -> Request {
    Request::parse(None)
}

pub(crate) fn report(_: fmt::Arguments<'_>) {}
