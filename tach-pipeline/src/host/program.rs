//! The names of this program and of its machine.

use std::env;
use std::path::Path;
use std::sync::OnceLock;

use tach_core::adapter;

/// The most characters of the name, which is in names of files.
const LONGEST: usize = 64;

/// Returns the name by which the program was called or, if the caller has fewer rights and could
/// choose it, the name of the program's file.
pub(crate) fn name() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let path = if adapter::has_more_privileges_than_caller() {
            env::current_exe().unwrap_or_default().into_os_string()
        } else {
            env::args_os().next().unwrap_or_default()
        };
        let name = Path::new(&path).file_name().unwrap_or_default().to_string_lossy();
        if name.is_empty() {
            return "unknown".to_owned();
        }
        let printable = |c: char| if c.is_control() { '_' } else { c };
        name.chars().take(LONGEST).map(printable).collect()
    })
}

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
