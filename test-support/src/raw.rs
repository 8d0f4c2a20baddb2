//! A format of a user's.

use std::io::{self, Write as _};

use tach_log::{Event, Format};

/// A format that writes each part of an event as it receives it, and ends with a dot instead of a
/// line end.
#[derive(Debug, Clone, Copy)]
pub struct Raw;

impl Format for Raw {
    fn write(&self, event: &Event<'_>, to: &mut Vec<u8>) -> io::Result<()> {
        let nanos = event.time().as_nanos();
        let (level, target) = (event.level(), event.target());
        write!(to, "{nanos} {level} {} {target} {}", event.level_name(), event.message())?;
        event.fields(|key, value| write!(to, "|{key}={value:?}"))?;
        assert!(!event.shows_colors());
        to.push(b'.');
        Ok(())
    }
}
