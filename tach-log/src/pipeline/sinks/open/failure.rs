//! A writer that fails: when to try again, and when to say so.

use std::io::{self, Write as _};
use std::time::{Duration, Instant};

const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
const BETWEEN_MESSAGES: Duration = Duration::from_secs(10);

/// Nothing, or what is known of a failure that lasts.
#[derive(Debug, Default)]
pub(super) struct Failure {
    lasting: Option<Lasting>,
}

#[derive(Debug)]
struct Lasting {
    tried: Instant,
    pause: Duration,
    told: Instant,
}

impl Failure {
    /// Whether it is time to try again.
    pub(super) fn may_try(&self) -> bool {
        self.lasting.as_ref().is_none_or(|lasting| lasting.tried.elapsed() >= lasting.pause)
    }

    /// Notes a failure, and tells it on stderr if that has not been done lately.
    pub(super) fn happened(&mut self, message: &str, waiting: usize, is_stderr: bool) {
        let now = Instant::now();
        let told = self.lasting.as_ref().map(|lasting| lasting.told);
        let is_told = told.is_some_and(|told| now.duration_since(told) < BETWEEN_MESSAGES);
        let pause = self.lasting.as_ref().map_or(FIRST_PAUSE, |lasting| lasting.pause * 2);
        let told = if is_told { told.unwrap_or(now) } else { now };
        self.lasting = Some(Lasting { tried: now, pause: pause.min(LONGEST_PAUSE), told });
        if !is_told && !is_stderr {
            let _best_effort =
                writeln!(io::stderr(), "tach-log: {message}; {waiting} bytes wait, trying again");
        }
    }
}
