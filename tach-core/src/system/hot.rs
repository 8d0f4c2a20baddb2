//! The memory of each read: the choice of the source and the line in use, on one cache line.

use crate::source::Choice;
use crate::timeline::Timeline;

/// The words of a read are the choice's last one and the timeline's first ones.
#[derive(Debug)]
#[repr(C, align(128))]
pub(super) struct Clock {
    choice: Choice,
    pub(super) monotonic: Timeline,
}

pub(super) static CLOCK: Clock = Clock { choice: Choice::new(), monotonic: Timeline::new() };

/// Returns the process's choice of the source.
#[inline]
pub(crate) fn choice() -> &'static Choice {
    &CLOCK.choice
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_touches_one_cache_line() {
        const LINE: usize = 64;
        let current = CLOCK.monotonic.current();
        let first = (&raw const CLOCK.choice).addr() + size_of::<Choice>() - size_of::<u64>();
        let last = (&raw const *current).addr() + size_of_val(current) - 1;
        assert!(first < (&raw const *current).addr());
        assert_eq!(first / LINE, last / LINE, "{first:#x} to {last:#x}");
    }
}
