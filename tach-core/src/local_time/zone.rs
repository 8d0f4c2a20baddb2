//! The system's zone, kept by each thread for a minute.

use core::cell::{Cell, RefCell};
use std::fs;
use std::thread_local;

use jiff02::tz::TimeZone;

use crate::os;
use crate::unix_time::UnixTime;

/// How long a thread keeps the zone.
const KEPT_S: u64 = 60;

/// The machine's zone (localtime(5)).
const LOCALTIME: &str = "/etc/localtime";

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

/// Returns the system's zone at `time`, or UTC if it can't be found.
///
/// A failure is kept as well, since jiff would search the file system each time.
#[must_use]
#[inline]
pub(super) fn zone_at(time: UnixTime) -> TimeZone {
    find_with(time, system)
}

/// Returns the zone that `TZ` names, or else the machine's.
fn system() -> TimeZone {
    if os::is_environment_trusted() {
        return TimeZone::system();
    }
    // `TimeZone::system` reads `TZ`, so an untrusted caller could make this privileged process open
    // any file.
    let zone = fs::read(LOCALTIME).ok().and_then(|file| TimeZone::tzif("", &file).ok());
    zone.unwrap_or(TimeZone::UTC)
}

/// A search for the zone on this thread, which ends when the value is dropped.
struct Search;

impl Search {
    fn begin() -> Self {
        let _ending = IS_SOUGHT.try_with(|is_sought| is_sought.set(true));
        Self
    }
}

impl Drop for Search {
    fn drop(&mut self) {
        let _ending = IS_SOUGHT.try_with(|is_sought| is_sought.set(false));
    }
}

/// Returns whether this thread is looking for the zone, so that [`zone_at`] returns the previous
/// one.
///
/// jiff may log the search, and the timestamp of that line must not start another search.
#[inline]
fn is_sought() -> bool {
    IS_SOUGHT.try_with(Cell::get).unwrap_or(true)
}

/// Returns the zone that was found for the minute of `time`, or calls `find`.
#[inline]
pub(super) fn find_with(time: UnixTime, find: impl FnOnce() -> TimeZone) -> TimeZone {
    let minute = Some(time.as_secs() / KEPT_S);
    let last = FOUND.try_with(|found| found.borrow().clone()).unwrap_or(Found::NOTHING);
    if last.minute == minute || is_sought() {
        return last.zone;
    }
    let zone = {
        let _search = Search::begin();
        find()
    };
    let found = Found { zone: zone.clone(), minute };
    let _ = FOUND.try_with(|cell| cell.replace(found));
    zone
}
