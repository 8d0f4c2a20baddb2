//! Formats whose types can be compared at run time. Sinks with equal formats share the formatted
//! event.

use core::any::Any;
use std::sync::Arc;

use tach_log::{Format, Json, Line, Logfmt};

use super::journal::JournalExport;

/// A format whose type can be compared at run time.
pub(crate) trait AnyFormat: Format + Send + Sync {
    fn as_any(&self) -> &dyn Any;
}

impl<F: Format + Send + Sync + 'static> AnyFormat for F {
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Returns whether both formats are known to write every event alike. If they do and the function
/// returns `false`, each event is formatted twice.
pub(super) fn is_same(one: &dyn AnyFormat, other: &dyn AnyFormat) -> bool {
    /// A format that a program shares between sinks.
    type Shared = Arc<dyn Format + Send + Sync>;

    let (size, one, other) = (size_of_val(one), one.as_any(), other.as_any());
    if one.type_id() != other.type_id() {
        return false;
    }
    // Values of a type without fields can't differ.
    size == 0
        || is_equal::<Json>(one, other)
        || is_equal::<Line>(one, other)
        || is_equal::<Logfmt>(one, other)
        || is_equal::<JournalExport>(one, other)
        || both::<Shared>(one, other).is_some_and(|(one, other)| Arc::ptr_eq(one, other))
}

fn is_equal<F: PartialEq + 'static>(one: &dyn Any, other: &dyn Any) -> bool {
    both::<F>(one, other).is_some_and(|(one, other)| one == other)
}

fn both<'a, F: 'static>(one: &'a dyn Any, other: &'a dyn Any) -> Option<(&'a F, &'a F)> {
    one.downcast_ref().zip(other.downcast_ref())
}
