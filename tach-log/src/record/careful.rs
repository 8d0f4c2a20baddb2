//! Another visit of a record's fields, after a value failed or panicked.

use core::error::Error;
use core::fmt;
use core::panic::AssertUnwindSafe;
use std::panic;

use log::Record;
use log::kv::{self, VisitSource};

use super::{Printed, VisitFields, visit_pair};
use crate::value::Value;

/// Visits the fields of `record` except the first `passed`. A value that fails or panics is
/// replaced by a note; the other fields are not affected.
///
/// # Errors
///
/// If `to` returns an error, or the record's source of fields fails or panics.
///
/// # Panics
///
/// If `to` panics.
#[cold]
pub fn visit_each(record: &Record<'_>, to: &mut impl VisitFields, passed: usize) -> fmt::Result {
    let mut each = Each { to: Watched { to, is_entered: false, is_left: false }, passed };
    let visit = AssertUnwindSafe(|| record.key_values().visit(&mut each));
    match panic::catch_unwind(visit) {
        Err(panic) if each.to.is_running() => panic::resume_unwind(panic),
        visited => visited.map_err(|_| fmt::Error)?.map_err(|_| fmt::Error),
    }
}

struct Each<'a, V> {
    to: Watched<'a, V>,
    /// How many fields are still to be passed over.
    passed: usize,
}

impl<'kvs, V: VisitFields> VisitSource<'kvs> for Each<'_, V> {
    fn visit_pair(&mut self, key: kv::Key<'kvs>, value: kv::Value<'kvs>) -> Result<(), kv::Error> {
        if let Some(passed) = self.passed.checked_sub(1) {
            self.passed = passed;
            return Ok(());
        }
        let to = &mut self.to;
        (to.is_entered, to.is_left) = (false, false);
        let visit = AssertUnwindSafe(|| visit_pair(&key, &value, to));
        let visited = panic::catch_unwind(visit);
        let note = match visited {
            Err(panic) if self.to.is_running() => panic::resume_unwind(panic),
            Ok(visited) if self.to.is_entered => return visited,
            // The value panicked after its visit.
            Err(_) if self.to.is_entered => return Ok(()),
            Ok(_) => "<failed to format>",
            Err(_) => "<panicked>",
        };
        Ok(self.to.plain(&key, Value::Str(note))?)
    }
}

/// A visitor, and whether a visit of it has begun and ended.
struct Watched<'a, V> {
    to: &'a mut V,
    is_entered: bool,
    is_left: bool,
}

impl<V> Watched<'_, V> {
    const fn is_running(&self) -> bool {
        self.is_entered && !self.is_left
    }

    fn visit(&mut self, visit: impl FnOnce(&mut V) -> fmt::Result) -> fmt::Result {
        self.is_entered = true;
        let visited = visit(self.to);
        self.is_left = true;
        visited
    }
}

impl<V: VisitFields> VisitFields for Watched<'_, V> {
    fn plain(&mut self, key: &kv::Key<'_>, value: Value<'_>) -> fmt::Result {
        self.visit(|to| to.plain(key, value))
    }

    fn printed(
        &mut self,
        key: &kv::Key<'_>,
        value: fmt::Arguments<'_>,
        kind: Printed,
    ) -> fmt::Result {
        self.visit(|to| to.printed(key, value, kind))
    }

    fn error(&mut self, key: &kv::Key<'_>, error: &(dyn Error + 'static)) -> fmt::Result {
        self.visit(|to| to.error(key, error))
    }
}
