//! A signal that is sent to one thread at a high rate.
//!
//! `setitimer(ITIMER_PROF)` counts the process's CPU time, so it expires with the kernel's tick:
//! 250 times per second if that is 4 ms. A timer on the monotonic clock is a high-resolution timer
//! and reaches 10 kHz.
#![expect(unsafe_code, reason = "calls sigaction, timer_create, timer_settime and timer_delete")]

use core::ffi::c_int;
use core::mem;
use core::ptr;
use core::time::Duration;

/// A timer that sends SIGPROF to the thread that created it, until it is dropped.
pub(crate) struct Timer(libc::timer_t);

impl Timer {
    /// Starts a timer: `handler` interrupts this thread after `delay`, and then once every
    /// `period`.
    pub(crate) fn start(handler: extern "C" fn(c_int), delay: Duration, period: Duration) -> Self {
        install(handler);
        // SAFETY: all fields are integers or pointers, for which zero is a value.
        let mut event: libc::sigevent = unsafe { mem::zeroed() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = libc::SIGPROF;
        // SAFETY: the call has no preconditions.
        event.sigev_notify_thread_id = unsafe { libc::gettid() };
        let mut timer = ptr::null_mut();
        // SAFETY: both pointers are valid for the call, and `event` is filled in.
        let created =
            unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) };
        assert_eq!(created, 0, "timer_create failed");
        // A delay of zero would disarm the timer.
        let first = timespec(delay.max(Duration::from_nanos(1)));
        let schedule = libc::itimerspec { it_interval: timespec(period), it_value: first };
        // SAFETY: the timer was just created, and `schedule` is valid. A null pointer declines the
        // former times.
        let started =
            unsafe { libc::timer_settime(timer, 0, &raw const schedule, ptr::null_mut()) };
        assert_eq!(started, 0, "timer_settime failed");
        Self(timer)
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: `start` created the timer, and only this value holds it.
        unsafe {
            libc::timer_delete(self.0);
        }
    }
}

fn install(handler: extern "C" fn(c_int)) {
    // SAFETY: all fields are integers, pointers or `None`, for which zero is a value. Zero is also
    // an empty set of signals.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    action.sa_sigaction = handler as *const () as usize;
    // A system call that the signal interrupts is restarted.
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: `action` is filled in, its handler has the signature for actions without SA_SIGINFO,
    // and the handler's calls are async-signal-safe. A null pointer declines the former action.
    let installed = unsafe { libc::sigaction(libc::SIGPROF, &raw const action, ptr::null_mut()) };
    assert_eq!(installed, 0, "sigaction failed");
}

fn timespec(duration: Duration) -> libc::timespec {
    libc::timespec {
        tv_sec: duration.as_secs().try_into().expect("no longer than a second"),
        // The field's type differs on 32-bit targets.
        tv_nsec: i32::try_from(duration.subsec_nanos()).expect("less than a second").into(),
    }
}
