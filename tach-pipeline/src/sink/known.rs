//! What is known of an open sink, to compare another configuration with it.

use core::ops::Range;

use tach_sinks::adapter::KnownFile;

/// An open sink.
#[derive(Clone)]
#[allow(dead_code, reason = "only configurations from files are applied")]
pub(crate) struct Known {
    /// The indexes of its lanes.
    pub(crate) indexes: Range<usize>,
    pub(crate) name: String,
    /// The name of the receiver, which the sink's own name may replace.
    pub(crate) receiver: String,
    /// A hash of everything that the configuration file says about the sink, except for its filter.
    /// `None` if the program has added the sink.
    pub(crate) written: Option<u64>,
    /// The sink's key, if the sink is from a configuration file.
    pub(crate) place: Option<String>,
    /// Whether the sink takes only records.
    pub(crate) is_of_records: bool,
    pub(crate) file: Option<KnownFile>,
}
