//! Named stages of a request, for the header `Server-Timing`.

use core::cell::RefCell;
use core::fmt::{self, Write as _};
use core::time::Duration;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::{HeaderMap, HeaderName, HeaderValue};
use tach_core::Budget;

const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");

/// The longest value, in bytes. Proxies and HTTP/2 limit all headers together, often to 8,000: an
/// observation must not make them refuse a response.
const MOST_BYTES: usize = 2_000;

thread_local! {
    /// Set while a request with stages is polled.
    static CURRENT: RefCell<Option<Stages>> = const { RefCell::new(None) };
}

/// The named stages of one request, which its response lists in the header `Server-Timing`.
///
/// [`BudgetLayer::with_server_timing`](crate::BudgetLayer::with_server_timing) adds them to each
/// request. They are in its extensions, and [`Stages::current`] finds them without a request.
/// Clones share the stages. Stages of one name are added up. A stage that ends after the response's
/// head was sent is not reported, nor one that makes the header longer than 2,000 bytes.
///
/// # Examples
///
/// ```
/// use tach_tower::Stages;
///
/// async fn query() {
///     let _stage = Stages::current().map(|stages| stages.start("db"));
///     // The stage ends with the function.
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Stages {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// `None` once the header is written.
    ended: Mutex<Option<Vec<(&'static str, Duration)>>>,
    budget: Budget,
}

impl Stages {
    pub(crate) fn new(budget: Budget) -> Self {
        Self { shared: Arc::new(Shared { ended: Mutex::new(Some(Vec::new())), budget }) }
    }

    /// Returns the stages of the request that the current task works for, or `None` if its response
    /// reports none.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(tach_tower::Stages::current().is_none());
    /// ```
    #[must_use]
    pub fn current() -> Option<Self> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// Starts a stage. It ends when the returned value is dropped.
    ///
    /// `name` is a token of HTTP: `_` replaces other characters, and an empty name.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_tower::{Stage, Stages};
    ///
    /// fn rendering(stages: &Stages) -> Stage {
    ///     stages.start("render")
    /// }
    /// ```
    pub fn start(&self, name: &'static str) -> Stage {
        Stage { stages: self.clone(), name, begun: self.shared.budget.elapsed() }
    }

    /// Adds a stage that took `duration`. Stages of one name are added up.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_tower::Stages;
    ///
    /// fn queued(stages: &Stages, waited: Duration) {
    ///     stages.record("queue", waited);
    /// }
    /// ```
    pub fn record(&self, name: &'static str, duration: Duration) {
        let mut ended = self.lock();
        let Some(ended) = ended.as_mut() else { return };
        match ended.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum = sum.saturating_add(duration),
            None => ended.push((name, duration)),
        }
    }

    /// Adds the header, with all stages that have ended and the time since the budget's start.
    pub(crate) fn write(&self, headers: &mut HeaderMap) {
        let mut value = String::new();
        for (name, duration) in self.lock().take().unwrap_or_default() {
            let before = value.len();
            let _ = write!(value, "{};dur={}, ", Token(name), Millis(duration));
            if value.len() > MOST_BYTES {
                value.truncate(before);
            }
        }
        let _ = write!(value, "total;dur={}", Millis(self.shared.budget.elapsed()));
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.append(SERVER_TIMING, value);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Vec<(&'static str, Duration)>>> {
        self.shared.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A stage that has begun. [`Stages::start`] creates it, and dropping it ends the stage.
///
/// # Examples
///
/// ```
/// use tach_tower::{Stage, Stages};
///
/// fn lookup(stages: &Stages) -> u32 {
///     let _stage: Stage = stages.start("cache");
///     1
/// }
/// ```
#[derive(Debug)]
#[must_use = "the stage ends when this is dropped"]
pub struct Stage {
    stages: Stages,
    name: &'static str,
    /// The time since the budget's start.
    begun: Duration,
}

impl Drop for Stage {
    fn drop(&mut self) {
        let took = self.stages.shared.budget.elapsed().saturating_sub(self.begun);
        self.stages.record(self.name, took);
    }
}

/// Sets the current stages until it is dropped.
pub(crate) struct Entered(Option<Stages>);

impl Entered {
    pub(crate) fn new(stages: &Stages) -> Self {
        Self(CURRENT.replace(Some(stages.clone())))
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// A name as a token (RFC 9110, section 5.6.2).
struct Token(&'static str);

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_char('_');
        }
        let is_of_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        self.0.chars().try_for_each(|c| f.write_char(if is_of_token(c) { c } else { '_' }))
    }
}

/// Milliseconds with the digits of microseconds.
struct Millis(Duration);

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = self.0.as_micros();
        write!(f, "{}.{:03}", us / 1_000, us % 1_000)
    }
}

#[cfg(test)]
mod tests {
    use tach_core::ManualClock;

    use super::*;

    #[test]
    fn stages_are_listed_in_the_order_of_their_ends() {
        let clock: &ManualClock = Box::leak(Box::default());
        let stages = Stages::new(Budget::new(Duration::from_secs(1)).with_clock(clock));
        let outer = stages.start("render page");
        clock.advance(Duration::from_micros(1_500));
        let inner = stages.start("db");
        clock.advance(Duration::from_micros(20_007));
        drop(inner);
        drop(outer);
        stages.record("cach\u{e9}", Duration::ZERO);
        stages.record("", Duration::ZERO);
        stages.record("db", Duration::from_millis(3));
        let mut headers = HeaderMap::new();
        stages.write(&mut headers);
        assert_eq!(
            headers[SERVER_TIMING],
            "db;dur=23.007, render_page;dur=21.507, cach_;dur=0.000, _;dur=0.000, total;dur=21.507"
        );
        stages.record("late", Duration::ZERO);
        assert!(stages.lock().is_none(), "nothing is kept for a header that was sent");
    }

    #[test]
    fn the_header_has_its_limit() {
        let clock: &ManualClock = Box::leak(Box::default());
        let stages = Stages::new(Budget::new(Duration::from_secs(1)).with_clock(clock));
        for name in ["first", &*"x".repeat(MOST_BYTES).leak(), "last"] {
            stages.record(name, Duration::ZERO);
        }
        let mut headers = HeaderMap::new();
        stages.write(&mut headers);
        let expected = "first;dur=0.000, last;dur=0.000, total;dur=0.000";
        assert_eq!(headers[SERVER_TIMING], expected);
    }
}
