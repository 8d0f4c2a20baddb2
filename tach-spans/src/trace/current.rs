//! The spans that the thread is in. To ask the registry would cost a look-up for each span.

#[cfg(feature = "opentelemetry")]
pub mod around;

use core::cell::RefCell;
use core::mem::{self, ManuallyDrop};

use super::key::Key;
use super::otel::active::Active;
use super::slots::Open;
use tach_record::ids::SpanContext;

thread_local! {
    /// Has no destructor, so an access needs no check: [`GUARD`] drops the spans. Without it, the
    /// list has no memory.
    static ENTERED: ManuallyDrop<RefCell<Vec<Entered>>> =
        const { ManuallyDrop::new(RefCell::new(Vec::new())) };
    static GUARD: Guard = const { Guard };
}

/// Drops the list when the thread ends.
struct Guard;

impl Drop for Guard {
    fn drop(&mut self) {
        let spans =
            ENTERED.try_with(|entered| entered.try_borrow_mut().map(|mut it| mem::take(&mut *it)));
        // Dropped after the list is released, since a context's destructors may be the user's code.
        drop(spans);
    }
}

/// No pipeline has this number.
const NONE: u64 = u64::MAX;

struct Entered {
    /// The pipeline that records the span, or [`NONE`].
    pipeline: u64,
    key: Key,
    span: Of,
    active: Active,
}

/// The subscriber of a span.
enum Of {
    /// The pipeline's own.
    Own(Open),
    /// Another one. The list has a copy of the ids.
    Another(SpanContext),
}

/// The innermost span that the thread is in, for the pipeline's own subscriber.
pub enum Innermost {
    /// The thread is in no span.
    None,
    /// The subscriber's span, which the pipeline records.
    Recorded(Open),
    /// Another span, so that the list must be searched.
    Other,
}

impl Entered {
    /// Returns whether a pipeline records the span.
    const fn is_recorded(&self) -> bool {
        self.pipeline != NONE
    }

    /// Returns whether the pipeline records the span.
    #[inline]
    const fn is_recorded_by(&self, pipeline: u64) -> bool {
        self.pipeline == pipeline
    }

    /// Returns whether it is a span of the subscriber that the pipeline records.
    #[inline]
    fn is_of(&self, pipeline: u64, subscriber: u32) -> bool {
        self.key.subscriber == subscriber && self.is_recorded_by(pipeline)
    }

    /// Returns the ids of the span, if a pipeline records it.
    #[inline]
    fn context(&self) -> Option<SpanContext> {
        match self.span {
            Of::Own(own) => own.context().filter(|_| self.is_recorded()),
            Of::Another(context) => Some(context),
        }
    }

    /// Returns the span, if it is one of the pipeline's own subscriber.
    #[inline]
    const fn own(&self) -> Option<Open> {
        match self.span {
            Of::Own(own) => Some(own),
            Of::Another(_) => None,
        }
    }

    /// Returns whether it is the span with that key. In a forked child, the own subscriber goes on
    /// with the number of another pipeline.
    #[inline]
    fn is(&self, pipeline: u64, key: Key) -> bool {
        self.key == key && (self.pipeline == pipeline || key.subscriber != 0)
    }
}

/// Adds a span with these ids that the thread enters.
#[inline]
pub fn enter(pipeline: u64, key: Key, context: SpanContext, active: Active) {
    push(Entered { pipeline, key, span: Of::Another(context), active });
}

/// Adds a span of the pipeline's own subscriber that the thread enters. `pipeline` records it.
#[inline]
pub fn enter_own(pipeline: Option<u64>, key: Key, own: Open, active: Active) {
    push(Entered { pipeline: pipeline.unwrap_or(NONE), key, span: Of::Own(own), active });
}

#[expect(clippy::inline_always, reason = "the span would be copied once more")]
#[inline(always)]
fn push(span: Entered) {
    let _ending = ENTERED.try_with(|entered| {
        if let Ok(mut entered) = entered.try_borrow_mut() {
            if entered.len() < entered.capacity() || reserve(&mut entered) {
                entered.push(span);
            }
        }
    });
}

/// Makes room for another span. Returns `false` near the end of the thread, when its list is gone.
#[cold]
fn reserve(entered: &mut Vec<Entered>) -> bool {
    let has_guard = GUARD.try_with(|_| {}).is_ok();
    if has_guard {
        entered.reserve(1);
    }
    has_guard
}

/// Removes the span that the thread leaves. It need not be the span that was entered last. Returns
/// the span if it is recorded, and one of the pipeline's own subscriber.
#[inline]
pub fn exit(pipeline: u64, key: Key) -> Option<Open> {
    let left = ENTERED.try_with(|entered| {
        let mut entered = entered.try_borrow_mut().ok()?;
        let at = entered.iter().rposition(|one| one.is(pipeline, key))?;
        let Entered { span, pipeline: its, active, .. } = entered.remove(at);
        Some((span, its == pipeline, active))
    });
    // The context is dropped after the list is released, since its destructors may be the user's
    // code.
    let (span, is_recorded, _active) = left.ok().flatten()?;
    match span {
        Of::Own(own) => Some(own).filter(|_| is_recorded),
        Of::Another(_) => None,
    }
}

/// Removes the span that the thread entered last, if it is this one of the own subscriber, which
/// the pipeline records. Otherwise returns `None`, and [`exit`] removes the span.
#[expect(clippy::inline_always, reason = "the span would be copied once more")]
#[inline(always)]
pub fn exit_last(pipeline: u64, key: Key) -> Option<Open> {
    let left = ENTERED.try_with(|entered| {
        let mut entered = entered.try_borrow_mut().ok()?;
        let last = entered.last()?;
        let Of::Own(own) = last.span else { return None };
        if last.key != key || !last.is_recorded_by(pipeline) {
            return None;
        }
        let Entered { active, .. } = entered.pop()?;
        Some((own, active))
    });
    // The context is dropped after the list is released, since its destructors may be the user's
    // code.
    let (own, _active) = left.ok().flatten()?;
    Some(own)
}

/// Changes the ids of a span that the thread is in.
pub fn update(pipeline: u64, key: Key, context: SpanContext) {
    let _ending = ENTERED.try_with(|entered| {
        if let Ok(mut entered) = entered.try_borrow_mut() {
            let its = entered.iter_mut().filter(|one| one.is(pipeline, key));
            its.for_each(|one| {
                // It may have got its ids just now.
                one.pipeline = pipeline;
                if let Of::Another(its) = &mut one.span {
                    *its = context;
                }
            });
        }
    });
}

/// Returns the innermost span of the pipeline that the thread is in. A span of the own subscriber
/// may have been closed without being left.
#[inline]
pub fn get(pipeline: u64) -> Option<SpanContext> {
    let current = ENTERED.try_with(|entered| {
        let entered = entered.try_borrow().ok()?;
        let mut its = entered.iter().rev().filter(|one| one.is_recorded_by(pipeline));
        its.find_map(Entered::context)
    });
    current.ok().flatten()
}

/// Returns the innermost span that the thread is in.
#[expect(clippy::inline_always, reason = "returns two registers, which a call would not")]
#[inline(always)]
pub fn innermost(pipeline: u64, subscriber: u32) -> Innermost {
    let innermost = ENTERED.try_with(|entered| {
        let Ok(entered) = entered.try_borrow() else { return Innermost::None };
        match entered.last() {
            None => Innermost::None,
            Some(last) => match last.span {
                Of::Own(own) if last.is_of(pipeline, subscriber) && own.has_ids() => {
                    Innermost::Recorded(own)
                }
                _ => Innermost::Other,
            },
        }
    });
    innermost.unwrap_or(Innermost::None)
}

/// Returns the innermost span of the pipeline's own subscriber that the thread is in and that is
/// open, whether it is recorded or not.
#[inline(never)]
pub fn own(subscriber: u32) -> Option<Open> {
    let current = ENTERED.try_with(|entered| {
        let entered = entered.try_borrow().ok()?;
        let its = entered.iter().rev().filter(|one| one.key.subscriber == subscriber);
        its.filter_map(Entered::own).find(|own| own.is_open())
    });
    current.ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_innermost_span_of_the_pipeline() {
        let context = |span| SpanContext { trace: 1, span, is_sampled: true };
        let key = Key::of_layer;
        let enter = |pipeline, id, context| {
            enter(pipeline, key(id), context, Active::leave());
        };
        assert_eq!(get(1), None);
        enter(1, 10, context(10));
        enter(1, 11, context(11));
        enter(2, 11, context(12));
        enter(1, 10, context(10));
        assert_eq!((get(1), get(2), get(3)), (Some(context(10)), Some(context(12)), None));
        // A span that was entered twice is left once.
        exit(1, key(10));
        assert_eq!(get(1), Some(context(11)));
        // In another order than they were entered.
        exit(1, key(10));
        assert_eq!(get(1), Some(context(11)));
        exit(1, key(11));
        exit(1, key(12));
        assert_eq!((get(1), get(2)), (None, Some(context(12))));
        exit(2, key(11));
        assert_eq!(get(2), None);
    }
}
