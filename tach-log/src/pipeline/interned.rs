//! Texts of the program as numbers: targets, keys, and messages without arguments.
//!
//! They come again with each record, and never end. A number of four bytes is written faster than the text is
//! copied, and can be read back without trusting it, as an address could not.

use core::hash::{Hash as _, Hasher as _};
use std::hash::DefaultHasher;
use std::sync::{Mutex, MutexGuard, OnceLock};

/// So many texts a thread can know the numbers of, at most: 4 KiB.
const KNOWN: usize = 1 << KNOWN_BITS;
const KNOWN_BITS: u32 = 8;

/// The texts of the process: 4096 at most, for 96 KiB. Those beyond are copied.
static TEXTS: Texts<4096> = Texts::new();

/// A text as a call has it.
#[derive(Debug, Clone, Copy)]
pub(super) enum MaybeStatic<'a> {
    /// One of the program.
    Static(&'static str),
    /// One that may end.
    Borrowed(&'a str),
}

/// The text with that number, if it was given.
#[inline]
pub(super) fn text(number: u32) -> Option<&'static str> {
    TEXTS.get(number)
}

/// Texts that have numbers: those of their places, for good.
struct Texts<const MOST: usize> {
    places: [OnceLock<&'static str>; MOST],
    /// Held while a number is given. Nobody waits for it: in a forked process it may be held by a thread that is
    /// not there.
    giving: Mutex<()>,
}

impl<const MOST: usize> Texts<MOST> {
    /// So many places are tried for a text.
    const TRIED: usize = 16;

    const fn new() -> Self {
        Self { places: [const { OnceLock::new() }; MOST], giving: Mutex::new(()) }
    }

    #[inline]
    fn get(&self, number: u32) -> Option<&'static str> {
        self.places.get(usize::try_from(number).ok()?)?.get().copied()
    }

    /// The number of `text`, which has it from now on; `None` if there is no place for it.
    fn number(&self, text: &'static str, _alone: &MutexGuard<'_, ()>) -> Option<u32> {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let first = usize::try_from(hasher.finish() % MOST as u64).ok()?;
        let mut tried = (first..first + Self::TRIED).map(|place| place % MOST);
        let place = tried.find(|&place| *self.places[place].get_or_init(|| text) == text)?;
        u32::try_from(place).ok()
    }
}

/// The numbers that a thread knows, by where the texts are.
pub(super) struct Interner {
    known: [Known; KNOWN],
    /// There was no place for a text in the whole process: no other is tried.
    is_full: bool,
}

/// A text, which never moves, and its number.
#[derive(Clone, Copy)]
struct Known {
    /// Zero if there is none.
    address: usize,
    length: u32,
    number: u32,
}

impl Interner {
    pub(super) const fn new() -> Self {
        let nothing = Known { address: 0, length: 0, number: 0 };
        Self { known: [nothing; KNOWN], is_full: false }
    }

    /// The number of `text`, if it is found at once: for nearly all that were looked for before.
    #[inline]
    pub(super) fn at_once(&self, text: &'static str) -> Option<u32> {
        let known = &self.known[place(text)];
        known.is_of(text).then_some(known.number)
    }

    /// The number of `text`, which may have it from now on; `None` if it has none here.
    pub(super) fn number(&mut self, text: &'static str) -> Option<u32> {
        self.number_in(&TEXTS, text)
    }

    fn number_in<const MOST: usize>(
        &mut self,
        texts: &Texts<MOST>,
        text: &'static str,
    ) -> Option<u32> {
        let places = [place(text), place(text) ^ 1];
        if let Some(place) = places.into_iter().find(|&place| self.known[place].is_of(text)) {
            return Some(self.known[place].number);
        }
        let vacant = places.into_iter().find(|&place| self.known[place].address == 0)?;
        if self.is_full {
            return None;
        }
        let alone = texts.giving.try_lock().ok()?;
        let number = texts.number(text, &alone);
        self.is_full = number.is_none();
        let length = u32::try_from(text.len()).ok()?;
        self.known[vacant] = Known { address: text.as_ptr().addr(), length, number: number? };
        number
    }
}

impl Known {
    #[inline]
    fn is_of(&self, text: &'static str) -> bool {
        self.address == text.as_ptr().addr() && self.length as usize == text.len()
    }
}

/// Where a thread knows a text, or in the neighbour of that place: by Fibonacci hashing, since texts of a
/// program are near each other.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the low bits tell near texts apart")]
fn place(text: &'static str) -> usize {
    let spread = (text.as_ptr().addr() as u32).wrapping_mul(0x9E37_79B9);
    (spread >> (u32::BITS - KNOWN_BITS)) as usize
}

#[cfg(test)]
mod tests;
