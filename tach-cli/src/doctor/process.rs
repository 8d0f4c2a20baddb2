//! Another process, as far as `/proc` shows the state of its clock.

use serde::Serialize;

use super::files::Files;

/// A process that the report is about.
///
/// It keeps its choice of a source in its own memory. So the report says which choice the files and
/// the variables lead to that the process sees. Its program may have chosen otherwise
/// (`tach_core::Config`), and its counter may have failed since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) name: Option<String>,
    /// `TACH_SOURCE` and `TACH_ORDER` of the environment that it was started with.
    pub(crate) tach_source: Option<String>,
    pub(crate) tach_order: Option<String>,
}

impl Process {
    pub(crate) fn new(pid: u32, files: &Files) -> Self {
        Self {
            pid,
            name: files.process_name(),
            tach_source: files.variable("TACH_SOURCE"),
            tach_order: files.variable("TACH_ORDER"),
        }
    }
}
