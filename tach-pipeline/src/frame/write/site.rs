//! Where in the program a record comes from, if a format asks for it.

use core::panic::AssertUnwindSafe;
use std::{panic, thread};

use tach_log::{Format, adapter};

use super::Writer;
use crate::frame::texts::MaybeStatic;
use crate::frame::{KIND_AT, SITE, TAG_BITS, Tag};

/// What the formats of a pipeline ask for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wanted {
    place: bool,
    thread: bool,
}

impl Wanted {
    /// Adds what `format` asks for.
    pub(crate) fn add(&mut self, format: &(impl Format + ?Sized)) {
        self.place |= format.wants_site();
        self.thread |= format.wants_thread();
    }

    #[inline]
    pub(crate) const fn is_any(self) -> bool {
        self.place || self.thread
    }
}

/// A place in the source. An unknown text is empty, an unknown line is 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) file: MaybeStatic<'a>,
    pub(crate) line: u32,
    pub(crate) module: MaybeStatic<'a>,
}

/// A thread's number and name.
pub(crate) struct ThisThread {
    id: u64,
    name: Box<str>,
}

impl ThisThread {
    /// Returns this thread's. At the very end of a thread it is not known.
    #[cold]
    fn new() -> Self {
        let known = panic::catch_unwind(AssertUnwindSafe(|| {
            let thread = thread::current();
            (adapter::thread_id(&thread), thread.name().map(Into::into))
        }));
        let (id, name) = known.unwrap_or_default();
        Self { id: id.unwrap_or(0), name: name.unwrap_or_default() }
    }
}

impl Writer<'_> {
    /// Writes the wanted parts, after all fields.
    #[inline(never)]
    pub(crate) fn site(&mut self, wanted: Wanted, place: Place<'_>) {
        self.to.buffer.add(KIND_AT, u64::from(SITE));
        if wanted.place {
            // A line has the room of a text's length.
            let line = u64::from(place.line.min(u32::MAX >> TAG_BITS)) << TAG_BITS;
            self.text([Tag::File as u64 | line], place.file);
            self.text([Tag::Module as u64], place.module);
        }
        if wanted.thread {
            let thread = self.to.thread.take().unwrap_or_else(ThisThread::new);
            self.text([Tag::Thread as u64, thread.id], MaybeStatic::Borrowed(&thread.name));
            self.to.thread = Some(thread);
        }
    }
}
