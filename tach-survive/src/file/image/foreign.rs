//! Copies a record of another process, with texts in the place of that process's numbers.

use tach_core::UnixTime;

use super::meaning::Callsite;
use super::{Image, LONGEST};
use tach_record::frame::{
    self, CALLSITE, EVENT_NAME, Head, NUMBER, Reader, RecordKind, SITE, TAG_BITS, TEXT_SHIFT, Tag,
    UNIX, WORD,
};

/// A record of another process.
#[derive(Debug)]
pub(crate) enum Foreign {
    Event(Vec<u8>),
    /// A part of a span.
    Part(Vec<u8>),
    /// The bytes contain no valid record.
    Invalid,
}

/// Returns the time of a record of another process, or `None` if its head is incomplete.
pub(super) fn foreign_time(record: &[u8], image: &Image<'_>) -> Option<UnixTime> {
    let head = Head::read(&mut Reader(record))?;
    Some(time_of(&head, image))
}

/// Copies a record of another process, from the ring with a number. Adds a field with that
/// process's number.
pub(crate) fn foreign(record: &[u8], image: &Image<'_>, ring: Option<usize>) -> Foreign {
    let kind = Head::read(&mut Reader(record)).and_then(|head| head.record());
    // A record that is passed by reference was only in memory, and is lost.
    let kind = kind.filter(|_| !frame::is_reference(record));
    let copy = kind.and_then(|kind| copy(record, kind, image, ring));
    match copy {
        None => Foreign::Invalid,
        Some(copy) if kind == Some(RecordKind::Event) => Foreign::Event(copy),
        Some(copy) => Foreign::Part(copy),
    }
}

/// The key of the field with the number of the process.
const PROCESS: &str = "recovered_pid";
/// The room for the texts of a place, and for the parts that a copy has in addition to its record.
const MORE: usize = 256;

fn copy(record: &[u8], of: RecordKind, image: &Image<'_>, ring: Option<usize>) -> Option<Vec<u8>> {
    let (thread, thread_name) = ring.map_or((0, ""), |ring| image.thread(ring));
    let mut reader = Reader(record);
    let head = Head::read(&mut reader)?;
    let is_short = head.kind & CALLSITE != 0;
    let callsite = if is_short { Some(image.callsite(head.target & !NUMBER)?) } else { None };
    let target = match callsite {
        Some(callsite) => callsite.target,
        None => meant(&mut reader, head.target, image)?,
    };
    let message = match callsite {
        Some(callsite) if of == RecordKind::Span => callsite.name,
        _ => meant(&mut reader, head.message, image)?,
    };
    let is_span = of == RecordKind::Span;
    let is_event = matches!(of, RecordKind::Event | RecordKind::Added);
    let texts = target.len() + message.len() + thread_name.len();
    let mut copy = Copied(Vec::with_capacity(record.len() + texts + MORE));
    copy.word(u64::from(length(target)?) << TEXT_SHIFT);
    copy.word(time_of(&head, image).as_nanos());
    let knows_thread = (is_span || is_event) && (thread != 0 || !thread_name.is_empty());
    let kind = head.kind & !CALLSITE | UNIX | if is_short || knows_thread { SITE } else { 0 };
    copy.word(u64::from(kind) | u64::from(length(message)?) << TEXT_SHIFT);
    copy.text(target);
    copy.text(message);
    let (ids, fields) = reader.0.split_at_checked(of.words() * WORD)?;
    copy.0.extend_from_slice(ids);
    reader.0 = fields;
    if is_span || is_event {
        copy.field(Tag::U64 as u32, PROCESS, &image.process().to_le_bytes())?;
    }
    let mut has_thread = false;
    while !reader.0.is_empty() {
        has_thread |= copy_part(&mut reader, &mut copy, image)? == Tag::Thread;
        // Bound the copy: each of many small parts may name a long text.
        if copy.0.len() > LONGEST {
            return None;
        }
    }
    // Add the thread of the ring: a call writes it into the record only if a sink's format prints
    // it.
    if !has_thread && knows_thread {
        copy.field(Tag::Thread as u32, thread_name, &thread.to_le_bytes())?;
    }
    if let Some(Callsite { name, file, module, line, .. }) = callsite {
        copy.place(file, module, line)?;
        // Leave the name out if it says only the place: that is how the macros of tracing name an
        // event.
        if is_event && name != format!("event {file}:{line}") {
            copy.field(Tag::Module as u32 | EVENT_NAME << TAG_BITS, name, &[])?;
        }
    }
    let mut bytes = copy.0;
    let length = u32::try_from(bytes.len()).ok().filter(|_| bytes.len() <= LONGEST)?;
    *bytes.first_chunk_mut()? = length.to_le_bytes();
    // Free the spare capacity: as many copies wait as there are records.
    bytes.shrink_to_fit();
    Some(bytes)
}

fn time_of(head: &Head, image: &Image<'_>) -> UnixTime {
    match head.kind & UNIX {
        0 => image.time(head.time),
        _ => UnixTime::from_nanos(head.time),
    }
}

/// Reads a text that is in the record, or looks up one that has a number in the other process.
fn meant<'a: 'm, 'm>(from: &mut Reader<'a>, code: u32, image: &'m Image<'_>) -> Option<&'m str> {
    match code & NUMBER {
        0 => from.copied(code),
        _ => image.text(code & !NUMBER),
    }
}

/// Copies a part. Returns its tag.
fn copy_part(from: &mut Reader<'_>, copy: &mut Copied, image: &Image<'_>) -> Option<Tag> {
    let mut reader = Reader(from.0);
    let (kind, code) = reader.halves()?;
    let tag = Tag::of(kind)?;
    let words = match tag {
        Tag::I64 | Tag::U64 | Tag::F64 | Tag::Thread => 1,
        Tag::I128 | Tag::U128 => 2,
        Tag::Context => 3,
        _ => 0,
    };
    let (value, rest) = reader.0.split_at_checked(words * WORD)?;
    reader.0 = rest;
    match tag {
        Tag::Context => {
            copy.word(u64::from(kind) | u64::from(code) << TEXT_SHIFT);
            copy.0.extend_from_slice(value);
        }
        Tag::Place => {
            let (file, module, line) = image.place(code & !NUMBER)?;
            copy.place(file, module, line)?;
        }
        _ => {
            let key = meant(&mut reader, code, image)?;
            copy.field(kind, key, value)?;
            if matches!(tag, Tag::Str | Tag::Json | Tag::Error | Tag::Printed) {
                copy.text(reader.copied(kind >> TAG_BITS)?);
            }
        }
    }
    from.0 = reader.0;
    Some(tag)
}

/// A record that is being written.
struct Copied(Vec<u8>);

impl Copied {
    fn word(&mut self, word: u64) {
        self.0.extend_from_slice(&word.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
        self.0.resize(self.0.len().next_multiple_of(WORD), 0);
    }

    fn place(&mut self, file: &str, module: &str, line: u32) -> Option<()> {
        let line = line.min(u32::MAX >> TAG_BITS) << TAG_BITS;
        self.field(Tag::File as u32 | line, file, &[])?;
        self.field(Tag::Module as u32, module, &[])
    }

    fn field(&mut self, kind: u32, key: &str, value: &[u8]) -> Option<()> {
        self.word(u64::from(kind) | u64::from(length(key)?) << TEXT_SHIFT);
        self.0.extend_from_slice(value);
        self.text(key);
        Some(())
    }
}

/// Returns the length of a text as a code.
fn length(text: &str) -> Option<u32> {
    u32::try_from(text.len()).ok().filter(|length| length & NUMBER == 0)
}
