//! Children that come from `fork`, and how they end.
#![expect(unsafe_code, reason = "calls fork, _exit, waitpid and kill")]

use core::ffi::c_int;
use core::ptr;
use core::time::Duration;
use std::thread;
use std::time::Instant;

/// A child of this process that has not been waited for.
pub(crate) struct Forked(libc::pid_t);

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// With this code.
    Exit(c_int),
    /// By this signal.
    Signal(c_int),
    /// Not at all, so it was killed.
    Hung,
}

impl Forked {
    /// Forks a child that exits with what `run` returns. `run` must be async-signal-safe: where there
    /// are other threads they may have left any lock taken, the allocator's too.
    pub(crate) fn start(run: impl FnOnce() -> c_int) -> Self {
        // SAFETY: the child calls nothing but `run`, which is async-signal-safe, and `_exit`.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            let code = run();
            // SAFETY: `_exit` runs no destructors and no handlers of this process's other threads.
            unsafe { libc::_exit(code) }
        }
        assert!(pid > 0, "a process can be forked");
        Self(pid)
    }

    /// Waits for the end, but no longer than to `deadline`.
    pub(crate) fn end(self, deadline: Instant) -> End {
        loop {
            if let Some(end) = self.poll(libc::WNOHANG) {
                return end;
            }
            if Instant::now() > deadline {
                // SAFETY: the child has not been waited for, so the number is still its own.
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
