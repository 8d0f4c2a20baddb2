//! The system's zone, as each thread last found it.

use core::cell::{Cell, RefCell};
use std::thread_local;

use jiff::tz::TimeZone;
use tach_core::UnixTime;

use crate::during::during;

/// So long a thread goes by what it has found.
pub(super) const KEPT_S: u64 = 60;

/// A zone, and the minute for which it was found.
#[derive(Debug, Clone)]
struct Found {
    zone: TimeZone,
    minute: Option<u64>,
}

impl Found {
    const NOTHING: Self = Self { zone: TimeZone::UTC, minute: None };
}

thread_local! {
    static FOUND: RefCell<Found> = const { RefCell::new(Found::NOTHING) };
    static IS_SOUGHT: Cell<bool> = const { Cell::new(false) };
}

/// The system's zone at `time`, or UTC where it can't be found.
///
/// jiff keeps no failure, and would look into files anew each time: this is kept for the minute as well.
#[inline]
pub(super) fn at(time: UnixTime) -> TimeZone {
    zone_by(time, TimeZone::system)
}

/// Whether this thread is looking for the zone, so that [`at`] gives the one from before.
///
/// jiff may log what it does, and a line needs a timestamp: were the zone sought for that one too, there
/// would be no end.
#[inline]
pub(super) fn is_sought() -> bool {
    IS_SOUGHT.try_with(Cell::get).unwrap_or(true)
}

/// The zone that was found for the minute of `time`, or the one that `find` gives.
#[inline]
pub(super) fn zone_by(time: UnixTime, find: impl FnOnce() -> TimeZone) -> TimeZone {
    let minute = Some(time.as_secs() / KEPT_S);
    let last = FOUND.try_with(|found| found.borrow().clone()).unwrap_or(Found::NOTHING);
    if last.minute == minute || is_sought() {
        return last.zone;
    }
    let zone = during(&IS_SOUGHT, true, find);
    let found = Found { zone: zone.clone(), minute };
    // Where the thread's memory is gone, it is sought each time.
    let _ = FOUND.try_with(|cell| cell.replace(found));
    zone
}
