//! For tach's own crates: receivers, and outputs that try again. Nothing here is stable.

pub use crate::batch::{BATCH, Batch, KEPT, Mark};
pub use crate::export::field;
pub use crate::failure::{Failure, Pauses};
pub use crate::faults::Faults;
pub use crate::log_file::{FILE_MODE, KnownFile, LogFile, Options, Target};
pub use crate::notes::{LANES, Named, Notes, OpenSink};
pub use crate::os::{Stream, is_journal};
pub use crate::output::Output;
pub use crate::owner::Owner;
pub use crate::receiver::Receiver;
pub use crate::rotation::Spawn;
pub use crate::standard::{Standard, to_stderr};

/// What a pipeline needs of a syslog daemon's options.
#[cfg(feature = "syslog")]
pub mod syslog {
    pub use crate::syslog::{Daemon, LONGEST, Messages};
}
