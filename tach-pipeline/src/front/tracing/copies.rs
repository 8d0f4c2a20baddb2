//! The copies that tracing's feature `log-always` makes of events, as records of `log`.

use core::ptr;
use std::sync::Arc;

use log::Record;
use tracing_core::{Dispatch, dispatcher};

use super::span_ext::pipeline_of;
use crate::frame::known_callsites;
use crate::pipeline::Pipeline;

/// Returns whether a record is the copy of an event that the pipeline has as the thread's
/// subscriber. Otherwise each event would be logged twice: that feature belongs to programs whose
/// subscriber takes no events.
///
/// Such a record has the texts of the callsite, at their addresses, and they don't count as static.
/// The macros of `log` pass static ones.
#[cold]
pub(in crate::front) fn is_copy(pipeline: &Pipeline, record: &Record<'_>) -> bool {
    let (None, Some(file), Some(line)) =
        (record.module_path_static(), record.file(), record.line())
    else {
        return false;
    };
    let is_subscriber = |subscriber: &Dispatch| {
        pipeline_of(subscriber).is_some_and(|it| Arc::ptr_eq(it.shared(), pipeline.shared()))
    };
    dispatcher::get_default(is_subscriber)
        && known_callsites().any(|metadata| {
            metadata.line() == Some(line)
                && metadata.file().is_some_and(|it| ptr::eq(it, file))
                && ptr::eq(metadata.target(), record.target())
        })
}
