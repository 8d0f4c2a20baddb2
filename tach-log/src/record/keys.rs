//! The keys of a record: the last of equal keys counts.

use core::panic::AssertUnwindSafe;
use std::collections::HashSet;
use std::panic;

use log::Record;
use log::kv::{Error, Key, Value, VisitSource};

use crate::bounds::{FIELDS, KEY_BYTES};

/// In a record with more fields than this, a set finds the keys that repeat.
const MOST_PAIRS: usize = 32;

/// The keys of a record's fields, in order.
#[derive(Default)]
pub(super) struct Keys {
    /// All keys, one after the other.
    text: String,
    ends: Vec<usize>,
    /// For each field, whether a later field has the same key. Empty if no key repeats.
    repeats: Vec<bool>,
}

impl Keys {
    pub(super) fn capacity(&self) -> usize {
        self.text.capacity() + size_of::<usize>() * self.ends.capacity() + self.repeats.capacity()
    }

    /// Replaces the keys by the keys of `record`. If its source fails or panics, keeps the keys
    /// before.
    pub(super) fn read(&mut self, record: &Record<'_>) {
        self.text.clear();
        self.ends.clear();
        self.repeats.clear();
        let visit = AssertUnwindSafe(|| record.key_values().visit(self));
        let _ended = panic::catch_unwind(visit);
        let count = self.ends.len();
        if count > MOST_PAIRS || (1..count).any(|at| self.comes_before(at)) {
            self.find_repeats();
        }
    }

    pub(super) fn has(&self, is: &dyn Fn(&str) -> bool) -> bool {
        (0..self.ends.len()).any(|at| is(self.key(at)))
    }

    /// Returns whether a later field has the key of the field at `at`.
    #[inline]
    pub(super) fn comes_later(&self, at: usize) -> bool {
        self.repeats.get(at).is_some_and(|&repeats| repeats)
    }

    /// Returns whether a record has more or longer keys than it may.
    #[inline]
    pub(super) fn exceed_bounds(&self) -> bool {
        let count = self.ends.len();
        count > FIELDS
            || self.text.len() > KEY_BYTES && (0..count).any(|at| self.key(at).len() > KEY_BYTES)
    }

    fn comes_before(&self, at: usize) -> bool {
        (0..at).any(|before| self.key(before) == self.key(at))
    }

    #[cold]
    fn find_repeats(&mut self) {
        let mut later = HashSet::with_capacity(self.ends.len());
        let mut repeats: Vec<_> =
            (0..self.ends.len()).rev().map(|at| !later.insert(self.key(at))).collect();
        repeats.reverse();
        self.repeats = repeats;
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
