//! A record as words: written at the call, read on the back end.
//!
//! Numbers and booleans are kept in binary, texts are copied, and those of the program are told by
//! [number](crate::frame::texts), so that the call neither formats nor allocates where it need not. Bytes can be
//! taken apart again without trusting them: but that texts are texts.
//!
//! ```text
//! length u32, target u32 | ticks or Unix time in ns u64 | flags u8, level u8, 0 u16, message u32
//!     | target's bytes | message's bytes (or those of a line, which stands for message and fields) | field*
//! field: tag 4 bits, length of text 28 bits, key u32 | value of 0, 8 or 16 bytes | key's bytes | text's bytes
//! target, message, key: number, or length of bytes
//! ```
//!
//! These are words of eight bytes: what takes less is filled up. The processor reads quickly what it has just
//! written only if it wrote that at a time, so records are written, but for what is printed, and
//! [queued](crate::queue) by words.

mod buffer;
mod read;
mod reader;
mod scratch;
pub(crate) mod texts;
mod time;
mod write;

pub(crate) use self::read::{Body, Record, length, split, time};
pub(crate) use self::scratch::Scratch;
pub(crate) use self::time::Time;
pub(crate) use self::write::Encoder;

/// What records are written and [queued](crate::queue) by.
pub(crate) const WORD: usize = size_of::<u64>();
/// Length and target; time; flags, level and message.
pub(crate) const HEAD: usize = 3 * WORD;
/// The byte at which the last of them begins.
const KIND_AT: usize = 2 * WORD;

/// The time is Unix time; otherwise it is ticks.
const UNIX: u32 = 1;
/// The message is a line that a writer has formatted, and is written as it is.
const LINE: u32 = 2;

/// The first bit by which a word tells a text: its second half.
const TEXT_SHIFT: u32 = u32::BITS;
/// The first bit by which a head's last word tells the level.
const LEVEL_SHIFT: u32 = 8;
/// In place of a text's length: the rest is its number, and no bytes follow.
const NUMBER: u32 = 1 << 31;

/// The bits of a field's tag, before the length of its text.
const TAG_BITS: u32 = 4;

/// A record that is longer may have texts whose lengths can't be told.
pub(crate) const LONGEST: usize = (u32::MAX >> TAG_BITS) as usize;

/// What a field's value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Tag {
    Null,
    False,
    True,
    I64,
    U64,
    I128,
    U128,
    F64,
    Str,
}

impl Tag {
    const ALL: [Self; 9] = [
        Self::Null,
        Self::False,
        Self::True,
        Self::I64,
        Self::U64,
        Self::I128,
        Self::U128,
        Self::F64,
        Self::Str,
    ];

    /// The tag in the first half of a field's first word.
    fn of(kind: u32) -> Option<Self> {
        let tag = kind & !(u32::MAX << TAG_BITS);
        Self::ALL.get(usize::try_from(tag).ok()?).copied()
    }
}

#[cfg(test)]
mod tests;
