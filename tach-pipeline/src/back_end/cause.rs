//! Why a round of the back end takes all records that were logged before it.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    Flush,
    /// The last handle of the pipeline is dropped.
    PipelineEnds,
    ProcessEnds,
}
