//! What Linux knows of its real-time clock's error, by `adjtimex(2)`.
#![expect(unsafe_code, reason = "calls adjtimex")]

use core::ffi::c_int;
use core::mem;
use core::time::Duration;

use libc::timex;

use super::ClockError;

pub(crate) fn clock_error() -> Option<ClockError> {
    let mut state = unset();
    // SAFETY: the pointer is valid for one timex; a call whose `modes` are 0 only reads the clock.
    let answer = unsafe { libc::adjtimex(&raw mut state) };
    from_state(answer, &state)
}

/// A state with nothing in it, which also sets nothing.
fn unset() -> timex {
    // SAFETY: a timex is made of integers only, and for those zero is a value.
    unsafe { mem::zeroed() }
}

/// What a call of `adjtimex` told; `None` if it failed, as where a sandbox forbids it.
fn from_state(answer: c_int, state: &timex) -> Option<ClockError> {
    if answer < 0 {
        return None;
    }
    Some(ClockError {
        max: from_us(state.maxerror)?,
        estimated: from_us(state.esterror)?,
        synchronized: answer != libc::TIME_ERROR && state.status & libc::STA_UNSYNC == 0,
    })
}

/// The fields' type is not the same on all targets.
fn from_us(us: impl TryInto<u64>) -> Option<Duration> {
    us.try_into().ok().map(Duration::from_micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(maxerror: i16, esterror: i16, status: c_int) -> timex {
        timex { maxerror: maxerror.into(), esterror: esterror.into(), status, ..unset() }
    }

    #[test]
    fn the_fields_are_microseconds() {
        let expected = ClockError {
            max: Duration::from_micros(7),
            estimated: Duration::from_micros(3),
            synchronized: true,
        };
        assert_eq!(from_state(0, &state(7, 3, 0)), Some(expected));
    }

    #[test]
    fn an_unsynchronized_clock_says_so_in_two_ways() {
        let cases = [
            (0, 0, true),
            (1, libc::STA_PLL, true),
            (libc::TIME_ERROR, 0, false),
            (0, libc::STA_UNSYNC, false),
            (libc::TIME_ERROR, libc::STA_UNSYNC | libc::STA_PLL, false),
        ];
        for (answer, status, expected) in cases {
            let error = from_state(answer, &state(1, 1, status)).expect("a good answer");
            assert_eq!(error.synchronized, expected, "{answer}, {status:#x}");
        }
    }

    #[test]
    fn a_failed_or_senseless_answer_says_nothing() {
        assert_eq!(from_state(-1, &state(7, 3, 0)), None);
        assert_eq!(from_state(0, &state(-1, 3, 0)), None);
        assert_eq!(from_state(0, &state(7, -1, 0)), None);
    }
}
