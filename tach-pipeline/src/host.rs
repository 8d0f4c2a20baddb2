//! The surroundings of the process: its name, the standard streams, the mode of the files that it
//! creates.

#[cfg(unix)]
#[path = "host/unix.rs"]
pub(crate) mod platform;
#[cfg(not(unix))]
#[path = "host/elsewhere.rs"]
pub(crate) mod platform;
pub(crate) mod program;
pub(crate) mod terminal;
pub(crate) mod unlocked;

/// The mode of a new file, less the umask.
pub(crate) const FILE_MODE: u32 = 0o640;
