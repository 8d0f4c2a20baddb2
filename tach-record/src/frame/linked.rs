//! Spans to which other spans refer.

use crate::ids::SpanContext;

/// A span to which another span refers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Linked {
    /// The ids of the other span.
    pub context: SpanContext,
    /// Where the other span is from.
    pub origin: Origin,
}

/// The origin of a span to which another span refers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Probably this process, but not this pipeline: another pipeline, or the SDK.
    Local,
    /// Another process.
    Remote,
    /// This pipeline. The span was open when the reference was made.
    Own,
}
