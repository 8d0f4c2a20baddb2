//! Texts of the program as numbers: modules as targets, keys, and messages without arguments.
//!
//! They come again with each record, and never end. A number of four bytes is written faster than the text is
//! copied, and can be read back without trusting it, as an address could not.

#[cfg(feature = "tracing")]
mod lists;

use core::hash::{Hash as _, Hasher as _};
use std::hash::DefaultHasher;
use std::sync::{Mutex, OnceLock};

#[cfg(feature = "tracing")]
pub(crate) use self::lists::{Lists, Numbers};
use crate::frame::LONGEST;

/// So many texts of the process can have numbers, or almost: 96 KiB. Those beyond are copied.
const MOST: usize = 4096;
/// So many places are tried for a text.
const TRIED: usize = 16;
/// So many texts are known in one place, at most: 4 KiB.
const KNOWN: usize = 1 << KNOWN_BITS;
const KNOWN_BITS: u32 = 8;

static TEXTS: OnceLock<Texts> = OnceLock::new();

/// A text as a call has it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum MaybeStatic<'a> {
    /// One of the program.
    Static(&'static str),
    /// One that may end.
    Borrowed(&'a str),
    /// One of the program whose number is known.
    #[cfg(feature = "tracing")]
    Numbered(u32),
}

/// Makes the table of the process, before any record is written: a call waits for nobody who does. (A process that
/// is forked at this very moment can't make its own.)
pub(crate) fn set_up() {
    TEXTS.get_or_init(|| Texts::new(MOST));
}

/// The text with that number, if it was given.
#[inline]
pub(crate) fn text(number: u32) -> Option<&'static str> {
    TEXTS.get()?.get(number)
}

/// Texts that have numbers: those of their places, for good.
struct Texts {
    places: Box<[OnceLock<&'static str>]>,
    /// Held while a place is taken. Nobody waits for it: in a forked process it may be held by a thread that is
    /// not there.
    taking: Mutex<()>,
}

/// Why a text has no number.
#[derive(Debug, PartialEq, Eq)]
enum Unnumbered {
    /// Other texts have all places that are tried for it, and will have them.
    Full,
    /// Another thread takes a place at this moment.
    Busy,
}

impl Texts {
    fn new(most: usize) -> Self {
        let places = (0..most).map(|_| OnceLock::new()).collect();
        Self { places, taking: Mutex::new(()) }
    }

    #[inline]
    fn get(&self, number: u32) -> Option<&'static str> {
        self.places.get(usize::try_from(number).ok()?)?.get().copied()
    }

    /// The number of `text`, which has it from now on.
    fn number(&self, text: &'static str) -> Result<u32, Unnumbered> {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let first = hasher.finish();
        let mut taking = None;
        for next in 0..TRIED as u64 {
            let place = first.wrapping_add(next) % self.places.len() as u64;
            let place = usize::try_from(place).map_err(|_| Unnumbered::Full)?;
            let mut there = self.places[place].get();
            if there.is_none() {
                // What another has put there meanwhile stays.
                if taking.is_none() {
                    taking = Some(self.taking.try_lock().map_err(|_| Unnumbered::Busy)?);
                }
                there = Some(self.places[place].get_or_init(|| text));
            }
            if there == Some(&text) {
                return u32::try_from(place).map_err(|_| Unnumbered::Full);
            }
        }
        Err(Unnumbered::Full)
    }
}

/// The numbers that are known to who writes records, by where the texts are.
pub(crate) struct Interner {
    known: [Known; KNOWN],
}

/// A text, which never moves, and its number.
#[derive(Clone, Copy)]
struct Known {
    /// Zero if there is none.
    address: usize,
    /// Of a text that has no number, this is inverted, and so that of no text in a record.
    length: u32,
    number: u32,
}

impl Interner {
    pub(crate) const fn new() -> Self {
        Self { known: [Known { address: 0, length: 0, number: 0 }; KNOWN] }
    }

    /// The number of `text`, if it is found at once: in a thread that knows a few dozen, nearly always.
    #[inline]
    pub(crate) fn at_once(&self, text: &'static str) -> Option<u32> {
        let known = &self.known[place(text)];
        known.is_of(text).then_some(known.number)
    }

    /// The number of `text`, which may have it from now on; `None` if it is to be copied.
    pub(crate) fn number(&mut self, text: &'static str) -> Option<u32> {
        self.number_in(TEXTS.get()?, text)
    }

    fn number_in(&mut self, texts: &Texts, text: &'static str) -> Option<u32> {
        let places = [place(text), place(text) ^ 1];
        let find = |is: fn(&Known, &'static str) -> bool| {
            places.into_iter().find(|&place| is(&self.known[place], text))
        };
        if let Some(place) = find(Known::is_of) {
            return Some(self.known[place].number);
        }
        if find(Known::is_refused).is_some() || text.len() > LONGEST {
            return None;
        }
        let vacant = find(|entry, _| entry.address == 0)?;
        let length = u32::try_from(text.len()).ok()?;
        let entry = |length, number| Known { address: text.as_ptr().addr(), length, number };
        match texts.number(text) {
            Ok(number) => {
                self.known[vacant] = entry(length, number);
                Some(number)
            }
            Err(Unnumbered::Full) => {
                self.known[vacant] = entry(!length, 0);
                None
            }
            Err(Unnumbered::Busy) => None,
        }
    }
}

impl Known {
    #[inline]
    fn is_of(&self, text: &'static str) -> bool {
        self.address == text.as_ptr().addr() && self.length as usize == text.len()
    }

    fn is_refused(&self, text: &'static str) -> bool {
        self.address == text.as_ptr().addr() && !self.length as usize == text.len()
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
