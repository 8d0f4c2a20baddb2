//! Where a record is written to, beside values that fail or panic.

use core::fmt;
use core::panic::AssertUnwindSafe;
use std::{panic, thread};

use super::escape::Escaped;
use super::utf8::{Sink, Utf8};

/// What follows the part of a text that was written before its `Display` failed.
const FAILED: &str = "<failed to format>";
/// What follows the part of a text that was written before its `Display` panicked.
const PANICKED: &str = "<panicked>";

/// A sink of text that remembers how its last write went, so that a failure of the sink is told from one
/// of a value on its way there.
pub struct Output<W> {
    sink: W,
    state: State,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    /// Nothing has gone wrong.
    Sound,
    /// The sink is writing. Still so afterwards: it panicked.
    Writing,
    /// The sink has failed.
    Failed,
}

impl<W: Sink> Output<W> {
    pub const fn new(sink: W) -> Self {
        Self { sink, state: State::Sound }
    }

    /// Runs `f`, which calls code of the user's and writes here. `Ok` is what became of that code, `Err` a
    /// failure of the sink.
    ///
    /// # Panics
    ///
    /// If the sink does: that is not of the record's making.
    pub fn guard(&mut self, f: impl FnOnce(&mut Self) -> fmt::Result) -> Outcome {
        let result = panic::catch_unwind(AssertUnwindSafe(|| f(self)));
        match (self.state, result) {
            (State::Writing, Err(panic)) => panic::resume_unwind(panic),
            (State::Failed | State::Writing, _) => Err(fmt::Error),
            (State::Sound, result) => Ok(noted(&result)),
        }
    }

    /// Writes what `value` prints, escaped; if that fails or panics, the part before, and a note.
    pub(super) fn escaped<const QUOTED: bool>(&mut self, value: fmt::Arguments<'_>) -> fmt::Result {
        let printed =
            self.guard(|out| fmt::Write::write_fmt(&mut Escaped::<_, QUOTED>(out), value))?;
        match printed {
            Ok(()) => Ok(()),
            Err(note) => fmt::Write::write_str(self, note),
        }
    }
}

/// How the user's code went that wrote to a sink which can't fail: well, or with a note for the reader.
pub fn noted(result: &thread::Result<fmt::Result>) -> Result<(), &'static str> {
    match result {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) => Err(FAILED),
        Err(_) => Err(PANICKED),
    }
}

/// How calling the user's code went: well or, with a note for the reader, not. The outer `Err` is the sink's.
pub type Outcome = Result<Result<(), &'static str>, fmt::Error>;

impl<W: Sink> Output<W> {
    /// Writes to the sink, unless that has failed.
    #[inline]
    fn write(&mut self, write: impl FnOnce(&mut W) -> fmt::Result) -> fmt::Result {
        if self.state == State::Failed {
            return Err(fmt::Error);
        }
        self.state = State::Writing;
        let result = write(&mut self.sink);
        self.state = if result.is_ok() { State::Sound } else { State::Failed };
        result
    }
}

impl<W: Sink> fmt::Write for Output<W> {
    #[inline]
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.write(|sink| sink.write_str(text))
    }
}

impl<W: Sink> Sink for Output<W> {
    #[inline]
    fn write_utf8(&mut self, text: Utf8<'_>) -> fmt::Result {
        self.write(|sink| sink.write_utf8(text))
    }
}
