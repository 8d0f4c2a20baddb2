//! A record as bytes: written at the call, read on the back end.
//!
//! Numbers and booleans are kept in binary, texts are copied, and those of the program are told by
//! [number](super::interned), so that the call neither formats nor allocates where it need not. Bytes can be
//! taken apart again without trusting them: but that texts are texts.
//!
//! ```text
//! length u32 | flags u8 | level u8 | ticks or Unix time in ns u64 | target | message | field*
//! target, message, key: number u32, or length u32 | bytes (so a line, which stands for message and fields)
//! field: tag u8 | value, or length of text u32 | key | text
//! ```

mod buffer;
mod decode;
mod encode;
mod reader;
mod scratch;
mod time;

pub(super) use self::decode::{Body, Record, frame, length, time};
pub(super) use self::encode::Encoder;
pub(super) use self::scratch::Scratch;
pub(super) use self::time::Time;

/// Length, flags, level and time.
pub(super) const HEAD: usize = 4 + 1 + 1 + 8;

/// The time is Unix time; otherwise it is ticks.
const UNIX: u8 = 1;
/// The message is a line that a writer has formatted, and is written as it is.
const LINE: u8 = 2;

/// In place of a text's length: the rest is its number, and no bytes follow.
const NUMBER: u32 = 1 << 31;

/// A record that is longer may have texts whose lengths can't be told.
pub(super) const LONGEST: usize = (NUMBER - 1) as usize;

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

    fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.get(usize::from(byte)).copied()
    }
}

#[cfg(test)]
mod tests;
