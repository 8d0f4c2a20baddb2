//! The pipeline as the global subscriber of `tracing`.

use std::sync::OnceLock;

use tracing_core::subscriber::NoSubscriber;
use tracing_core::{Dispatch, callsite, dispatcher};

use crate::error::Error;
use crate::pipeline::{Pipeline, global};

/// The pipeline that was installed first.
static SUBSCRIBER: OnceLock<Pipeline> = OnceLock::new();

/// Installs the pipeline as the global subscriber.
pub(in crate::front) fn install(pipeline: &Pipeline) -> Result<(), Error> {
    let dispatch = Dispatch::new(pipeline.subscriber());
    global::install(&SUBSCRIBER, pipeline, || dispatcher::set_global_default(dispatch))
        .map_err(|_| Error::already_set("the global subscriber of tracing"))?;
    // In a forked child, the filter of the parent's pipeline is cached.
    filter_changed();
    Ok(())
}

/// Returns whether `tracing` may have a global subscriber. It had one, or one in a scope.
pub(in crate::front) fn may_be_set() -> bool {
    dispatcher::has_been_set()
}

/// Makes `tracing` ask again which callsites are enabled.
pub(in crate::front) fn filter_changed() {
    // If only one subscriber was ever alive at a time, tracing-core asks the calling thread's,
    // which is none where another thread has it in a scope: then it would enable no callsite. A
    // second one, however short it lives, makes it ask all.
    drop([(); 2].map(|()| Dispatch::new(NoSubscriber::new())));
    callsite::rebuild_interest_cache();
}
