//! The export format of systemd's journal (<https://systemd.io/JOURNAL_EXPORT_FORMATS>): an entry a record.
//!
//! A field is `NAME=value` and a line end. If a value has control characters, its name stands alone on a
//! line, then come its length in 64 bits, the value as it is, and a line end. An empty line ends the entry.

use core::mem;

use tach_core::UnixTime;

use crate::frame::{Body, Record};
use crate::text::Text;
use tach_log::adapter::{Output, Utf8, Value};

/// Names of at most so many bytes are accepted.
const LONGEST_NAME: usize = 64;
/// Names that the head of an entry has taken.
const TAKEN: [&[u8]; 3] = [b"MESSAGE", b"PRIORITY", b"TARGET"];

/// Writes a record, which happened at `time`, as an entry.
pub(super) fn write(entries: &mut Vec<u8>, record: &Record<'_>, time: UnixTime) {
    entries.extend_from_slice(b"__REALTIME_TIMESTAMP");
    value(entries, Value::U64(time.as_micros()));
    entries.extend_from_slice(b"PRIORITY");
    value(entries, Value::U64(record.level.of_syslog().into()));
    if !record.target.as_bytes().is_empty() {
        entries.extend_from_slice(b"TARGET");
        bytes(entries, record.target.as_bytes());
    }
    entries.extend_from_slice(b"MESSAGE");
    match &record.body {
        Body::Event { message, fields } => {
            bytes(entries, message.as_bytes());
            for (key, text) in fields.clone() {
                name(entries, key);
                value(entries, text);
            }
        }
        Body::Line(line) => bytes(entries, line.strip_suffix(b"\n").unwrap_or(line)),
    }
    entries.push(b'\n');
}

/// Writes a name in capitals of ASCII, digits and `_`. It begins with a letter: those that begin with `_` are
/// the journal's own, which a reader trusts.
fn name(entries: &mut Vec<u8>, key: Utf8<'_>) {
    let key = key.as_bytes();
    let start = entries.len();
    if !key.first().is_some_and(u8::is_ascii_alphabetic) {
        entries.push(b'F');
    }
    let room = LONGEST_NAME - "F_".len();
    // One for each character.
    let characters = key.iter().filter(|&byte| byte & 0xc0 != 0x80);
    entries.extend(characters.take(room).map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => byte.to_ascii_uppercase(),
        _ => b'_',
    }));
    if TAKEN.contains(&&entries[start..]) {
        entries.push(b'_');
    }
}

/// Writes the value of the field whose name was written.
fn value(entries: &mut Vec<u8>, value: Value<'_>) {
    if let Value::Str(text) = value {
        return bytes(entries, text.as_bytes());
    }
    entries.push(b'=');
    // A record's values are texts or plain, and the buffer never fails.
    let _written = value.write_plain(&mut Output::new(Text(entries)));
    entries.push(b'\n');
}

/// Writes a text as the value of the field whose name was written.
fn bytes(entries: &mut Vec<u8>, text: &[u8]) {
    if text.iter().any(|&byte| byte.is_ascii_control() && byte != b'\t') {
        entries.push(b'\n');
        entries.extend_from_slice(&(text.len() as u64).to_le_bytes());
    } else {
        entries.push(b'=');
    }
    entries.extend_from_slice(text);
    entries.push(b'\n');
}

/// How many of the first `limit` bytes are whole entries.
pub(super) fn whole(entries: &[u8], limit: usize) -> usize {
    let (mut rest, mut whole) = (entries, 0);
    while let Some((line, after)) = split_line(rest) {
        let at = entries.len() - after.len();
        if at > limit {
            break;
        }
        rest = if line.is_empty() {
            whole = at;
            after
        } else if line.contains(&b'=') {
            after
        } else {
            skip_binary(after).unwrap_or_default()
        };
    }
    whole
}

fn split_line(entries: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = entries.iter().position(|&byte| byte == b'\n')?;
    Some((&entries[..at], &entries[at + 1..]))
}

/// What follows a value that begins with its length.
fn skip_binary(entries: &[u8]) -> Option<&[u8]> {
    let (length, after) = entries.split_first_chunk::<{ mem::size_of::<u64>() }>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    after.get(length.checked_add(1)?..)
}
