//! A sink's receiver, before and after it is opened.

use std::sync::Arc;

use tach_sinks::adapter::Receiver;

use super::AnyFormat;
use super::content::Content;
use crate::error::Error;
use crate::faults::Faults;

/// A receiver that is not open yet.
pub(crate) trait Target: Send {
    /// Returns the name by which messages call the receiver.
    fn name(&self) -> String;

    /// Adds a fault for each option that can't work.
    fn check(&self, _faults: &mut Faults) {}

    /// Returns the variables of the environment that can't be used.
    fn ignored_variables(&self) -> Vec<Error> {
        Vec::new()
    }

    /// Returns whether the environment disables the receiver.
    fn is_disabled(&self) -> bool {
        false
    }

    /// Returns whether the program's options send spans. Variables of the environment may still
    /// exclude spans.
    #[cfg(feature = "tracing")]
    fn takes_spans(&self) -> bool {
        false
    }

    /// Returns whether spans are sampled as the environment says, unless the program says how.
    #[cfg(feature = "tracing")]
    fn is_sampled_by_env(&self) -> bool {
        false
    }

    /// Returns the receiver again, for a forked child: with the same options, and with nothing of
    /// what this process has opened.
    fn again(&self) -> Box<dyn Target>;

    /// Opens the receiver, for events in `format`.
    ///
    /// # Errors
    ///
    /// If it can't be opened.
    fn open(self: Box<Self>, format: Arc<AnyFormat>) -> Result<Vec<Lane>, Error>;
}

/// One kind of content, with the writer that sends it to an open receiver. A collector takes
/// several kinds of content and has a lane for each. All lanes of a receiver share one thread.
pub(crate) struct Lane {
    /// The name by which messages call the lane.
    pub(super) name: String,
    pub(super) content: Content,
    pub(super) writer: Box<dyn Receiver>,
}

impl Lane {
    /// Returns the only lane of a receiver of events.
    pub(super) fn events(
        name: String,
        format: Arc<AnyFormat>,
        writer: Box<dyn Receiver>,
    ) -> Vec<Self> {
        vec![Self { name, content: Content::events(format), writer }]
    }
}
