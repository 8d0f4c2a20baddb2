//! What Linux says of the counter.
#![expect(unsafe_code, reason = "calls prctl, open, read and close")]

use core::ffi::{CStr, c_int, c_ulong};
use core::str;

use super::{CLOCKSOURCE_BYTES, KernelView};

const CURRENT: &CStr = c"/sys/devices/system/clocksource/clocksource0/current_clocksource";
const AVAILABLE: &CStr = c"/sys/devices/system/clocksource/clocksource0/available_clocksource";

pub(crate) fn kernel_view(buffer: &mut [u8; CLOCKSOURCE_BYTES]) -> KernelView<'_> {
    let (first, second) = buffer.split_at_mut(CLOCKSOURCE_BYTES / 2);
    let current = read_line(CURRENT, first);
    // A kernel that uses the counter has it: a file less to read at the start of a process.
    let available = if current == Some("tsc") { current } else { read_line(AVAILABLE, second) };
    KernelView { counter_readable: counter_readable(), current, available }
}

/// Whether RDTSC may be executed here: a process that had it disabled gets SIGSEGV (prctl(2)).
fn counter_readable() -> bool {
    let mut mode: c_int = 0;
    // SAFETY: PR_GET_TSC writes one int to the pointer in its second argument.
    let answer = unsafe { libc::prctl(libc::PR_GET_TSC, (&raw mut mode) as c_ulong) };
    // The call fails where the architecture has no such switch: reading is then always allowed.
    answer != 0 || mode == libc::PR_TSC_ENABLE
}

/// The first line of a file, without the blanks around it; `None` if it can't be read.
fn read_line<'a>(path: &CStr, buffer: &'a mut [u8]) -> Option<&'a str> {
    // SAFETY: the path ends with a NUL byte.
    let file = unsafe { libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    if file < 0 {
        return None;
    }
    // SAFETY: the pointer is valid for as many bytes as are named.
    let length = unsafe { libc::read(file, buffer.as_mut_ptr().cast(), buffer.len()) };
    // SAFETY: the descriptor was opened above, and nobody else has it.
    unsafe {
        libc::close(file);
    }
    let text = buffer.get(..usize::try_from(length).ok()?)?;
    let line = str::from_utf8(text).ok()?.lines().next()?.trim();
    (!line.is_empty()).then_some(line)
}
