//! Cuts the texts of a long record of a span.

use tach_log::adapter::{Budget, KEY_BYTES, TRUNCATED, beginning};

use super::read::{Fields, Head, Reader};
use super::{CALLSITE, RecordKind, SPANS, Scratch, WORD, Writer};

/// Returns a record whose texts are cut, so that they and the keys take `most` bytes at most, and
/// the number of bytes that were cut off. The message of an event gets half of the bytes, and each
/// text of the fields half of those that are left then. The fields of the spans around an event are
/// left out, since its span has them. An event gets the number of cut bytes as a field. Returns
/// `None` if `record` can't be read, or has the number of a callsite.
#[cold]
pub fn shortened(record: &[u8], most: usize) -> Option<(Vec<u8>, u64)> {
    let mut reader = Reader(record);
    let head = Head::read(&mut reader)?;
    if head.kind & CALLSITE != 0 {
        return None;
    }
    let (target, message) = (reader.text(head.target)?, reader.text(head.message)?);
    let (target, kept) = (beginning(target, KEY_BYTES), beginning(message, most / 2));
    let kind = head.record()?;
    let is_event = matches!(kind, RecordKind::Event | RecordKind::Added);
    let (ids, fields) = reader.0.split_at_checked(kind.words() * WORD)?;
    // The place and the thread follow the fields.
    let mut site = Reader(fields);
    site.skip_fields();
    let budget = Budget::new(most - kept.len());
    let fields = Fields::new(fields, head.kind);
    let mut scratch = Scratch::new();
    let mut to = Writer::begin_again(&mut scratch, head.time, head.kind & !SPANS, target, kept);
    to.raw(ids);
    let mut has_truncated = false;
    for (key, value) in fields.parts().map_while(|(key, value)| Some((key, value?))) {
        has_truncated |= key == TRUNCATED;
        let passed = budget.pass(key, value, &mut |key, value| {
            to.copied_field(key, value);
            Ok(())
        });
        debug_assert!(passed.is_ok(), "nothing fails here");
    }
    let lost = (message.len() - kept.len() + budget.lost()) as u64;
    if is_event && lost > 0 && !has_truncated {
        to.copied_field(TRUNCATED, lost.into());
    }
    to.raw(site.0);
    to.end();
    Some((scratch.written().to_owned(), lost))
}
