//! Properties that the compiler derives, and that a change of a private field could take away.

use core::panic::{RefUnwindSafe, UnwindSafe};

use tach_log::{Chain, Event, EventTime, Json, Keyed, Line, Logfmt, Part, Span, Timestamp, Value};
use test_support::assert_implements;

assert_implements!(
    [Send + Sync + Unpin + UnwindSafe + RefUnwindSafe + Copy]
    Chain<'static>, Line, Part<'static>, Timestamp, Value<'static>, EventTime<()>,
);

assert_implements!([Send + Sync + Unpin + UnwindSafe + RefUnwindSafe + Clone] Json, Logfmt, Keyed<()>);

// Sources of fields need be neither `Send` nor `Sync`.
assert_implements!([Copy + Unpin] Event<'static>, Span<'static>);

#[test]
fn sizes() {
    assert_eq!(size_of::<Timestamp>(), 0);
    assert_eq!(size_of::<(Json, Logfmt)>(), 2 * size_of::<usize>());
    assert_eq!(size_of::<EventTime<u8>>(), 1);
}
