//! The names of this program and of its machine.

use std::env;
use std::path::Path;
use std::sync::OnceLock;

/// Returns the name of the program's file, as it was called.
pub(crate) fn name() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let path = env::args_os().next().unwrap_or_default();
        let name = Path::new(&path).file_name().unwrap_or_default().to_string_lossy();
        if name.is_empty() { "unknown".to_owned() } else { name.into_owned() }
    })
}

/// Returns the name of the machine, which is empty if it is not known.
#[cfg(feature = "syslog")]
pub(super) fn host_name() -> String {
    #[cfg(unix)]
    {
        rustix::system::uname().nodename().to_string_lossy().into_owned()
    }
    #[cfg(not(unix))]
    tach_core::adapter::variable("COMPUTERNAME")
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}
