//! The configuration that is in force, as far as another one is compared with it.

use core::any::Any;

use crate::sink::Patience;
use crate::sink::known::Known;

/// The configuration with which a pipeline was built, or that was applied last.
#[allow(dead_code, reason = "only configurations from files are applied")]
pub(crate) struct Applied {
    /// The keys of the file, with a number of each value.
    pub(crate) keys: Vec<(&'static str, u64)>,
    /// Whether a variable of the environment sets the filter.
    pub(crate) is_filter_of_env: bool,
    /// The keys whose values are hidden, whichever of their names a sink writes.
    pub(crate) redacted: Vec<String>,
    /// The default for sinks without a stall timeout.
    pub(crate) patience: Patience,
    pub(crate) record_bytes: usize,
    /// Whether the records outlive the process, by a file that has a place for each sink.
    pub(crate) survives: bool,
    pub(crate) sinks: Vec<Known>,
    /// The options for a forked child, whose type belongs to the module of the builder.
    pub(crate) options: Box<dyn Any + Send>,
}
