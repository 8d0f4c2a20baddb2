//! Records that the receiver of a log refuses for good.

use core::error::Error;
use core::fmt;
use std::io;

/// The reason of an [`io::Error`] after which the same records must not be sent again.
#[derive(Debug)]
pub(super) struct Refused {
    /// How many of the records were refused, if not all.
    pub(super) count: Option<u64>,
    pub(super) reason: String,
}

impl Refused {
    #[cfg(feature = "otlp")]
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
