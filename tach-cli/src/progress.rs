//! Progress of a command that takes long, shown only on a terminal.

use core::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A shorter command shows no progress.
const SHORTEST: Duration = Duration::from_secs(2);

/// A line on stderr, which disappears when the value is dropped. If stderr is not a terminal,
/// nothing is shown.
#[derive(Debug)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// Shows the progress of a command that takes about `length`.
    pub(crate) fn new(length: Duration) -> Self {
        if length < SHORTEST {
            return Self(ProgressBar::hidden());
        }
        let bar = ProgressBar::new(millis(length));
        // `wide_msg` truncates the message at the end of the line.
        let template = "{bar:10} {percent:>3} %  {wide_msg}";
        let style = ProgressStyle::with_template(template).expect("the template is valid");
        bar.set_style(style.progress_chars("=> "));
        Self(bar)
    }

    /// Shows that the command runs since `elapsed`, and its state.
    pub(crate) fn set(&self, elapsed: Duration, message: impl FnOnce() -> String) {
        // Formatting a message that nobody sees would disturb a measurement.
        if !self.0.is_hidden() {
            self.0.set_position(millis(elapsed));
            self.0.set_message(message());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
