//! The spans that the thread is in, for records of `log` and slog.

use super::span_fields::{MOST, NAMELESS, write_around};
use crate::frame::Writer;
use crate::trace::current;

/// Writes the spans that the thread is in, for a record of `log`. Without `ALL`, writes the fields of
/// those without a name, for a record of slog.
#[inline]
pub(in crate::front) fn write_current_spans<const ALL: bool>(to: &mut Writer<'_>) {
    if ALL || NAMELESS.is_on() {
        if let Some(span) = current::with_fields() {
            write_around::<ALL>(span, MOST, to);
        }
    }
}
