//! Static texts as numbers: modules as targets, keys, and messages without arguments.
//!
//! Such texts come again with each record and live as long as the process. A number takes four
//! bytes, and unlike an address it can be checked when it is read.

use core::cell::Cell;
use core::hash::{Hash as _, Hasher as _};
use std::hash::DefaultHasher;
use std::sync::{Mutex, OnceLock};

use crate::frame::LONGEST;

/// How many texts of the process may have numbers: 96 KiB. Further texts are copied.
const MOST: usize = 4096;
/// How many places are tried for a text.
const TRIED: usize = 16;
/// How many texts a thread knows at most: 4 KiB.
const KNOWN: usize = 1 << KNOWN_BITS;
const KNOWN_BITS: u32 = 8;

static TEXTS: OnceLock<Texts> = OnceLock::new();

/// A text that a call passes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum MaybeStatic<'a> {
    /// A text that lives as long as the process.
    Static(&'static str),
    /// A text that may be freed after the call.
    Borrowed(&'a str),
}

/// Creates the table before any record is written, so that no call waits for another thread's. (A
/// process forked at this very moment can't create its own.)
pub(crate) fn set_up() {
    TEXTS.get_or_init(|| Texts::new(MOST));
}

#[inline]
pub(crate) fn text(number: u32) -> Option<&'static str> {
    TEXTS.get()?.get(number)
}

/// Texts with numbers, which are their places. A text keeps its place.
struct Texts {
    places: Box<[OnceLock<&'static str>]>,
    /// Held while a place is taken. No thread waits for it: a forked process may lack the one that
    /// holds it.
    taking: Mutex<()>,
}

/// Why a text has no number.
#[derive(Debug, PartialEq, Eq)]
enum Unnumbered {
    /// Other texts have all the places that are tried for it, for good.
    Full,
    /// Another thread is taking a place.
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

    /// Returns the number of `text`, which may get it now.
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
                // Another thread's text stays.
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

thread_local! {
    /// Beside the thread's stack, so that the memory is returned when the thread ends.
    static INTERNER: Interner = const { Interner::new() };
}

/// Calls `f` with the thread's numbers.
#[inline]
pub(crate) fn with_numbers<R>(f: impl FnOnce(&Interner) -> Option<R>) -> Option<R> {
    INTERNER.try_with(f).ok().flatten()
}

/// The numbers that a thread knows, by the addresses of the texts.
pub(crate) struct Interner {
    known: [Cell<Known>; KNOWN],
}

/// A text and its number. A static text never moves.
#[derive(Clone, Copy)]
struct Known {
    /// Zero for no text.
    address: usize,
    /// Inverted for a text without a number. No text of a record is as long as that.
    length: u32,
    number: u32,
}

impl Interner {
    pub(crate) const fn new() -> Self {
        Self { known: [const { Cell::new(Known { address: 0, length: 0, number: 0 }) }; KNOWN] }
    }

    /// Returns the number of `text` if its first place has it: for a few dozen texts, nearly
    /// always.
    #[inline]
    pub(crate) fn at_once(&self, text: &'static str) -> Option<u32> {
        let known = self.known[place(text)].get();
        known.is_of(text).then_some(known.number)
    }

    /// Returns the number of `text`, which may get it now, or `None` if it is to be copied.
    pub(crate) fn number(&self, text: &'static str) -> Option<u32> {
        self.number_in(TEXTS.get()?, text)
    }

    fn number_in(&self, texts: &Texts, text: &'static str) -> Option<u32> {
        let places = [place(text), place(text) ^ 1];
        let find = |is: fn(&Known, &'static str) -> bool| {
            places.into_iter().find(|&place| is(&self.known[place].get(), text))
        };
        if let Some(place) = find(Known::is_of) {
            return Some(self.known[place].get().number);
        }
        if find(Known::is_refused).is_some() || text.len() > LONGEST {
            return None;
        }
        let vacant = find(|entry, _| entry.address == 0)?;
        let length = u32::try_from(text.len()).ok()?;
        let entry = |length, number| Known { address: text.as_ptr().addr(), length, number };
        match texts.number(text) {
            Ok(number) => {
                self.known[vacant].set(entry(length, number));
                Some(number)
            }
            Err(Unnumbered::Full) => {
                self.known[vacant].set(entry(!length, 0));
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

/// Returns the first place for a text; the second is its neighbor. By Fibonacci hashing, since the
/// texts of a program lie near each other.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the low bits differ for texts near each other"
)]
fn place(text: &'static str) -> usize {
    let spread = (text.as_ptr().addr() as u32).wrapping_mul(0x9E37_79B9);
    (spread >> (u32::BITS - KNOWN_BITS)) as usize
}

#[cfg(test)]
mod tests;
