//! Writes the place in the program from which a record comes, if a format asks for it.

use super::Writer;
use crate::frame::MaybeStatic;
use crate::frame::places::StaticPlace;
use crate::frame::this_thread::ThisThread;
use crate::frame::{TAG_BITS, Tag, Wanted};
use crate::ids::Around;

/// A place in the source. Unknown texts are empty, and an unknown line is 0.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The path of the file.
    pub file: MaybeStatic<'a>,
    /// The number of the line.
    pub line: u32,
    /// The path of the module.
    pub module: MaybeStatic<'a>,
}

impl Place<'_> {
    /// Returns the place if its texts live as long as the process.
    #[inline]
    const fn as_static(self) -> Option<StaticPlace> {
        match (self.file, self.module) {
            (MaybeStatic::Static(file), MaybeStatic::Static(module)) => {
                Some(StaticPlace { file, module, line: self.line })
            }
            _ => None,
        }
    }
}

impl Writer<'_> {
    /// Writes the wanted parts and the ids of the span around the event, after all fields.
    #[inline(never)]
    pub fn site(&mut self, wanted: Wanted, place: Place<'_>, around: Option<Around>) {
        self.span_around(&wanted, around.as_ref());
        if wanted.place {
            match place.as_static().and_then(|place| self.to.place(place)) {
                Some(code) => self.to.buffer.push(&(Tag::Place as u64 | code).to_le_bytes()),
                None => self.place(place),
            }
        }
        if wanted.thread {
            let thread = self.to.thread.get_or_insert_with(ThisThread::new);
            self.to.buffer.push(&thread.field);
        }
    }

    /// Writes a place without a number.
    fn place(&mut self, place: Place<'_>) {
        // The line's number is stored in place of a text's length.
        let line = u64::from(place.line.min(u32::MAX >> TAG_BITS)) << TAG_BITS;
        self.text([Tag::File as u64 | line], place.file);
        self.text([Tag::Module as u64], place.module);
    }
}
