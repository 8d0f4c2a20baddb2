//! The process's environment and its standard error.

use core::fmt;
use std::env;
use std::ffi::OsStr;
use std::io::{self, Write as _};

pub(crate) fn with_variable<R>(name: &str, f: impl FnOnce(Option<&str>) -> R) -> R {
    let value = env::var_os(name);
    f(value.as_deref().map(OsStr::to_string_lossy).as_deref())
}

/// Writes one line to standard error. Where that is closed, nobody can be told.
pub(crate) fn report(message: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr().lock(), "tach: {message}");
}
