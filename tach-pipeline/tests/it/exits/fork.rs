//! Processes that fork.
#![expect(unsafe_code, reason = "forks, as programs do that have children without exec")]

use std::io;
use std::sync::mpsc;

use tach_pipeline::WhenFull;

use super::*;

/// Forks, runs `f` in the child and asserts that it returns true. Kills a child that hangs.
pub(crate) fn in_child(f: impl FnOnce() -> bool) {
    in_child_that_ends(|| {
        let is_well = f();
        // SAFETY: ends the child without the parent's exit handlers.
        unsafe { libc::_exit(i32::from(!is_well)) };
    });
}

/// Forks, runs `f` in the child, which ends the child, and asserts that it ends well.
fn in_child_that_ends(f: impl FnOnce()) {
    // SAFETY: the child only calls the code under test, which needs no lock of another thread.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: it only sets a timer.
        unsafe { libc::alarm(20) };
        f();
    }
    let mut status = 0;
    // SAFETY: the status is a live integer.
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!((waited, status), (child, 0));
}

/// The child has no writer, and reports that on stderr.
pub(super) fn while_stderr_is_locked(pipeline: &Pipeline) {
    let (locked, is_locked) = mpsc::channel();
    let (done, is_done) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            let _lock = io::stderr().lock();
            locked.send(()).unwrap();
            let _closed = is_done.recv();
        });
        is_locked.recv().unwrap();
        in_child(|| {
            info(pipeline, "in the child");
            pipeline.flush(LONG).is_err()
        });
        drop(done);
    });
}

/// The child logs into a full queue whose lock the back end may hold: in about one fork of ten.
pub(super) fn while_a_queue_is_read() {
    let builder = Pipeline::builder().queue_bytes(1 << 20).when_full(WhenFull::DropOldest);
    let sink = Sink::writer("nothing", io::sink());
    let guard = builder.sink(sink).build().unwrap();
    let text = "x".repeat(1 << 18);
    for _ in 0..50 {
        (0..8).for_each(|_| info(guard.pipeline(), &text));
        in_child(|| {
            (0..8).for_each(|_| info(guard.pipeline(), &text));
            true
        });
    }
}

/// Logs, and forks a child that exits without logging: its thread's memory is dropped.
pub(super) fn exits(pipeline: &Pipeline, log: &dyn Fn()) {
    log();
    in_child_that_ends(|| process::exit(0));
    pipeline.flush(LONG).unwrap();
}

/// Logs, forks at once, and logs more in the child than its queue holds.
pub(super) fn logs(pipeline: &Pipeline, log: &dyn Fn(), guard: Guard) {
    log();
    in_child(|| {
        (0..10).for_each(|_| log());
        let flushed = pipeline.flush(Duration::from_secs(1));
        drop(guard);
        flushed.is_err_and(|error| error.to_string().contains("forked"))
    });
}
