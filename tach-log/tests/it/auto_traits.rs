//! Properties that the compiler derives, which a change of a private field could take away.

use core::panic::{RefUnwindSafe, UnwindSafe};

use tach_log::{Sinks, Stamped, Timestamp};

fn assert_auto_traits<T: Send + Sync + Unpin + UnwindSafe + RefUnwindSafe>() {}

#[test]
fn every_public_type_crosses_threads() {
    assert_auto_traits::<Timestamp>();
    assert_eq!(size_of::<Timestamp>(), 8);
}

#[test]
fn loggers_cross_threads() {
    fn assert_send_sync<T: Send + Sync + Unpin>() {}
    assert_auto_traits::<Stamped<()>>();
    assert_eq!(size_of::<Stamped<u8>>(), 1);
    assert_send_sync::<Sinks>();
}

#[cfg(feature = "slog")]
#[test]
fn the_value_for_slog_is_empty() {
    assert_auto_traits::<tach_log::slog::Ts>();
    assert_eq!(size_of::<tach_log::slog::Ts>(), 0);
}

#[cfg(feature = "slog")]
#[test]
fn drains_cross_threads() {
    assert_auto_traits::<tach_log::slog::Stamped<()>>();
    assert_auto_traits::<tach_log::slog::Pinned<()>>();
    assert_eq!(size_of::<tach_log::slog::Stamped<u8>>(), 1);
    assert_eq!(size_of::<tach_log::slog::Pinned<u8>>(), 1);
}
