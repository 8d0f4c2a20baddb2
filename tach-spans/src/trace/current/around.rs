//! How the thread entered the spans that it is in.

use super::ENTERED;
use crate::trace::key::Key;
use crate::trace::otel::active::Active;

/// Returns the id of the span that was current in `opentelemetry` when the thread entered its
/// innermost span of the pipeline, or zero.
#[inline]
pub fn seen(pipeline: u64) -> u64 {
    let seen = ENTERED.try_with(|entered| {
        let entered = entered.try_borrow().ok()?;
        let innermost = entered.iter().rfind(|one| one.is_recorded_by(pipeline));
        innermost.map(|one| one.active.seen)
    });
    seen.ok().flatten().unwrap_or(0)
}

/// Returns whether this is the innermost span that the thread is in, of all pipelines.
pub fn is_innermost(pipeline: u64, key: Key) -> bool {
    let is_it = ENTERED.try_with(|entered| {
        let entered = entered.try_borrow().ok()?;
        let innermost = entered.iter().rfind(|one| one.is_recorded());
        innermost.map(|one| one.is_recorded_by(pipeline) && one.key == key)
    });
    is_it.ok().flatten().unwrap_or(false)
}

/// Replaces the record of how the thread entered its innermost span, and returns the old record.
pub fn replace(active: Active) -> Option<Active> {
    let before = ENTERED.try_with(|entered| {
        let mut entered = entered.try_borrow_mut().ok()?;
        let innermost = entered.iter_mut().rfind(|one| one.is_recorded())?;
        Some(core::mem::replace(&mut innermost.active, active))
    });
    before.ok().flatten()
}

/// Returns whether the thread is in the span with this id, of any pipeline.
pub fn is_in(span: u64) -> bool {
    let is_in = ENTERED.try_with(|entered| {
        let entered = entered.try_borrow().ok()?;
        Some(entered.iter().any(|one| one.context().is_some_and(|it| it.span == span)))
    });
    is_in.ok().flatten().unwrap_or(false)
}
