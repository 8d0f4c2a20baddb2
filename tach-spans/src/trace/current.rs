//! The spans that the thread is in, and the remote parent for spans that it starts. Asking the
//! registry instead would cost a look-up for each span.

#[cfg(feature = "opentelemetry")]
pub mod around;

use core::cell::{Cell, RefCell};
use core::mem::{self, ManuallyDrop};

use super::Contexts;
use super::otel::{self, Active};
use super::slots::Open;
use super::w3c::TraceContext;
use tach_record::ids::SpanContext;

thread_local! {
    /// Has no destructor, so an access needs no check: [`GUARD`] drops the spans. While there is no
    /// guard, the list has no memory.
    static ENTERED: ManuallyDrop<RefCell<Vec<Entered>>> =
        const { ManuallyDrop::new(RefCell::new(Vec::new())) };
    static GUARD: Guard = const { Guard };
    static PARENT: RefCell<Option<TraceContext>> = const { RefCell::new(None) };
    static CALLER: Cell<Caller> = const { Cell::new(Caller::Unknown) };
}

/// Whether spans that start now have a caller in another process.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Caller {
    /// Nobody has said yet: a span may get a parent after its start.
    Unknown,
    Nobody,
    /// The remote parent.
    Known,
}

/// Drops the list when the thread ends.
struct Guard;

impl Drop for Guard {
    fn drop(&mut self) {
        let spans =
            ENTERED.try_with(|entered| entered.try_borrow_mut().map(|mut it| mem::take(&mut *it)));
        // Drop the spans after the list is released: a context's destructor may be the user's code,
        // which may use the list.
        drop(spans);
    }
}

struct Entered {
    span: Open,
    /// Whether the span's fields are kept for lines.
    has_fields: bool,
    active: Active,
}

/// The innermost span that the thread is in.
#[derive(Clone, Copy)]
pub enum Innermost {
    /// The thread is in no span.
    None,
    /// The subscriber's span, which the pipeline records.
    Recorded(Open),
    /// The subscriber's span, which is open, and which the pipeline does not record.
    Unrecorded(Open),
    /// The span of another subscriber, or a closed span, so that the list must be searched.
    Other,
}

/// Adds a span that the thread enters.
#[expect(clippy::inline_always, reason = "the span would be copied once more")]
#[inline(always)]
pub fn enter(span: Open, has_fields: bool, active: Active) {
    let _ending = ENTERED.try_with(|entered| {
        if let Ok(mut entered) = entered.try_borrow_mut() {
            if entered.len() < entered.capacity() || reserve(&mut entered) {
                entered.push(Entered { span, has_fields, active });
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

/// Removes the span that the thread leaves, if it is in the list.
#[expect(clippy::inline_always, reason = "the span would be copied once more")]
#[inline(always)]
pub fn exit(span: Open) {
    let left = ENTERED.try_with(|entered| {
        let mut entered = entered.try_borrow_mut().ok()?;
        if entered.last()?.span != span {
            return None;
        }
        let Entered { active, .. } = entered.pop()?;
        Some(active)
    });
    // Drop the context after the list is released: its destructor may be the user's code, which may
    // use the list.
    if !left.is_ok_and(|active| active.is_some()) {
        exit_any(span);
    }
}

/// Removes a span that need not be the one that the thread entered last.
#[inline(never)]
fn exit_any(span: Open) {
    let left = ENTERED.try_with(|entered| {
        let mut entered = entered.try_borrow_mut().ok()?;
        let at = entered.iter().rposition(|one| one.span == span)?;
        Some(entered.remove(at))
    });
    // Drop the span after the list is released: a context's destructor may be the user's code,
    // which may use the list.
    drop(left);
}

/// Returns whether the thread is in no span, not even one of `opentelemetry`. Returns `false` while
/// the list is being changed.
#[inline]
pub fn is_outside() -> bool {
    let is_empty = ENTERED.try_with(|it| it.try_borrow().is_ok_and(|entered| entered.is_empty()));
    is_empty.unwrap_or(true) && !otel::has_current_span()
}

/// Returns the innermost span that the thread is in and that has ids of the pipeline, and the ids.
/// A span may have been closed without being left.
#[inline]
pub fn get(contexts: &Contexts) -> Option<(Open, SpanContext)> {
    find(|one| contexts.get(one.span).map(|context| (one.span, context)))
}

/// Returns the innermost span that the thread is in.
#[expect(clippy::inline_always, reason = "returns two registers, which a call would not")]
#[inline(always)]
pub fn innermost(contexts: &Contexts, owner: u32) -> Innermost {
    let innermost = ENTERED.try_with(|entered| {
        let Ok(entered) = entered.try_borrow() else { return Innermost::None };
        match entered.last() {
            None => Innermost::None,
            Some(&Entered { span, .. }) if span.is_of(owner) => {
                if contexts.record(span) {
                    Innermost::Recorded(span)
                } else if span.is_open() {
                    Innermost::Unrecorded(span)
                } else {
                    Innermost::Other
                }
            }
            Some(_) => Innermost::Other,
        }
    });
    innermost.unwrap_or(Innermost::None)
}

/// Returns the innermost span of the subscriber `owner` that the thread is in and that is open,
/// whether it is recorded or not.
#[inline(never)]
pub fn of_owner(owner: u32) -> Option<Open> {
    find(|one| Some(one.span).filter(|span| span.is_of(owner) && span.is_open()))
}

/// Returns the innermost span that the thread is in, that is open, and whose fields are kept.
#[inline(never)]
pub fn with_fields() -> Option<Open> {
    find(|one| Some(one.span).filter(|span| one.has_fields && span.is_open()))
}

/// Returns what `f` finds first, from the innermost span to the outermost one.
#[inline]
fn find<R>(f: impl FnMut(&Entered) -> Option<R>) -> Option<R> {
    let found = ENTERED.try_with(|entered| entered.try_borrow().ok()?.iter().rev().find_map(f));
    found.ok().flatten()
}

impl TraceContext {
    /// Calls `f`, which starts a span of `tracing`. If the span has no parent in this process, this
    /// is its parent.
    ///
    /// It does the same as `SpanExt::set_remote_parent`, and costs less: a span that is not sampled
    /// keeps nothing for another parent.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::TraceContext;
    ///
    /// let header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    /// let start = || tracing::info_span!("request", otel.kind = "server");
    /// let span = match TraceContext::from_headers(header, "") {
    ///     Some(parent) => parent.in_scope(start),
    ///     None => start(),
    /// };
    /// ```
    pub fn in_scope<R>(&self, f: impl FnOnce() -> R) -> R {
        in_scope_of(Some(self), f)
    }
}

/// Calls `f`. Spans that start meanwhile in this thread, and have no parent, have `caller` as their
/// parent. `None` says that no caller will be set, so that a span does not wait for one.
pub fn in_scope_of<R>(caller: Option<&TraceContext>, f: impl FnOnce() -> R) -> R {
    /// Puts the parent from before back, also after a panic.
    struct Restore(Caller, Option<TraceContext>);
    impl Drop for Restore {
        fn drop(&mut self) {
            set_remote_parent(self.0, self.1.take());
        }
    }
    let before = CALLER.get();
    let is = match caller {
        Some(_) => Caller::Known,
        None if before == Caller::Unknown => Caller::Nobody,
        None => return f(),
    };
    let _restore = Restore(before, set_remote_parent(is, caller.cloned()));
    f()
}

/// Returns whether there is a remote parent for a span that starts now.
#[inline]
pub fn has_remote_parent() -> bool {
    CALLER.get() == Caller::Known
}

/// Returns whether it is known which remote parent a span has that starts now, or that it has none.
#[inline]
pub fn is_caller_known() -> bool {
    CALLER.get() != Caller::Unknown
}

/// Returns the remote parent for a span that starts now and has no other.
#[inline]
pub fn remote_parent() -> Option<TraceContext> {
    PARENT.try_with(|parent| parent.borrow().clone()).ok().flatten()
}

/// Sets the parent, and returns the old one. Near the end of a thread there is none.
fn set_remote_parent(caller: Caller, parent: Option<TraceContext>) -> Option<TraceContext> {
    CALLER.set(caller);
    PARENT.try_with(|current| current.replace(parent)).ok().flatten()
}

#[cfg(test)]
mod tests {
    use tach_record::ids::SpanContext;

    use super::*;
    use crate::trace::{Started, slots};

    /// Opens a span with this id.
    fn open(contexts: &Contexts, owner: u32, id: u64) -> Open {
        let span = slots::open(owner, None, None, None).unwrap();
        contexts.insert(
            span,
            &SpanContext { trace: 1, span: id, is_sampled: true },
            Started::default(),
        );
        span
    }

    #[test]
    fn it_is_the_innermost_span_of_the_pipeline() {
        let [one, other, third] = [101, 102, 103].map(|number| Contexts::new(number, true));
        let id = |contexts: &Contexts| get(contexts).map(|(_, context)| context.span);
        let enter = |span| enter(span, false, Active::leave());
        assert_eq!(id(&one), None);
        let [a, b, c] = [(&one, 10), (&one, 11), (&other, 12)].map(|(of, id)| open(of, 7, id));
        [a, b, c, a].into_iter().for_each(enter);
        assert_eq!((id(&one), id(&other), id(&third)), (Some(10), Some(12), None));
        // A span that was entered twice is left once.
        exit(a);
        assert_eq!(id(&one), Some(11));
        // Spans may be left in another order than they were entered.
        exit(a);
        assert_eq!(id(&one), Some(11));
        exit(b);
        exit(b);
        assert_eq!((id(&one), id(&other)), (None, Some(12)));
        exit(a);
        exit(c);
        assert_eq!(id(&other), None);
        for span in [a, b, c] {
            span.number().remove_reference(7).unwrap().free();
        }
    }
}
