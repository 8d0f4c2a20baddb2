//! A record that is too long, cut.

use std::io;

use tach_log::adapter::{Budget, EachField, EachSpan, Fields, TRUNCATED, beginning, pass_lost};

/// The message and the fields of a record, as far as they fit into a number of bytes.
pub(super) struct Cut<'a> {
    message: &'a str,
    fields: &'a dyn Fields,
    /// How many bytes the fields may have.
    room: usize,
    /// How many bytes of the message are missing.
    lost: usize,
}

impl<'a> Cut<'a> {
    /// Cuts the message to half of `most` bytes, and each text of the fields to half of what is
    /// left, so that long texts leave room for short ones.
    pub(super) fn new(message: &'a str, fields: &'a dyn Fields, most: usize) -> Self {
        let kept = beginning(message, most / 2);
        let (room, lost) = (most.saturating_sub(kept.len()), message.len() - kept.len());
        Self { message: kept, fields, room, lost }
    }

    pub(super) const fn message(&self) -> &'a str {
        self.message
    }

    /// Returns the message of a line, which has no fields: with the number of bytes that it lacks.
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

    /// Visits the event's own fields, which have half of the room. The spans' fields have the other
    /// half. The count is the event's, and includes the spans' loss.
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

/// The fields of a span, as far as there is room.
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
