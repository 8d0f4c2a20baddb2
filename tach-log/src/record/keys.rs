//! The keys of a record: the last of equal keys counts.

use core::panic::AssertUnwindSafe;
use std::panic;

use log::Record;
use log::kv::{Error, Key, Value, VisitSource};

/// The keys of a record's fields, in order.
#[derive(Default)]
pub(super) struct Keys {
    /// All keys, one after the other.
    text: String,
    ends: Vec<usize>,
    is_any_twice: bool,
}

impl Keys {
    pub(super) fn capacity(&self) -> usize {
        self.text.capacity() + size_of::<usize>() * self.ends.capacity()
    }

    /// Replaces the keys by the keys of `record`. If its source fails or panics, they end there.
    pub(super) fn of(mut self, record: &Record<'_>) -> Self {
        self.text.clear();
        self.ends.clear();
        let visit = AssertUnwindSafe(|| record.key_values().visit(&mut self));
        let _ended = panic::catch_unwind(visit);
        self.is_any_twice = (1..self.ends.len()).any(|at| self.comes_before(at));
        self
    }

    pub(super) fn has(&self, is: &dyn Fn(&str) -> bool) -> bool {
        (0..self.ends.len()).any(|at| is(self.key(at)))
    }

    /// Returns whether a later field has the key of the field at `at`.
    pub(super) fn comes_later(&self, at: usize) -> bool {
        self.is_any_twice && (at + 1..self.ends.len()).any(|later| self.key(later) == self.key(at))
    }

    fn comes_before(&self, at: usize) -> bool {
        (0..at).any(|before| self.key(before) == self.key(at))
    }

    fn key(&self, at: usize) -> &str {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[at]]
    }
}

impl<'kvs> VisitSource<'kvs> for Keys {
    fn visit_pair(&mut self, key: Key<'kvs>, _value: Value<'kvs>) -> Result<(), Error> {
        self.text.push_str(key.as_str());
        self.ends.push(self.text.len());
        Ok(())
    }
}
