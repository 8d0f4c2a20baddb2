//! Limits for the durations of spans, by their names. Spans that reach their limit are slow.

use core::time::Duration;

use super::span::Span;
use crate::faults::{Fault, unless};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Slow {
    by_name: Vec<(String, Duration)>,
    /// The limit for spans whose name is not in `by_name`.
    others: Option<Duration>,
}

impl Slow {
    pub fn others(&mut self, limit: Duration) {
        self.others = Some(limit);
    }

    pub fn named(&mut self, name: &str, limit: Duration) {
        self.by_name.push((name.to_owned(), limit));
    }

    /// Returns a fault for each limit by an empty name, which no span can have. `options` is the
    /// name of the type on which the limits were set.
    pub fn faults(&self, options: &str) -> Vec<Fault> {
        let mut faults = Vec::new();
        for (name, limit) in &self.by_name {
            let call = || format!("{options}::span_slower_than({name:?}, {limit:?})");
            unless(!name.is_empty(), &mut faults, call, "a span has a name");
        }
        faults
    }

    /// Returns whether no span has a limit.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty() && self.others.is_none()
    }

    /// Returns whether the span took as long as its limit or longer. If the end was not recorded,
    /// returns `false`, since the duration is not known.
    pub fn has(&self, span: &Span<'_>) -> bool {
        if span.is_unfinished || self.is_empty() {
            return false;
        }
        let named = if self.by_name.is_empty() {
            None
        } else {
            let name = span.first.0.name;
            self.by_name.iter().find(|(known, _)| known == name).map(|(_, limit)| *limit)
        };
        let took = span.end.checked_duration_since(span.start);
        named.or(self.others).is_some_and(|limit| took >= Some(limit))
    }
}
