//! Guards of threads in a forked child, which has none of the threads.
#![expect(unsafe_code, reason = "calls fork, waitpid and _exit")]

use core::panic::AssertUnwindSafe;
use core::time::Duration;
use std::panic::catch_unwind;
use std::thread;

use tach_core::coarse::{self, Refresher};
use tach_core::{Instant, Recalibrator};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const PANICKED: i32 = 10;

/// Returns the number of the first check that fails in the child, or zero.
fn child(refresher: Refresher, recalibrator: Recalibrator) -> i32 {
    let begin = Instant::now();
    let first = coarse::now();
    while begin.elapsed() < Duration::from_millis(2) {}
    if cfg!(target_os = "linux") && (coarse::staleness().is_some() || coarse::now() <= first) {
        // The parent's last refresh would last for ever.
        return 1;
    }
    drop(refresher);
    drop(recalibrator);
    let Ok(own) = Refresher::spawn(Duration::from_millis(1)) else { return 2 };
    let before = coarse::now();
    while coarse::now() == before {
        thread::yield_now();
    }
    if coarse::staleness().is_none() {
        return 3;
    }
    drop(own);
    if coarse::staleness().is_some() { 4 } else { 0 }
}

#[test]
fn guards_in_a_forked_child_neither_panic_nor_wait() {
    let refresher = Refresher::spawn(DAY).unwrap();
    let recalibrator = Recalibrator::spawn(DAY).unwrap();
    // SAFETY: the child has this thread alone. It takes no lock that another thread may hold but
    // the allocator's, which the C library makes usable.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let checked = catch_unwind(AssertUnwindSafe(|| child(refresher, recalibrator)));
        // SAFETY: the call takes no pointer, and ends the process.
        unsafe { libc::_exit(checked.unwrap_or(PANICKED)) };
    }
    let begin = std::time::Instant::now();
    let mut status = 0;
    loop {
        // SAFETY: `status` is a place for an integer.
        let ended = unsafe { libc::waitpid(pid, &raw mut status, libc::WNOHANG) };
        if ended == pid {
            break;
        }
        if begin.elapsed() > Duration::from_secs(60) {
            // SAFETY: the call takes no pointer, and the child was not waited for yet.
            unsafe { libc::kill(pid, libc::SIGKILL) };
            panic!("the child hangs");
        }
        thread::sleep(Duration::from_millis(1));
    }
    assert!(libc::WIFEXITED(status), "{status}");
    assert_eq!(libc::WEXITSTATUS(status), 0);
    // The parent's are as before.
    assert!(coarse::staleness().is_some());
    drop((refresher, recalibrator));
    assert!(coarse::staleness().is_none());
}
