//! A writer that fails: when to try again, and when to report it.

use core::time::Duration;
use std::time::Instant;

use crate::sink::unlocked;

const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
const BETWEEN_MESSAGES: Duration = Duration::from_secs(10);

/// How a sink fails.
#[derive(Debug, Default)]
pub(super) struct Failure {
    /// When the writer failed last, and the pause from then on; `None` once it has worked again.
    lasting: Option<(Instant, Duration)>,
    /// When the last message was printed.
    reported: Option<Instant>,
}

impl Failure {
    pub(super) fn may_try(&self) -> bool {
        self.lasting.is_none_or(|(failed, pause)| failed.elapsed() >= pause)
    }

    pub(super) fn is_over(&mut self) {
        self.lasting = None;
    }

    /// Records a failure while so many bytes wait.
    pub(super) fn happened(&mut self, message: &str, waiting: usize, is_stderr: bool) {
        let pause = self.lasting.map_or(FIRST_PAUSE, |(_, pause)| (pause * 2).min(LONGEST_PAUSE));
        self.lasting = Some((Instant::now(), pause));
        self.report(&format!("{message}; {waiting} bytes wait, trying again"), is_stderr);
    }

    /// Prints a message on stderr, unless one was printed lately or stderr is the sink.
    pub(super) fn report(&mut self, message: &str, is_stderr: bool) {
        if !is_stderr && self.reported.is_none_or(|reported| reported.elapsed() >= BETWEEN_MESSAGES)
        {
            self.reported = Some(Instant::now());
            unlocked::to_stderr(format_args!("{message}"));
        }
    }
}
