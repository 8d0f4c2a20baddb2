//! Reading the parts of spans.

use tach_log::adapter::Site;

use super::fields::Fields;
use super::{Head, Reader};
use crate::frame::{RECORD_SHIFT, RecordKind, Time};
use crate::level::Level;
use crate::trace::SpanContext;

/// A part of a span.
#[derive(Debug)]
pub(crate) struct SpanPart<'a> {
    pub(crate) time: Time,
    pub(crate) context: SpanContext,
    pub(crate) what: What<'a>,
    pub(crate) fields: Fields<'a>,
}

#[derive(Debug)]
pub(crate) enum What<'a> {
    Start(Start<'a>),
    Values,
    /// A link to this span.
    Link(SpanContext),
    End,
}

#[derive(Debug)]
pub(crate) struct Start<'a> {
    pub(crate) level: Level,
    pub(crate) target: &'a str,
    pub(crate) name: &'a str,
    /// The parent's id, or zero.
    pub(crate) parent: u64,
}

/// Returns whether the record that begins with `bytes` is a part of a span, not an event.
#[inline]
pub(crate) fn is_of_span(bytes: &[u8]) -> bool {
    Head::read(&mut Reader(bytes)).is_some_and(|head| head.part() != RecordKind::Event as u8)
}

impl Head {
    #[inline]
    fn part(&self) -> u8 {
        let [part, ..] = (self.kind >> RECORD_SHIFT).to_le_bytes();
        part
    }
}

impl<'a> SpanPart<'a> {
    /// Returns the place in the program and the thread, as far as the part has them.
    pub(crate) fn site(&self) -> Site<'a> {
        self.fields.site()
    }

    /// Returns the part without the values of the keys `redacted`.
    pub(crate) fn redacted(mut self, redacted: &'a [String]) -> Self {
        self.fields.redacted = redacted;
        self
    }

    /// Reads the part of a span that `bytes` hold. Returns `None` if they hold none.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        const START: u8 = RecordKind::Start as u8;
        const VALUES: u8 = RecordKind::Values as u8;
        const LINK: u8 = RecordKind::Link as u8;
        const END: u8 = RecordKind::End as u8;
        let mut reader = Reader(bytes);
        let head = Head::read(&mut reader)?;
        let target = reader.text(head.target)?;
        let name = reader.text(head.message)?;
        let context = reader.context()?;
        let what = match head.part() {
            START => {
                let parent = u64::from_le_bytes(reader.array()?);
                What::Start(Start { level: head.level(), target, name, parent })
            }
            VALUES => What::Values,
            LINK => {
                let linked = reader.context()?;
                let is_sampled = u64::from_le_bytes(reader.array()?) != 0;
                What::Link(SpanContext { is_sampled, ..linked })
            }
            END => What::End,
            _ => return None,
        };
        let fields = Fields::new(reader.0, head.kind);
        Some(Self { time: head.time(), context, what, fields })
    }
}
