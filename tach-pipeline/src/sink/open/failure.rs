//! A writer that fails: when to try again, and when to say so.

use core::time::Duration;
use std::time::Instant;

use crate::sink::unlocked::tell;

const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
const BETWEEN_MESSAGES: Duration = Duration::from_secs(10);

/// What is known of how a writer fails.
#[derive(Debug, Default)]
pub(super) struct Failure {
    /// When it failed last, and how long to leave it alone from then; nothing once it has worked again.
    lasting: Option<(Instant, Duration)>,
    /// When stderr was told last.
    told: Option<Instant>,
}

impl Failure {
    /// Whether it is time to try again.
    pub(super) fn may_try(&self) -> bool {
        self.lasting.is_none_or(|(failed, pause)| failed.elapsed() >= pause)
    }

    /// The writer works.
    pub(super) fn is_over(&mut self) {
        self.lasting = None;
    }

    /// Notes a failure, and tells it on stderr if that has not been done lately.
    pub(super) fn happened(&mut self, message: &str, waiting: usize, is_stderr: bool) {
        let pause = self.lasting.map_or(FIRST_PAUSE, |(_, pause)| (pause * 2).min(LONGEST_PAUSE));
        self.lasting = Some((Instant::now(), pause));
        if !is_stderr && self.told.is_none_or(|told| told.elapsed() >= BETWEEN_MESSAGES) {
            self.told = Some(Instant::now());
            tell(format_args!("{message}; {waiting} bytes wait, trying again"));
        }
    }
}
