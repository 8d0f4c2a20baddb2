//! The process's environment and its standard error.

use std::env;
use std::ffi::OsStr;
use std::io::{self, Write as _};

pub(crate) fn with_variable(name: &str, f: &mut dyn FnMut(Option<&str>)) {
    let value = env::var_os(name);
    f(value.as_deref().map(OsStr::to_string_lossy).as_deref());
}

/// Writes one line to standard error. If that is closed, the message is lost.
pub(crate) fn report(message: &str) {
    let _ = writeln!(io::stderr(), "tach: {message}");
}
