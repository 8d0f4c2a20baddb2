//! Settings that the server's and the client's layer share.

use core::time::Duration;

use http::{HeaderMap, HeaderName};
use tach_core::{Clock, SystemClock, UnixTime};

use crate::header::Syntax;
use crate::observe::Stats;

/// The headers with time limits.
#[derive(Debug, Clone, Default)]
pub(crate) struct Headers(Vec<(HeaderName, Syntax)>);

impl Headers {
    /// Adds a header, or changes its syntax.
    pub(crate) fn add(&mut self, name: HeaderName, syntax: Syntax) {
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = syntax,
            None => self.0.push((name, syntax)),
        }
    }

    /// Returns the least of the limits and of all valid values. Counts invalid values.
    #[inline]
    pub(crate) fn least(
        &self,
        limit: Duration,
        headers: &HeaderMap,
        clock: Option<&dyn Clock>,
        stats: &Stats,
    ) -> Duration {
        if self.0.is_empty() || headers.is_empty() {
            return limit;
        }
        self.least_read(limit, headers, clock, stats)
    }

    fn least_read(
        &self,
        limit: Duration,
        headers: &HeaderMap,
        clock: Option<&dyn Clock>,
        stats: &Stats,
    ) -> Duration {
        let mut least = limit;
        for (name, syntax) in &self.0 {
            for value in headers.get_all(name) {
                match syntax.parse(value.as_bytes(), now_if(syntax.is_absolute(), clock)) {
                    Some(asked) => least = least.min(asked),
                    None => stats.count_unparsable_header(),
                }
            }
        }
        least
    }

    /// Writes the time that is left into every header.
    pub(crate) fn write(&self, left: Duration, headers: &mut HeaderMap, clock: Option<&dyn Clock>) {
        for (name, syntax) in &self.0 {
            let now = now_if(syntax.is_absolute(), clock);
            headers.insert(name.clone(), syntax.write(left, now));
        }
    }
}

/// Reads the time of day only if it is needed.
fn now_if(is_needed: bool, clock: Option<&dyn Clock>) -> UnixTime {
    match clock {
        _ if !is_needed => UnixTime::EPOCH,
        None => SystemClock.unix_time(),
        Some(clock) => clock.unix_time(),
    }
}
