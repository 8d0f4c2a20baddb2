//! The copies that tracing's feature `log-always` makes of events, as records of `log`.

use core::cell::Cell;
use std::sync::Arc;

use log::Record;
use tracing_core::{Dispatch, Metadata, dispatcher};

use super::span_ext::pipeline_of;
use crate::callsites::known_callsites;
use crate::pipeline::Pipeline;

/// The addresses of a callsite's file and target, and its line.
type Site = (usize, usize, u32);

thread_local! {
    /// The thread's last event whose callsite has no number, or that was over the rate limit.
    static LAST: Cell<Option<Site>> = const { Cell::new(None) };
}

fn site(file: Option<&str>, target: &str, line: Option<u32>) -> Option<Site> {
    Some((file?.as_ptr().addr(), target.as_ptr().addr(), line?))
}

fn site_of(metadata: &Metadata<'_>) -> Option<Site> {
    site(metadata.file(), metadata.target(), metadata.line())
}

/// Notes an event that is not among the [known callsites](known_callsites). Its copy comes next.
#[cold]
pub(super) fn note(metadata: &Metadata<'_>) {
    LAST.set(site_of(metadata));
}

/// Returns whether a record is the copy of an event that the pipeline received as the thread's
/// subscriber. Otherwise each event would be logged twice: that feature is for programs whose
/// subscriber takes no events.
///
/// A copy has the texts of the callsite, at the same addresses, but not as static texts. The macros
/// of `log` pass static texts.
#[cold]
pub(in crate::front) fn is_copy(pipeline: &Pipeline, record: &Record<'_>) -> bool {
    let site = site(record.file(), record.target(), record.line());
    if record.module_path_static().is_some() || site.is_none() {
        return false;
    }
    let is_subscriber = |subscriber: &Dispatch| {
        pipeline_of(subscriber).is_some_and(|it| Arc::ptr_eq(it.shared(), pipeline.shared()))
    };
    dispatcher::get_default(is_subscriber)
        && (LAST.get() == site || known_callsites().any(|metadata| site_of(metadata) == site))
}
