//! The ids of the span around an event.

use crate::event::Event;
use crate::value::{Value, write_plain};

/// The keys of the ids in the default layouts, and in the lines for people.
pub(super) const TRACE_ID: &str = "trace_id";
pub(super) const SPAN_ID: &str = "span_id";

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
    /// Returns the ids that a default layout writes. If a field has the key of one of them, the
    /// layout writes none: together, an id of the program's and an id of tach's would name a span
    /// that does not exist.
    #[inline]
    pub(super) fn of(event: &Event<'_>) -> Option<Self> {
        event.trace_context().and_then(|(trace, span, _)| {
            (!event.has_key(&|key| matches!(key, TRACE_ID | SPAN_ID)))
                .then_some(Self { trace, span })
        })
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
