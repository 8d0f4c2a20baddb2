//! The error of a budget that has ended.

use core::error::Error;
use core::fmt;
use core::time::Duration;

use crate::current::current;

/// The error of a call, a body or a future that its budget ended.
///
/// The message names the whole budget, and what the last part of it was spent on. The callers of a
/// client find it in the boxed error: `error.downcast_ref::<Exhausted>()`.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tach_tower::{Budget, Exhausted, enforce};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let budget = Budget::new(Duration::from_millis(5));
/// let ended: Exhausted = enforce(budget, std::future::pending::<()>()).await.unwrap_err();
/// assert_eq!(ended.to_string(), "the time budget of 5ms was spent while the call ran");
/// let late = enforce(budget, std::future::pending::<()>()).await.unwrap_err();
/// assert_eq!(late.to_string(), "the time budget of 5ms was spent before the call");
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exhausted {
    /// The time of the part that has ended.
    part: Duration,
    total: Duration,
    spent: Spent,
}

/// What a budget's last part was spent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spent {
    Before,
    Waiting,
    Running,
    Body,
    /// No budget has ended: the body paused for too long.
    Pause,
    /// No budget has ended: the service stops.
    Drain,
}

impl Exhausted {
    /// `part` is the total of the budget that has ended. Call while the outer budget is current.
    #[cold]
    pub(crate) fn new(part: Duration, spent: Spent) -> Self {
        let outer = current().map_or(Duration::ZERO, |outer| outer.total());
        // If the outer budget has no end, report the part as a budget of its own: "a part of" an
        // endless budget would say nothing.
        let total = if outer == Duration::MAX { part } else { outer.max(part) };
        Self { part, total, spent }
    }

    pub(crate) fn pause(idle: Duration) -> Self {
        Self { part: idle, total: idle, spent: Spent::Pause }
    }

    /// Returns the time of the budget that has ended, or of the outer one if that is longer: the
    /// call may have had a part of it.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_tower::{Budget, enforce, scope};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let request = Budget::new(Duration::from_secs(1));
    /// let part = request.child(Duration::from_millis(5), Duration::ZERO);
    /// let query = enforce(part, std::future::pending::<()>());
    /// let ended = scope(request, query).await.unwrap_err();
    /// assert_eq!(ended.total(), Duration::from_secs(1));
    /// assert_eq!(
    ///     ended.to_string(),
    ///     "5ms, a part of the time budget of 1s, were spent while the call ran"
    /// );
    /// # }
    /// ```
    #[must_use]
    pub const fn total(&self) -> Duration {
        self.total
    }

    /// Returns whether no budget has ended, but the service stops.
    pub(crate) const fn is_drain(&self) -> bool {
        matches!(self.spent, Spent::Drain)
    }

    /// Returns whether too little time was left before the call, so that it was refused.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_tower::{Budget, enforce};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let none = Budget::new(Duration::ZERO);
    /// let ended = enforce(none, std::future::pending::<()>()).await.unwrap_err();
    /// assert!(ended.is_refused());
    /// # }
    /// ```
    #[must_use]
    pub const fn is_refused(&self) -> bool {
        matches!(self.spent, Spent::Before)
    }
}

impl fmt::Display for Exhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { part, total, spent } = self;
        let at = match spent {
            Spent::Before => {
                return write!(f, "the time budget of {total:?} was spent before the call");
            }
            Spent::Drain => return f.write_str("the body was cut, because the service stops"),
            Spent::Pause => return write!(f, "the body paused for {total:?}"),
            Spent::Waiting => "while the call waited for the service",
            Spent::Running => "while the call ran",
            Spent::Body => "while the body was sent",
        };
        if part == total {
            write!(f, "the time budget of {total:?} was spent {at}")
        } else {
            write!(f, "{part:?}, a part of the time budget of {total:?}, were spent {at}")
        }
    }
}

impl Error for Exhausted {}
