//! Windows's count of the current thread's CPU time.
#![expect(unsafe_code, reason = "calls GetThreadTimes")]

use windows_sys::Win32::Foundation::FILETIME;
use windows_sys::Win32::System::Threading::{GetCurrentThread, GetThreadTimes};

/// The unit of file times.
const STEP_NS: u64 = 100;

pub(crate) fn thread_cpu_ns() -> Option<u64> {
    let mut times = [FILETIME { dwLowDateTime: 0, dwHighDateTime: 0 }; 4];
    let [created, exited, kernel, user] = &mut times;
    // SAFETY: the call takes no argument, and returns a constant that stands for this thread.
    let thread = unsafe { GetCurrentThread() };
    // SAFETY: the handle is valid in this thread, and each pointer for one FILETIME.
    let answer = unsafe { GetThreadTimes(thread, created, exited, kernel, user) };
    if answer == 0 { None } else { Some((steps(*kernel) + steps(*user)) * STEP_NS) }
}

/// Returns a duration in steps, which fit in 58 bits for 900 years.
fn steps(time: FILETIME) -> u64 {
    u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime)
}
