//! The clocks of a JavaScript host: a browser's page or worker, Node.

use wasm_bindgen::prelude::*;

use crate::sync::Maximum;
use crate::sync::{AtomicU64, Ordering};

#[wasm_bindgen]
extern "C" {
    type Performance;

    /// `performance` of the global scope, whichever scope that is. A host need not have it.
    #[wasm_bindgen(thread_local_v2, js_name = performance)]
    static PERFORMANCE: Option<Performance>;

    /// Returns the milliseconds since `timeOrigin`.
    #[wasm_bindgen(method)]
    fn now(this: &Performance) -> f64;

    /// Returns the milliseconds from 1970 to the start of the page, worker or process.
    #[wasm_bindgen(method, getter, js_name = timeOrigin)]
    fn time_origin(this: &Performance) -> f64;

    /// Returns the milliseconds since 1970, by a clock that may be set.
    #[wasm_bindgen(js_namespace = Date, js_name = now)]
    fn date_now() -> f64;
}

/// The largest step of the clocks. Browsers coarsen time against timing attacks: Chrome to steps of
/// 5 to 100 µs, others to up to 1 ms. `Date` has whole ms.
const STEP_NS: u64 = 1_000_000;

/// The furthest that the real-time clock may be from `Date`: twice the step of `Date`.
const DATE_STEPS_NS: u64 = 2_000_000;

/// Reads `performance`, counted from 1970 so that the clocks of a page and of its workers agree.
/// Without `performance` it reads `Date`, kept from going back.
pub(crate) fn monotonic_ns() -> Option<u64> {
    Some(monotonic())
}

fn monotonic() -> u64 {
    static DATE: Maximum = Maximum::new();
    let since_origin = PERFORMANCE.with(|performance| {
        // Convert each number before the addition: a double can't hold their sum to a microsecond.
        performance.as_ref().map(|it| ns(it.time_origin()).saturating_add(ns(it.now())))
    });
    since_origin.unwrap_or_else(|| DATE.raise(ns(date_now())))
}

/// Reads the monotonic clock plus an offset, which changes whenever `Date` is too far away. So the
/// result is finer than `Date`, and within 2 ms of it.
///
/// `Date` is read before and after the monotonic clock, since the host may pause the page between
/// two reads. One reading alone would then look too far away.
pub(crate) fn realtime_ns() -> Option<u64> {
    /// The offset from the monotonic clock, wrapping.
    static OFFSET_NS: AtomicU64 = AtomicU64::new(0);
    let (before, monotonic, after) = (ns(date_now()), monotonic(), ns(date_now()));
    // ORDERING: Relaxed. The offset publishes nothing else.
    let fine = monotonic.wrapping_add(OFFSET_NS.load(Ordering::Relaxed));
    // `Date` goes back when it is set.
    let (earliest, latest) = (before.min(after), before.max(after));
    let near =
        fine.clamp(earliest.saturating_sub(DATE_STEPS_NS), latest.saturating_add(DATE_STEPS_NS));
    if near != fine {
        // ORDERING: Relaxed. The offset publishes nothing else, and concurrent threads store values
        // that differ by at most a step of `Date`.
        OFFSET_NS.store(near.wrapping_sub(monotonic), Ordering::Relaxed);
    }
    Some(near)
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

/// Converts milliseconds to ns; a negative number to 0.
fn ns(ms: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, reason = "until 2554")]
    #[expect(clippy::cast_sign_loss, reason = "a negative number becomes 0")]
    let ns = (ms * 1e6) as u64;
    ns
}
