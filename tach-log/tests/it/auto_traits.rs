//! Properties that the compiler derives, which a change of a private field could take away.

use core::panic::{RefUnwindSafe, UnwindSafe};

use tach_log::{Event, EventTime, Json, Line, Logfmt, Timestamp, Value};

fn assert_auto_traits<T: Send + Sync + Unpin + UnwindSafe + RefUnwindSafe>() {}

#[test]
fn formats_and_timestamps_cross_threads() {
    assert_auto_traits::<Line>();
    assert_auto_traits::<Json>();
    assert_auto_traits::<Logfmt>();
    assert_auto_traits::<Timestamp>();
    assert_auto_traits::<Value<'_>>();
    assert_eq!(size_of::<(Line, Json, Logfmt, Timestamp)>(), 0);
}

#[test]
fn loggers_cross_threads() {
    assert_auto_traits::<EventTime<()>>();
    assert_eq!(size_of::<EventTime<u8>>(), 1);
}

/// Sources of fields need be neither `Send` nor `Sync`.
#[test]
fn an_event_can_be_copied() {
    fn assert_copy<T: Copy + Unpin>() {}
    assert_copy::<Event<'_>>();
}

#[cfg(feature = "slog")]
#[test]
fn drains_cross_threads() {
    use tach_log::slog::EventTime;
    assert_auto_traits::<EventTime<()>>();
    assert_eq!(size_of::<EventTime<u8>>(), 2);
}
