//! The pauses of a thread that waits for room.

use core::time::Duration;
use std::thread;

/// The pauses of a thread that waits for room.
#[derive(Default)]
pub(crate) struct Wait {
    times: u32,
}

impl Wait {
    const SHORTEST: Duration = Duration::from_micros(20);
    const LONGEST: Duration = Duration::from_millis(1);

    pub(crate) fn next(&mut self) {
        if self.times < 2 {
            thread::yield_now();
        } else {
            let longer = Self::SHORTEST * 2_u32.pow((self.times - 2).min(8));
            thread::sleep(longer.min(Self::LONGEST));
        }
        self.times += 1;
    }
}
