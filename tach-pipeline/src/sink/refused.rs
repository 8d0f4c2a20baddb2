//! Records that the receiver of a log refuses for good.

use core::error::Error;
use core::fmt;
use std::io;

/// The inner error of an [`io::Error`] after which the same records must not be sent again.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) which: Which,
    pub(super) reason: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    All,
    /// This many of the records. It is not known which.
    Some(u64),
    /// The request as a whole. Some of its records may be accepted in a smaller request.
    Whole,
}

impl Refused {
    pub(super) fn into_error(self) -> io::Error {
        io::Error::other(self)
    }

    pub(super) fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl Error for Refused {}
