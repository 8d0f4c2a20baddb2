//! Why a round of the back end takes all records that were logged before it.

use crate::sink::unreported::Occasion;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    Flush,
    /// The last handle of the pipeline is dropped.
    PipelineEnds,
    ProcessEnds,
}

impl Cause {
    pub(super) const fn occasion(self) -> Occasion {
        match self {
            Self::Flush => Occasion::Flush,
            Self::PipelineEnds | Self::ProcessEnds => Occasion::End,
        }
    }
}
