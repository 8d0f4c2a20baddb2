//! The format of a dump.

use core::fmt;
use core::panic::{RefUnwindSafe, UnwindSafe};
use std::io;
use std::sync::Arc;

use crate::snapshot::Snapshot;

/// The format of a dump: trace events, or with the feature `otlp` OTLP.
///
/// # Examples
///
/// See `Pipeline::write_flight` of tach-pipeline.
#[derive(Clone)]
pub struct FlightFormat {
    /// The end of the names of files in this format.
    pub(crate) extension: &'static str,
    pub(crate) write: Arc<Write>,
    /// Values of environment variables that the format can't use.
    pub(crate) ignored: Vec<String>,
}

/// A function that writes a dump. It fails if the writer fails.
pub(crate) type Write = dyn Fn(&Snapshot, &mut dyn io::Write) -> io::Result<()>
    + Send
    + Sync
    + UnwindSafe
    + RefUnwindSafe;

impl FlightFormat {
    /// Writes a dump.
    ///
    /// # Errors
    ///
    /// If `to` fails.
    #[doc(hidden)]
    pub fn write(&self, snapshot: &Snapshot, to: &mut dyn io::Write) -> io::Result<()> {
        (self.write)(snapshot, to)
    }
}

impl fmt::Debug for FlightFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FlightFormat").field(&self.extension).finish()
    }
}
