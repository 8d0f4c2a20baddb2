//! Children of `fork`, and how they end.
#![expect(unsafe_code, reason = "calls fork, _exit, waitpid and kill")]

use core::ffi::c_int;
use core::ptr;
use core::time::Duration;
use std::thread;
use std::time::Instant;

/// A child of this process that was not waited for yet.
pub(crate) struct Forked(libc::pid_t);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Exit(c_int),
    Signal(c_int),
    /// It did not end, and was killed.
    Hung,
}

impl Forked {
    /// Forks a child that exits with the result of `run`. If this process has other threads, `run`
    /// must be async-signal-safe: they may have left any lock taken, the allocator's too.
    pub(crate) fn start(run: impl FnOnce() -> c_int) -> Self {
        // SAFETY: the child calls only `run`, which is async-signal-safe where it must be, and
        // `_exit`.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            let code = run();
            // SAFETY: `_exit` runs no destructors and no handlers of this process's other threads.
            unsafe { libc::_exit(code) }
        }
        assert!(pid > 0, "fork failed");
        Self(pid)
    }

    /// Waits for the child's end, until `deadline` at most.
    pub(crate) fn end(self, deadline: Instant) -> End {
        loop {
            if let Some(end) = self.poll(libc::WNOHANG) {
                return end;
            }
            if Instant::now() > deadline {
                // SAFETY: the child was not waited for, so the process id is still its own.
                unsafe {
                    libc::kill(self.0, libc::SIGKILL);
                }
                self.poll(0);
                return End::Hung;
            }
            thread::sleep(Duration::from_micros(200));
        }
    }

    fn poll(&self, options: c_int) -> Option<End> {
        let mut status: c_int = 0;
        // SAFETY: the pointer is valid for one int.
        let pid = unsafe { libc::waitpid(self.0, ptr::from_mut(&mut status), options) };
        if pid != self.0 {
            return None;
        }
        Some(if libc::WIFEXITED(status) {
            End::Exit(libc::WEXITSTATUS(status))
        } else {
            End::Signal(libc::WTERMSIG(status))
        })
    }
}
