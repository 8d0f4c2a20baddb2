//! Linux's estimate of its real-time clock's error, by `adjtimex(2)`.
#![expect(unsafe_code, reason = "calls adjtimex")]

use core::ffi::c_int;
use core::mem;
use core::time::Duration;

use libc::timex;

use crate::os::KernelClock;

pub(crate) fn kernel_clock() -> Option<KernelClock> {
    let mut state = unset();
    // SAFETY: the pointer is valid for one timex. With `modes` 0 the call only reads the clock.
    let answer = unsafe { libc::adjtimex(&raw mut state) };
    from_state(answer, &state)
}

/// Returns a zeroed state, which sets nothing.
fn unset() -> timex {
    // SAFETY: a timex has only integer fields, for which zero is valid.
    unsafe { mem::zeroed() }
}

/// Converts the answer of `adjtimex`. Returns `None` if the call failed, as in a sandbox that
/// forbids it.
fn from_state(answer: c_int, state: &timex) -> Option<KernelClock> {
    if answer < 0 {
        return None;
    }
    Some(KernelClock {
        max_error: from_us(state.maxerror)?,
        estimated_error: from_us(state.esterror)?,
        synchronized: answer != libc::TIME_ERROR && state.status & libc::STA_UNSYNC == 0,
    })
}

/// Converts a field, whose type differs between targets.
fn from_us(us: impl TryInto<u64>) -> Option<Duration> {
    us.try_into().ok().map(Duration::from_micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_two_errors_in_microseconds_and_whether_the_clock_is_synchronized() {
        let both = libc::STA_UNSYNC | libc::STA_PLL;
        let cases = [
            ((0, 7_i16, 3_i16, 0), Some((7, 3, true))),
            ((1, 7, 3, libc::STA_PLL), Some((7, 3, true))),
            ((libc::TIME_ERROR, 7, 3, 0), Some((7, 3, false))),
            ((0, 7, 3, libc::STA_UNSYNC), Some((7, 3, false))),
            ((libc::TIME_ERROR, 7, 3, both), Some((7, 3, false))),
            ((-1, 7, 3, 0), None),
            ((0, -1, 3, 0), None),
            ((0, 7, -1, 0), None),
        ];
        for (reply @ (answer, maxerror, esterror, status), expected) in cases {
            let (maxerror, esterror) = (maxerror.into(), esterror.into());
            let found = from_state(answer, &timex { maxerror, esterror, status, ..unset() });
            let expected = expected.map(|(max_us, estimated_us, synchronized)| KernelClock {
                max_error: Duration::from_micros(max_us),
                estimated_error: Duration::from_micros(estimated_us),
                synchronized,
            });
            assert_eq!(found, expected, "{reply:?}");
        }
    }
}
