//! Nested values as JSON, through the crate `serde_json`.

mod probe;

use core::fmt;
use core::str;
use std::io;

use serde_core::Serialize;

pub use self::probe::is_nested;

use crate::escape;

/// Prints a value as JSON in one line, escaped as texts are.
#[derive(Debug)]
pub struct Nested<'a, T: ?Sized>(pub &'a T);

impl<T: Serialize + ?Sized> fmt::Display for Nested<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        serde_json::to_writer(Escaped(f), self.0).map_err(|_| fmt::Error)
    }
}

/// Passes on parts of JSON. Characters that a line may not hold are in its strings alone, so each
/// may be escaped.
struct Escaped<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl io::Write for Escaped<'_, '_> {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        let text = str::from_utf8(part).map_err(io::Error::other)?;
        let written = if escape::is_clean::<false>(text) {
            self.0.write_str(text)
        } else {
            let mut escaped = Vec::new();
            escape::write::<false>(&mut escaped, text);
            self.0.write_str(&String::from_utf8_lossy(&escaped))
        };
        written.map_err(io::Error::other)?;
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
