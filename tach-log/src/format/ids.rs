//! The ids of the span around an event.

use crate::event::Event;
use crate::value::{Value, write_plain};

/// The keys of the ids in the default layouts, and in the lines for people.
pub(super) const TRACE_ID: &str = "trace_id";
pub(super) const SPAN_ID: &str = "span_id";

/// Returns whether the default layouts reserve a key for an id, in events that have ids.
#[inline]
pub(super) fn is_id_key(key: &str) -> bool {
    matches!(key, TRACE_ID | SPAN_ID)
}

/// An id as a part of a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Id {
    /// The trace's id, in 32 hexadecimal digits.
    Trace,
    /// The span's id, in 16 hexadecimal digits.
    Span,
    /// The lower half of the trace's id as a decimal number, as Datadog's tracers write the id.
    DecimalTrace,
    /// The span's id as a decimal number.
    DecimalSpan,
    /// Whether the trace is sampled.
    IsSampled,
}

/// The ids of the trace and of the span.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ids {
    trace: u128,
    span: u64,
}

impl Ids {
    #[inline]
    pub(super) fn of(event: &Event<'_>) -> Option<Self> {
        event.trace_context().map(|(trace, span, _)| Self { trace, span })
    }

    /// Returns whether a field says what an id says, as those of libraries that log the ids
    /// themselves.
    #[inline]
    pub(super) fn has(self, key: &str, value: Value<'_>) -> bool {
        is_id_key(key) && self.is_value_of(key, value)
    }

    #[cold]
    fn is_value_of(self, key: &str, value: Value<'_>) -> bool {
        let mut is_it = false;
        self.each(|id, digits| {
            is_it |= id == key && matches!(value, Value::Str(text) if text.as_bytes() == digits);
        });
        is_it
    }

    /// Calls `each` with the key and the digits of both ids.
    pub(super) fn each(self, mut each: impl FnMut(&str, &[u8])) {
        each(TRACE_ID, &hexadecimal::<32>(self.trace));
        each(SPAN_ID, &hexadecimal::<16>(self.span.into()));
    }
}

impl Id {
    /// Writes the id of an event that has ids. `quotes` is what stands before and after a text.
    pub(super) fn write(self, to: &mut Vec<u8>, event: &Event<'_>, quotes: &[u8]) {
        let Some((trace, span, _)) = event.trace_context() else { return };
        to.extend_from_slice(if self == Self::IsSampled { b"" } else { quotes });
        match self {
            Self::Trace => to.extend_from_slice(&hexadecimal::<32>(trace)),
            Self::Span => to.extend_from_slice(&hexadecimal::<16>(span.into())),
            Self::DecimalTrace => write_plain(to, Value::U128(trace & u128::from(u64::MAX))),
            Self::DecimalSpan => write_plain(to, Value::U64(span)),
            Self::IsSampled => write_plain(to, Value::Bool(event.is_sampled())),
        }
        to.extend_from_slice(if self == Self::IsSampled { b"" } else { quotes });
    }
}

/// Returns the last `N` hexadecimal digits of a number.
fn hexadecimal<const N: usize>(number: u128) -> [u8; N] {
    let mut digits = [b'0'; N];
    let mut rest = number;
    for digit in digits.iter_mut().rev() {
        let [low, ..] = rest.to_le_bytes();
        *digit = b"0123456789abcdef"[usize::from(low & 0xf)];
        rest >>= 4;
    }
    digits
}
