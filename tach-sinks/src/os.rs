//! What the operating system knows of streams.

#[cfg(unix)]
#[path = "os/unix.rs"]
mod platform;
#[cfg(not(unix))]
#[path = "os/elsewhere.rs"]
mod platform;

#[cfg(all(unix, feature = "syslog"))]
pub(crate) use self::platform::SYSLOG;
#[cfg(feature = "syslog")]
pub(crate) use self::platform::{Datagram, is_full, is_too_long};
pub(crate) use self::platform::{HAS_IDENTITIES, has_room, most_together, write};
pub use self::platform::{Stream, is_journal};
