//! The budget of the code that runs, for code that has no request.

use core::cell::Cell;
use core::pin::Pin;
use core::ptr;
use core::task::{Context, Poll, Waker};
use core::time::Duration;

use pin_project_lite::pin_project;
use tach_core::Budget;

thread_local! {
    /// Set while a future with a budget is polled.
    static CURRENT: Cell<Option<Current>> = const { Cell::new(None) };
    /// The budget of a server's request with a limit, for a layer around the server's.
    static ARRIVED: Cell<Option<Budget>> = const { Cell::new(None) };
}

/// Returns the budget of the first request that arrived since the last call, and stores `new`. The
/// budget begins at the arrival.
#[must_use]
#[inline]
pub fn replace_arrived(new: Option<Budget>) -> Option<Budget> {
    // Usually there is neither a new budget nor an old one. Then read one byte instead of six
    // words.
    if new.is_none() && ARRIVED.with(|arrived| arrived.get().is_none()) {
        return None;
    }
    ARRIVED.replace(new)
}

/// Keeps the budget of a server's request for a layer around, unless a layer between has done so.
#[inline]
pub(crate) fn arrive(budget: Budget, is_client: bool) {
    if !is_client && budget.total_ns < u64::MAX && ARRIVED.get().is_none() {
        ARRIVED.set(Some(budget));
    }
}

/// The budget of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Ends with the head of the response.
    pub(crate) head: Budget,
    /// The total for the response with its body, from the start of `head`.
    pub(crate) whole_ns: u64,
}

impl Limits {
    pub(crate) fn of(head: Budget) -> Self {
        Self { head, whole_ns: head.total_ns }
    }

    /// Returns the budget of the response with its body.
    #[inline]
    pub(crate) fn whole(&self) -> Budget {
        Budget { total_ns: self.whole_ns, ..self.head }
    }
}

/// The budget of the code that runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Current {
    limits: Limits,
    /// The waker that the end of the budget wakes. `Woken::NONE` if nothing ends with the budget:
    /// layers and `enforce` end a future, `scope` by itself does not.
    ended_by: Woken,
    /// Whether the layer around a client set the budget.
    is_client: bool,
}

/// The identity of a waker: its two addresses.
///
/// Compared only with the waker of the current poll. A timer that stores a clone of a waker keeps
/// the address in use, because the wakers of tokio and of futures share their data with their
/// clones. `RawWaker` does not promise that. With a waker whose clones have other data, such as one
/// on a stack that `clone` moves to the heap, a later waker at its address may miss the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Woken {
    data: usize,
    vtable: usize,
}

impl Woken {
    /// No vtable has the address 0.
    pub(crate) const NONE: Self = Self { data: 0, vtable: 0 };
    /// A waker that is not known: of another task, or of a call that is not polled yet.
    pub(crate) const OTHER: Self = Self { data: 1, vtable: 0 };

    #[inline]
    pub(crate) fn of(waker: &Waker) -> Self {
        Self { data: waker.data().addr(), vtable: ptr::from_ref(waker.vtable()).addr() }
    }
}

/// Conversions of ticks differ by less, so two ends this close are the same.
const SAME_END: Duration = Duration::from_micros(100);

impl Current {
    /// Returns whether this outer budget ends a future at the end of the future's `own` budget or
    /// before.
    ///
    /// The outer future must be polled by the same task. Otherwise, as in a `block_on` inside a
    /// handler, it can't be polled when its budget ends.
    #[inline]
    fn ends(&self, own: &Budget, cx: &Context<'_>) -> bool {
        self.ended_by == Woken::of(cx.waker()) && self.is_no_later(own)
    }

    /// Returns whether something ends with this outer budget, in whatever task, at the end of a
    /// future's `own` budget or before.
    #[inline]
    fn is_no_later(&self, own: &Budget) -> bool {
        let outer = &self.limits.head;
        self.ended_by != Woken::NONE
            && if outer.start == own.start {
                outer.total_ns <= own.total_ns
            } else {
                outer.remaining() <= own.remaining().saturating_add(SAME_END)
            }
    }
}

/// Returns whether the current budget ends a future with the budget `own`. Call it outside of
/// [`Entered`].
#[inline]
pub(crate) fn is_ended_by_current(own: &Budget, cx: &Context<'_>) -> bool {
    CURRENT.get().is_some_and(|outer| outer.ends(own, cx))
}

/// How long past its end a future waits for the outer one that ends with it.
pub(crate) const GRACE: Duration = Duration::from_millis(5);

/// Like [`GRACE`], for an outer future in another task: a thread that a busy machine has stopped
/// may hold that task.
const GRACE_OF_TASKS: Duration = Duration::from_millis(50);

/// Returns how long past its end a future with the budget `own` waits for the outer future that
/// ends with the current budget. Returns `None` if nothing ends with that budget, or only later.
pub(crate) fn grace(own: &Budget) -> Option<Duration> {
    let outer = CURRENT.get().filter(|outer| outer.is_no_later(own))?;
    Some(if outer.ended_by == Woken::OTHER { GRACE_OF_TASKS } else { GRACE })
}

/// Returns the total for the response with its body, from the start of `head`. If `head` is the
/// limit of the layer around, which may allow more for the body, returns that layer's total. But a
/// client's call in a server's handler is work for the head of the server's response, so the body
/// of the call ends with `head`.
#[inline]
pub(crate) fn whole_of(head: &Budget, is_client: bool) -> u64 {
    match CURRENT.get() {
        Some(current) if current.limits.head == *head && (current.is_client || !is_client) => {
            current.limits.whole_ns
        }
        _ => head.total_ns,
    }
}

/// Returns the budget of the request that the current task works for.
///
/// A layer of this crate sets it while it polls the service inside, and so do [`enforce`] and
/// [`scope`]. A spawned task has none: give it one with `scope`, or with [`within`] if it blocks.
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
    CURRENT.get().map(|current| current.limits.head)
}

/// Makes `budget` the [`current`] one while `code` runs: for `spawn_blocking`, and for threads.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tach_tower::{current, within};
/// use tokio::task::spawn_blocking;
///
/// /// Blocks, and takes a number of milliseconds, of which zero would mean for ever.
/// fn receive() -> Option<u32> {
///     let budget = current()?;
///     Some(budget.millis(Duration::from_secs(5))?.get())
/// }
///
/// async fn handler() -> Option<u32> {
///     let budget = current()?;
///     spawn_blocking(move || within(budget, receive)).await.ok()?
/// }
/// ```
pub fn within<T>(budget: Budget, code: impl FnOnce() -> T) -> T {
    let mut outer = None;
    let _entered = Entered::new(&mut outer, Limits::of(budget), false, Woken::NONE);
    code()
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
    // If a request's handler spawns this task, the request's layer ends the budget too.
    let is_ended = grace(&budget).is_some();
    Scope { future, budget, ended_by: if is_ended { Woken::OTHER } else { Woken::NONE } }
}

pin_project! {
    struct Scope<F> {
        #[pin]
        future: F,
        budget: Budget,
        ended_by: Woken,
    }
}

impl<F: Future> Future for Scope<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let mut outer = None;
        let _entered = Entered::new(&mut outer, Limits::of(*this.budget), false, *this.ended_by);
        this.future.poll(cx)
    }
}

/// Makes a budget the current one. Its drop restores the outer budget.
pub(crate) struct Entered<'a>(&'a mut Option<Current>);

impl<'a> Entered<'a> {
    /// `outer` must be `None`. The caller provides the place, so that no empty budget is moved.
    #[inline]
    pub(crate) fn new(
        outer: &'a mut Option<Current>,
        limits: Limits,
        is_client: bool,
        ended_by: Woken,
    ) -> Self {
        CURRENT.with(|current| {
            if let Some(current) = current.get() {
                *outer = Some(current);
            }
            current.set(Some(Current { limits, ended_by, is_client }));
        });
        Self(outer)
    }
}

impl Drop for Entered<'_> {
    #[inline]
    fn drop(&mut self) {
        match *self.0 {
            None => CURRENT.set(None),
            outer => CURRENT.set(outer),
        }
    }
}
