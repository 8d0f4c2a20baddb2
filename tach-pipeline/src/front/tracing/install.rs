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
    // In a forked child, tracing has cached the filter of the parent's pipeline.
    filter_changed();
    Ok(())
}

/// Returns whether `tracing` may have a global subscriber: it has had one, globally or in a scope.
pub(in crate::front) fn may_be_set() -> bool {
    dispatcher::has_been_set()
}

/// Makes `tracing` ask again which callsites are enabled.
pub(in crate::front) fn filter_changed() {
    // If there was never more than one subscriber at a time, tracing-core asks only the subscriber
    // of the calling thread. If only another thread has one, in a scope, every callsite would be
    // disabled. A second subscriber, however short it lives, makes tracing-core ask all of them.
    drop([(); 2].map(|()| Dispatch::new(NoSubscriber::new())));
    callsite::rebuild_interest_cache();
}
