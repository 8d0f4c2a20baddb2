//! What is wrong with options.

use std::io;

/// The faults of options: the end of a call that is wrong, and what would be right.
#[derive(Debug, Default)]
pub struct Faults(pub Vec<(String, &'static str)>);

impl Faults {
    /// Adds a fault unless `is_right`.
    pub(crate) fn unless(
        &mut self,
        is_right: bool,
        call: impl FnOnce() -> String,
        wanted: &'static str,
    ) {
        if !is_right {
            self.0.push((call(), wanted));
        }
    }

    /// # Errors
    ///
    /// If there is a fault, with a line for each.
    pub(crate) fn into_result(self) -> io::Result<()> {
        let line = |(call, wanted): &(String, &str)| format!("can't use {call}: {wanted}");
        let lines: Vec<_> = self.0.iter().map(line).collect();
        if lines.is_empty() {
            return Ok(());
        }
        Err(io::Error::new(io::ErrorKind::InvalidInput, lines.join("\n")))
    }
}
