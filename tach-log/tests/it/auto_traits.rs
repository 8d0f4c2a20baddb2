//! Properties that the compiler derives, which a change of a private field could take away.

use core::panic::{RefUnwindSafe, UnwindSafe};

use tach_log::Timestamp;

fn assert_auto_traits<T: Send + Sync + Unpin + UnwindSafe + RefUnwindSafe>() {}

#[test]
fn every_public_type_crosses_threads() {
    assert_auto_traits::<Timestamp>();
    assert_eq!(size_of::<Timestamp>(), 8);
}

#[cfg(feature = "slog")]
#[test]
fn the_value_for_slog_is_empty() {
    assert_auto_traits::<tach_log::slog::Ts>();
    assert_eq!(size_of::<tach_log::slog::Ts>(), 0);
}
