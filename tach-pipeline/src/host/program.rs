//! The names of this program and of its machine.

#[cfg(all(feature = "syslog", not(unix)))]
use tach_core::adapter;
pub(crate) use tach_core::adapter::program_name as name;

/// Returns the name of the machine, which is empty if it is not known.
#[cfg(feature = "syslog")]
pub(crate) fn host_name() -> String {
    #[cfg(unix)]
    {
        rustix::system::uname().nodename().to_string_lossy().into_owned()
    }
    #[cfg(not(unix))]
    adapter::variable("COMPUTERNAME")
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}
