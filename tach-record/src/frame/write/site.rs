//! Writes the place in the program from which a record comes, if a format asks for it.

use tach_log::Format;

use super::Writer;
use crate::frame::MaybeStatic;
use crate::frame::places::StaticPlace;
use crate::frame::this_thread::ThisThread;
use crate::frame::{FOREIGN, NO_KEY, SITE, TAG_BITS, TEXT_SHIFT, Tag};
use crate::ids::{Around, SAMPLED, SpanContext};

/// The kinds and the parts of records that the sinks of a pipeline need.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is asked for alone")]
pub struct Wanted {
    /// Whether any sink writes file, line and module.
    pub place: bool,
    /// Whether any sink writes the thread.
    pub thread: bool,
    /// Whether any sink takes events, with the names and the fields of the spans around them.
    pub events: bool,
    /// Whether any sink takes spans.
    pub spans: bool,
    /// Whether the durations of all spans are collected.
    pub durations: bool,
    /// Whether a flight recorder takes spans, and events even if no sink takes them.
    pub recorder: bool,
    /// Whether the environment has switched off the sinks that take spans. Spans still have ids.
    pub ids: bool,
}

impl Wanted {
    /// Adds the parts that a format of events needs.
    pub fn add(&mut self, format: &(impl Format + ?Sized)) {
        self.events = true;
        self.place |= format.wants_site();
        self.thread |= format.wants_thread();
    }

    /// Adds the parts that the flight recorder needs.
    pub fn add_flight(&mut self) {
        (self.recorder, self.place, self.thread) = (true, true, true);
    }

    /// Returns whether the place or the thread is wanted.
    #[inline]
    pub const fn is_any(self) -> bool {
        self.place | self.thread
    }

    /// Returns whether the ids of open spans are needed.
    pub const fn are_spans(self) -> bool {
        self.has_own_ids() || self.durations
    }

    /// Returns whether records contain the ids of the pipeline's spans. If only durations are
    /// collected, they don't: no span would be found by its id.
    #[inline]
    pub const fn has_own_ids(self) -> bool {
        self.spans || self.recorder || self.ids
    }
}

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

    /// Writes the ids of the span around the event, after all fields, for a record whose place and
    /// thread are known otherwise. (Takes references: to pass a copy of `wanted`, the compiler
    /// would take its fields apart and put them together again.)
    #[inline]
    pub fn span_around(&mut self, wanted: &Wanted, around: Option<&Around>) {
        let Some(around) = around else { return self.mark(SITE) };
        self.mark(if around.is_own { SITE } else { SITE | FOREIGN });
        if wanted.has_own_ids() || !around.is_own {
            self.context(&around.context);
        }
    }

    /// Writes a place without a number.
    fn place(&mut self, place: Place<'_>) {
        // The line's number is stored in place of a text's length.
        let line = u64::from(place.line.min(u32::MAX >> TAG_BITS)) << TAG_BITS;
        self.text([Tag::File as u64 | line], place.file);
        self.text([Tag::Module as u64], place.module);
    }

    #[inline]
    pub(in crate::frame) fn context(&mut self, around: &SpanContext) {
        let flags = if around.is_sampled { SAMPLED } else { 0 };
        let kind = Tag::Context as u64 | u64::from(flags) << TAG_BITS;
        let [low, high] = around.trace_halves();
        self.bare([kind | u64::from(NO_KEY) << TEXT_SHIFT, low, high, around.span]);
    }
}
