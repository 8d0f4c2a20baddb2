//! How the thread entered the spans that it is in.

use super::{ENTERED, find};
use crate::trace::Contexts;
use crate::trace::otel::Active;
use crate::trace::slots::Open;

/// Returns the id of the span that was current in `opentelemetry` when the thread entered its
/// innermost span of the pipeline, or zero.
#[inline]
pub fn seen(contexts: &Contexts) -> u64 {
    find(|one| contexts.get(one.span).map(|_| one.active.seen)).unwrap_or(0)
}

/// Returns whether this is the innermost span with ids that the thread is in, of all pipelines.
pub fn is_innermost(span: Open) -> bool {
    find(|one| one.span.flags().map(|_| one.span)).is_some_and(|innermost| innermost == span)
}

/// Replaces the record of how the thread entered its innermost span, and returns the old record.
pub fn replace(active: Active) -> Option<Active> {
    let before = ENTERED.try_with(|entered| {
        let mut entered = entered.try_borrow_mut().ok()?;
        let innermost = entered.iter_mut().rfind(|one| one.span.flags().is_some())?;
        Some(core::mem::replace(&mut innermost.active, active))
    });
    before.ok().flatten()
}

/// Returns whether the thread is in the span with this id, of any pipeline.
pub fn is_in(span: u64) -> bool {
    find(|one| one.span.context().filter(|it| it.span == span)).is_some()
}
