//! The clocks of a JavaScript host: a browser's page or worker, Node.

use wasm_bindgen::prelude::*;

use crate::sync::Maximum;
use crate::sync::{AtomicU64, Ordering};

#[wasm_bindgen]
extern "C" {
    type Performance;

    /// Of the global scope, whichever it is; a host need not have it.
    #[wasm_bindgen(thread_local_v2, js_name = performance)]
    static PERFORMANCE: Option<Performance>;

    /// Milliseconds since `timeOrigin`.
    #[wasm_bindgen(method)]
    fn now(this: &Performance) -> f64;

    /// Milliseconds from 1970 to when the page, worker or process began.
    #[wasm_bindgen(method, getter, js_name = timeOrigin)]
    fn time_origin(this: &Performance) -> f64;

    /// Milliseconds since 1970, by a clock that may be set.
    #[wasm_bindgen(js_namespace = Date, js_name = now)]
    fn date_now() -> f64;
}

/// Browsers tell time in steps, against attacks that measure: of 5 to 100 µs in Chrome, of up to 1 ms in
/// others. `Date` has whole ms.
const STEP_NS: u64 = 1_000_000;

/// How far the real-time clock may be from `Date` before that is followed: twice the step of `Date`.
const DATE_STEPS_NS: u64 = 2_000_000;

/// Counted from 1970, so that the clocks of a page and of its workers agree. Without `performance` it is
/// `Date`, kept from going back.
pub(crate) fn monotonic_ns() -> u64 {
    static DATE: Maximum = Maximum::new();
    let since_origin = PERFORMANCE.with(|performance| {
        // Apart, since a double can't tell the sum to a microsecond.
        performance.as_ref().map(|it| ns(it.time_origin()).saturating_add(ns(it.now())))
    });
    since_origin.unwrap_or_else(|| DATE.raise(ns(date_now())))
}

/// The monotonic clock, moved whenever `Date` has been found elsewhere: finer than `Date`, and as true to
/// 2 ms.
pub(crate) fn realtime_ns() -> u64 {
    /// What is to be added to the monotonic clock, wrapping.
    static OFFSET_NS: AtomicU64 = AtomicU64::new(0);
    let (date, monotonic) = (ns(date_now()), monotonic_ns());
    // ORDERING: Relaxed, since the offset stands alone.
    let fine = monotonic.wrapping_add(OFFSET_NS.load(Ordering::Relaxed));
    if fine.abs_diff(date) <= DATE_STEPS_NS {
        return fine;
    }
    // ORDERING: Relaxed, as above; threads that do this at once store the same to a step of `Date`.
    OFFSET_NS.store(date.wrapping_sub(monotonic), Ordering::Relaxed);
    date
}

pub(crate) fn resolution_ns() -> u64 {
    STEP_NS
}

pub(crate) fn realtime_resolution_ns() -> u64 {
    DATE_STEPS_NS
}

pub(crate) fn has_monotonic_clock() -> bool {
    PERFORMANCE.with(Option::is_some)
}

/// Of milliseconds; 0 if they are negative.
fn ns(ms: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, reason = "until 2554")]
    #[expect(clippy::cast_sign_loss, reason = "a negative number becomes 0")]
    let ns = (ms * 1e6) as u64;
    ns
}
