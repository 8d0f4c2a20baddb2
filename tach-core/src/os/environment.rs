//! The process's environment and its standard error.

use core::fmt;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::OnceLock;

use super::{MACHINE_NAME_BYTES, has_more_privileges_than_caller, machine_name};

/// The maximum length of the program's name, which becomes a part of file names.
const LONGEST_NAME: usize = 64;

/// Set once the program trusts whoever started it.
static TRUST: OnceLock<()> = OnceLock::new();

/// Lets variables be read although the process has privileges that its caller lacks.
pub(crate) fn trust_environment() {
    TRUST.get_or_init(|| ());
}

/// Returns whether variables may be read: whoever set them has the process's privileges, or has
/// the program's trust.
#[must_use]
pub fn is_environment_trusted() -> bool {
    TRUST.get().is_some() || !has_more_privileges_than_caller()
}

/// Returns the value of an environment variable, if it is set and may be read.
#[must_use]
pub fn variable(name: &str) -> Option<OsString> {
    if is_environment_trusted() { env::var_os(name) } else { None }
}

/// Returns the name by which the program was called. If the caller has fewer rights and could
/// choose that name, returns the name of the program's file.
#[must_use]
pub fn program_name() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let path = if has_more_privileges_than_caller() {
            env::current_exe().unwrap_or_default().into_os_string()
        } else {
            env::args_os().next().unwrap_or_default()
        };
        let name = Path::new(&path).file_name().unwrap_or_default().to_string_lossy();
        if name.is_empty() {
            return "unknown".to_owned();
        }
        let printable = |c: char| if c.is_control() { '_' } else { c };
        name.chars().take(LONGEST_NAME).map(printable).collect()
    })
}

/// Returns the name of the machine, which is empty if it is not known.
#[must_use]
pub fn host_name() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let mut name = [0; MACHINE_NAME_BYTES];
        machine_name(&mut name);
        match name.iter().position(|&byte| byte == 0) {
            None | Some(0) => variable("COMPUTERNAME").unwrap_or_default().to_string_lossy().into(),
            Some(end) => String::from_utf8_lossy(&name[..end]).into_owned(),
        }
    })
}

pub(crate) fn with_variable(name: &str, f: &mut dyn FnMut(Option<&str>)) {
    let value = variable(name);
    f(value.as_deref().map(OsStr::to_string_lossy).as_deref());
}

/// Writes the OS's text for its error of this number.
pub(crate) fn write_error(code: i32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{}", io::Error::from_raw_os_error(code))
}

/// Writes one line to standard error. If that is closed, the message is lost.
pub(crate) fn report(message: &str) {
    let mut stderr = io::stderr().lock();
    // `writeln!` would link the machinery that formats arguments into every program.
    for part in ["tach: ", message, "\n"] {
        let _ = stderr.write_all(part.as_bytes());
    }
}
