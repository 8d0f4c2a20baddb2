//! Cuts records that are too long.

use std::io;

use tach_log::adapter::{Budget, EachField, EachSpan, Fields, TRUNCATED, beginning, pass_lost};

/// The message and the fields of a record, cut to a number of bytes.
pub(super) struct Cut<'a> {
    message: &'a str,
    fields: &'a dyn Fields,
    /// How many bytes of fields are kept.
    room: usize,
    /// How many bytes of the message were cut off.
    lost: usize,
}

impl<'a> Cut<'a> {
    /// Cuts the message to half of `most` bytes. Each text in the fields is later cut to half of
    /// the bytes that are left then, so that a long text leaves room for the fields after it.
    pub(super) fn new(message: &'a str, fields: &'a dyn Fields, most: usize) -> Self {
        let kept = beginning(message, most / 2);
        let (room, lost) = (most.saturating_sub(kept.len()), message.len() - kept.len());
        Self { message: kept, fields, room, lost }
    }

    pub(super) const fn message(&self) -> &'a str {
        self.message
    }

    /// Returns the message for a format that prints no fields. If bytes were cut off, the message
    /// ends with their number.
    pub(super) fn line(&self) -> String {
        match self.lost {
            0 => self.message.to_owned(),
            lost => format!("{} {TRUNCATED}={lost}", self.message),
        }
    }
}

impl Fields for Cut<'_> {
    fn visit(&self, each: EachField<'_>) -> io::Result<()> {
        let budget = Budget::new(self.room);
        self.fields.visit(&mut |key, value| budget.pass(key, value, each))?;
        pass_lost(self.lost + budget.lost(), self.fields, each)
    }

    /// Visits the event's own fields. They get half of the room, and the spans' fields the other
    /// half. The count of lost bytes is passed as a field of the event, and includes the bytes that
    /// the spans' fields lose.
    fn visit_own(&self, each: EachField<'_>) -> io::Result<()> {
        let budget = Budget::new(self.room / 2);
        self.fields.visit_own(&mut |key, value| budget.pass(key, value, each))?;
        let of_spans = Budget::new(self.room / 2);
        self.fields.visit_spans(&mut |_, fields| {
            fields.visit(&mut |key, value| of_spans.pass(key, value, &mut |_, _| Ok(())))
        })?;
        pass_lost(self.lost + budget.lost() + of_spans.lost(), self.fields, each)
    }

    fn is_printed(&self) -> bool {
        self.fields.is_printed()
    }

    fn visit_spans(&self, each: EachSpan<'_>) -> io::Result<()> {
        let budget = Budget::new(self.room / 2);
        self.fields.visit_spans(&mut |name, fields| each(name, &OfSpan { fields, budget: &budget }))
    }
}

/// The fields of a span, cut to the rest of a budget that all spans of the record share.
struct OfSpan<'a> {
    fields: &'a dyn Fields,
    budget: &'a Budget,
}

impl Fields for OfSpan<'_> {
    fn visit(&self, each: EachField<'_>) -> io::Result<()> {
        self.fields.visit(&mut |key, value| self.budget.pass(key, value, each))
    }

    fn is_printed(&self) -> bool {
        self.fields.is_printed()
    }

    fn has_key(&self, is: &dyn Fn(&str) -> bool) -> bool {
        self.fields.has_key(is)
    }
}
