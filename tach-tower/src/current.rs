//! The budget of the code that runs, for code that has no request.

use core::cell::Cell;
use core::pin::Pin;
use core::ptr;
use core::task::{Context, Poll, RawWakerVTable, Waker};
use core::time::Duration;

use pin_project_lite::pin_project;
use tach_core::{Budget, Instant};

thread_local! {
    /// Set while a future with a budget is polled.
    static CURRENT: Cell<Option<Current>> = const { Cell::new(None) };
    /// The waker that the end of the current budget wakes. `None` if nothing ends with the budget:
    /// layers and `enforce` end a future, `scope` does not.
    static WOKEN: Cell<Option<Woken>> = const { Cell::new(None) };
}

/// The budget of the code that runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Current {
    pub(crate) budget: Budget,
    /// The total for the response with its body. Greater than the budget's if that is the head's.
    pub(crate) whole: Duration,
    /// Whether the layer around a client set the budget.
    pub(crate) is_client: bool,
}

impl Current {
    pub(crate) fn of(budget: Budget) -> Self {
        Self { budget, whole: budget.total(), is_client: false }
    }
}

/// The identity of a waker. Only compared while the waker exists.
type Woken = (*const (), &'static RawWakerVTable);

/// The end of an outer budget, by which a budget inside it ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OuterEnd {
    start: Instant,
    pub(crate) total: Duration,
}

impl OuterEnd {
    #[inline]
    pub(crate) fn of(outer: &Budget) -> Self {
        Self { start: outer.start, total: outer.total }
    }
}

/// Returns the time for the response with its body, from the start of `head`: its total, or what
/// the layer around it allows if `head` is that layer's limit of the head. A client's call in a
/// server's handler is work for the head of the server's response, so its body ends with that head.
#[inline]
pub(crate) fn whole_of(head: &Budget, is_client: bool) -> Duration {
    match CURRENT.get() {
        Some(current) if current.budget == *head && (current.is_client || !is_client) => {
            current.whole
        }
        _ => head.total(),
    }
}

/// Returns the budget of the request that the current task works for.
///
/// A layer of this crate sets it while it polls the service inside, and so do [`enforce`] and
/// [`scope`]. A spawned task has none: give it one with `scope`.
///
/// [`enforce`]: crate::enforce
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tach_tower::{Budget, current, scope};
///
/// /// Has no request at hand.
/// async fn query() -> Duration {
///     current().map_or(Duration::MAX, |budget| budget.remaining())
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// assert_eq!(query().await, Duration::MAX);
/// assert!(scope(Budget::new(Duration::from_secs(1)), query()).await <= Duration::from_secs(1));
/// # }
/// ```
#[must_use]
#[inline]
pub fn current() -> Option<Budget> {
    CURRENT.get().map(|current| current.budget)
}

/// Makes `budget` the [`current`] one of a future: for spawned tasks. It does not end the future;
/// [`enforce`](crate::enforce) does.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tach_tower::{Budget, current, scope};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let budget = Budget::new(Duration::from_secs(1));
/// let task = tokio::spawn(scope(budget, async { current() }));
/// assert_eq!(task.await.unwrap(), Some(budget));
/// # }
/// ```
pub fn scope<F: Future>(budget: Budget, future: F) -> impl Future<Output = F::Output> {
    Scope { future, current: Current::of(budget) }
}

pin_project! {
    struct Scope<F> {
        #[pin]
        future: F,
        current: Current,
    }
}

impl<F: Future> Future for Scope<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let mut outer = None;
        let _entered = Entered::new(&mut outer, this.current, None);
        this.future.poll(cx)
    }
}

/// The budget that was current before another, and what it wakes.
pub(crate) type Outer = Option<(Current, Option<Woken>)>;

/// Makes a budget the current one. Its drop restores the outer budget.
pub(crate) struct Entered<'a>(&'a mut Outer);

impl<'a> Entered<'a> {
    /// `outer` is `None`. It is a place of the caller's, so that no empty budget is moved.
    #[inline]
    pub(crate) fn new(outer: &'a mut Outer, current: &Current, ended_by: Option<&Waker>) -> Self {
        let woken = ended_by.map(|waker| (waker.data(), waker.vtable()));
        if let Some(current) = CURRENT.get() {
            *outer = Some((current, WOKEN.get()));
        }
        CURRENT.set(Some(*current));
        WOKEN.set(woken);
        Self(outer)
    }

    /// Returns whether the outer budget ends the future at `end` or before. `end` is by the clock
    /// of the future's `own` budget.
    ///
    /// The outer future must be polled by the same task. Otherwise, as in a `block_on` inside a
    /// handler, it can't be polled when its budget ends.
    #[inline]
    pub(crate) fn is_ended_by(
        &self,
        end: Option<OuterEnd>,
        own: &Budget,
        cx: &Context<'_>,
    ) -> bool {
        let (Some(end), Some((Current { budget, .. }, Some(woken)))) = (end, &*self.0) else {
            return false;
        };
        let waker = cx.waker();
        budget.start == end.start
            && budget.total() <= end.total
            && clock_of(budget) == clock_of(own)
            && woken.0 == waker.data()
            && ptr::eq(woken.1, waker.vtable())
    }
}

/// Returns the address of a budget's clock; `None` for the system's.
#[inline]
fn clock_of(budget: &Budget) -> Option<*const ()> {
    budget.clock.map(|clock| ptr::from_ref(clock).cast())
}

impl Drop for Entered<'_> {
    #[inline]
    fn drop(&mut self) {
        match *self.0 {
            None => CURRENT.set(None),
            Some((current, woken)) => {
                CURRENT.set(Some(current));
                WOKEN.set(woken);
            }
        }
    }
}
