//! Guards of threads in a forked child, which has none of the threads.

use core::ffi::c_int;
use core::panic::AssertUnwindSafe;
use core::time::Duration;
use std::panic::catch_unwind;
use std::{thread, time};

use tach_core::coarse::{self, Refresher};
use tach_core::{Instant, Recalibrator};
use test_support::assert_test_passes;

use crate::forked::{End, Forked};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const PANICKED: c_int = 10;

fn wait_for_refresh() {
    let before = coarse::now();
    while coarse::now() == before {
        thread::yield_now();
    }
}

/// Returns the number of the first check that fails in the child, or zero.
fn child(refresher: Refresher, recalibrator: Recalibrator) -> c_int {
    let begin = Instant::now();
    let first = coarse::now();
    while begin.elapsed() < Duration::from_millis(2) {}
    if cfg!(target_os = "linux") && (coarse::staleness().is_some() || coarse::now() <= first) {
        // The child still reads the parent's last refresh, which no thread would ever replace.
        return 1;
    }
    drop(refresher);
    drop(recalibrator);
    let Ok(own) = Refresher::spawn(Duration::from_millis(1)) else { return 2 };
    wait_for_refresh();
    if coarse::staleness().is_none() {
        return 3;
    }
    drop(own);
    if coarse::staleness().is_some() { 4 } else { 0 }
}

/// Not a test: the program. The tests beside it would spawn refreshers during the `fork`.
#[test]
#[ignore = "the child of the next test"]
fn program() {
    let recalibrator = Recalibrator::spawn(DAY).unwrap();
    let refresher = Refresher::spawn(Duration::from_millis(1)).unwrap();
    // Wait until the threads run: a thread that starts holds a lock of std's, for which the child's
    // threads would wait for ever.
    for _ in 0..20 {
        wait_for_refresh();
    }
    let mut guards = Some((refresher, recalibrator));
    let forked = Forked::start(|| {
        let (refresher, recalibrator) = guards.take().unwrap();
        catch_unwind(AssertUnwindSafe(|| child(refresher, recalibrator))).unwrap_or(PANICKED)
    });
    let deadline = time::Instant::now() + Duration::from_secs(60);
    assert_eq!(forked.end(deadline), End::Exit(0));
    // The parent's guards are as before.
    assert!(coarse::staleness().is_some());
    drop(guards);
    assert!(coarse::staleness().is_none());
}

#[test]
#[cfg_attr(any(miri, target_os = "emscripten"), ignore = "nothing forks, and there are no threads")]
fn guards_in_a_forked_child_neither_panic_nor_wait() {
    assert_test_passes("guards_after_fork::program", &[]);
}
