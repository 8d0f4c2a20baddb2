//! A signal to one thread at a high rate.
//!
//! `setitimer(ITIMER_PROF)` counts the CPU time of the process and so expires with the kernel's
//! tick, 250 times a second where that is 4 ms. A timer on the monotonic clock has a high-resolution
//! timer of its own and reaches 10 kHz.
#![expect(unsafe_code, reason = "calls sigaction, timer_create, timer_settime and timer_delete")]

use core::ffi::c_int;
use core::mem;
use core::ptr;
use core::time::Duration;

/// Sends SIGPROF to the thread that created it until it is dropped.
pub(crate) struct Timer(libc::timer_t);

impl Timer {
    /// Has `handler` interrupt this thread after `delay` and then once every `period`.
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
        assert_eq!(created, 0, "a timer is created");
        // A delay of zero would disarm it.
        let first = timespec(delay.max(Duration::from_nanos(1)));
        let schedule = libc::itimerspec { it_interval: timespec(period), it_value: first };
        // SAFETY: the timer was just created, `schedule` is valid, and a null pointer is allowed where
        // the former times are not wanted.
        let started =
            unsafe { libc::timer_settime(timer, 0, &raw const schedule, ptr::null_mut()) };
        assert_eq!(started, 0, "a timer is started");
        Self(timer)
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: `start` created the timer, and nobody else has it.
        unsafe {
            libc::timer_delete(self.0);
        }
    }
}

/// Makes `handler` SIGPROF's.
fn install(handler: extern "C" fn(c_int)) {
    // SAFETY: all fields are integers or pointers or `None`, for which zero is a value; an empty set
    // of signals is zero as well.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    action.sa_sigaction = handler as *const () as usize;
    // Whatever the main thread waits for goes on afterwards.
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: `action` is filled in and its handler has the signature that goes without SA_SIGINFO;
    // what that handler calls is async-signal-safe. A null pointer is allowed for the former action.
    let installed = unsafe { libc::sigaction(libc::SIGPROF, &raw const action, ptr::null_mut()) };
    assert_eq!(installed, 0, "SIGPROF gets a handler");
}

fn timespec(duration: Duration) -> libc::timespec {
    libc::timespec {
        tv_sec: duration.as_secs().try_into().expect("no longer than a second"),
        // It has another type on 32 bits.
        tv_nsec: i32::try_from(duration.subsec_nanos()).expect("less than a second").into(),
    }
}
