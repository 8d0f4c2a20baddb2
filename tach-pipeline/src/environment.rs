//! The variables of the environment that can't be used.

use crate::error::Error;

/// The faults of the variables that a program asked for.
#[derive(Debug, Default)]
pub(crate) struct Environment {
    pub(crate) faults: Vec<Error>,
    /// Whether the faults fail the build.
    pub(crate) is_strict: bool,
    /// Whether the variables were read, by the process that this one was forked from.
    pub(crate) is_read: bool,
}
