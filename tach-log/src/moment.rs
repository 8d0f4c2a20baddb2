//! When a record happened: at the stamp of what this thread handles, or now.

use tach_core::{Clock, Stamp, UnixTime};

/// The Unix time of the current stamp or, without one, `clock`'s now.
#[inline]
pub(crate) fn unix_time(clock: &(impl Clock + ?Sized)) -> UnixTime {
    Stamp::current().map_or_else(|| clock.unix_time(), Stamp::unix_time)
}

/// The current stamp or, without one, that of `clock`'s now.
#[inline]
pub(crate) fn stamp(clock: &(impl Clock + ?Sized)) -> Stamp {
    Stamp::current().unwrap_or_else(|| clock.stamp())
}
