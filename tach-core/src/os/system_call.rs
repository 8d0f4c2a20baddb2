//! The OS's clocks past the C library, whose functions another library may replace: libfaketime
//! replaces `clock_gettime`, and if it was built so, `syscall` too.

use libc::{CLOCK_REALTIME, clockid_t, timespec};

use super::{MONOTONIC, clock_gettime, unix};

pub(crate) fn clocks_by_system_call() -> Option<[u64; 2]> {
    Some([read(MONOTONIC)?, read(CLOCK_REALTIME)?])
}

fn read(clock: clockid_t) -> Option<u64> {
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    if clock_gettime(clock, &mut time) == 0 { unix::ns(time.tv_sec, time.tv_nsec) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_clock_is_none() {
        assert_eq!(read(100), None);
        assert!(read(MONOTONIC).is_some());
    }
}
