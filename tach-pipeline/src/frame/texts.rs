//! Numbers for static texts: for targets, keys, and messages without arguments.
//!
//! Such texts occur in many records and live as long as the process. A number takes four bytes. A
//! reader can check a number, but could not check an address.

use core::hash::{Hash as _, Hasher as _};
use core::mem;
use std::hash::DefaultHasher;
use std::sync::{Mutex, OnceLock};

use crate::frame::LONGEST;

/// How many texts of the process can have numbers. The table takes 96 KiB. Further texts are
/// copied.
const MOST: usize = 4096;
/// How many places of the table are tried for a text.
const TRIED: usize = 16;
/// The largest number of texts that a thread knows, as a power of two. The thread's table takes
/// 4 KiB then.
const MOST_BITS: u32 = 8;
/// The number of texts for which a thread has room at first, as a power of two. The thread's table
/// takes 256 bytes then.
const FIRST_BITS: u32 = 4;

static TEXTS: OnceLock<Texts> = OnceLock::new();

/// A text that a call passes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum MaybeStatic<'a> {
    /// A text that lives as long as the process.
    Static(&'static str),
    /// A text that may be freed after the call.
    Borrowed(&'a str),
}

/// Creates the table before any record is written, so that no call waits for another thread to
/// create it. (A process that is forked at this very moment can't create a table.)
pub(crate) fn set_up() {
    TEXTS.get_or_init(|| Texts::new(MOST));
}

#[inline]
pub(crate) fn text(number: u32) -> Option<&'static str> {
    TEXTS.get()?.get(number)
}

/// The table of texts with numbers. The number of a text is its place, which never changes.
struct Texts {
    places: Box<[OnceLock<&'static str>]>,
    /// Held while a place is taken. No thread waits for the lock: in a forked process, the thread
    /// that holds it may not exist.
    taking: Mutex<()>,
}

/// Why a text has no number.
#[derive(Debug, PartialEq, Eq)]
enum Unnumbered {
    /// Other texts hold all places that are tried for the text. The text will never get a number.
    Full,
    /// Another thread is taking a place now. The text may get a number later.
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

    /// Returns the number of `text`. If there is none yet, takes a place for `text`.
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
                // Another thread may take the place before the lock is held. Then its text stays
                // there.
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

/// The numbers that a thread knows, by the addresses of the texts.
pub(crate) struct Interner {
    /// Empty, or a power of two of places. Grows when a text finds no place, so that a thread that
    /// logs few different texts takes little memory.
    known: Box<[Known]>,
    /// By how many bits the hash of a text is shifted to give its place.
    shift: u32,
}

/// A text and its number. The address identifies the text, since a static text never moves.
#[derive(Clone, Copy, Default)]
struct Known {
    /// Zero if the place is free.
    address: usize,
    /// The length of the text. All bits are inverted for a text that will never get a number: no
    /// text in a record is as long as an inverted length.
    length: u32,
    number: u32,
}

impl Interner {
    pub(crate) fn new() -> Self {
        Self { known: Box::default(), shift: 0 }
    }

    /// Returns the number of `text` if the thread knows it.
    #[inline]
    pub(crate) fn at_once(&self, text: &'static str) -> Option<u32> {
        let first = self.place(text.as_ptr().addr());
        let known = self.known.get(first)?;
        if known.is_of(text) {
            return Some(known.number);
        }
        let known = self.known.get(first ^ 1)?;
        known.is_of(text).then_some(known.number)
    }

    /// Returns the number of `text`. If there is none yet, `text` may get a number now. Returns
    /// `None` if `text` must be copied.
    pub(crate) fn number(&mut self, text: &'static str) -> Option<u32> {
        self.number_in(TEXTS.get()?, text)
    }

    fn number_in(&mut self, texts: &Texts, text: &'static str) -> Option<u32> {
        let address = text.as_ptr().addr();
        let first = self.place(address);
        for place in [first, first ^ 1] {
            match self.known.get(place) {
                Some(known) if known.is_of(text) => return Some(known.number),
                Some(known) if known.is_refused(text) => return None,
                _ => {}
            }
        }
        if text.len() > LONGEST {
            return None;
        }
        let vacant = self.vacant(address)?;
        let length = u32::try_from(text.len()).ok()?;
        match texts.number(text) {
            Ok(number) => {
                self.known[vacant] = Known { address, length, number };
                Some(number)
            }
            Err(Unnumbered::Full) => {
                self.known[vacant] = Known { address, length: !length, number: 0 };
                None
            }
            Err(Unnumbered::Busy) => None,
        }
    }

    /// Returns a free place for a text. If there is none, enlarges the table.
    fn vacant(&mut self, address: usize) -> Option<usize> {
        loop {
            if let Some(place) = self.vacant_now(address) {
                return Some(place);
            }
            if !self.grow() {
                return None;
            }
        }
    }

    /// Returns the text's first or second place, or `None` if other texts hold both.
    fn vacant_now(&self, address: usize) -> Option<usize> {
        let first = self.place(address);
        let is_vacant = |&place: &usize| self.known.get(place).is_some_and(Known::is_vacant);
        [first, first ^ 1].into_iter().find(is_vacant)
    }

    /// Doubles the table. If the table has its largest size, returns `false`.
    fn grow(&mut self) -> bool {
        let bits = match self.known.len().checked_ilog2() {
            None => FIRST_BITS,
            Some(MOST_BITS..) => return false,
            Some(bits) => bits + 1,
        };
        let known = vec![Known::default(); 1 << bits].into();
        let before = mem::replace(self, Self { known, shift: u32::BITS - bits });
        for known in before.known.into_iter().filter(|known| !known.is_vacant()) {
            // There is always a free place, since each pair of places becomes two pairs.
            if let Some(place) = self.vacant_now(known.address) {
                self.known[place] = known;
            }
        }
        true
    }

    /// Returns the first place for a text. The second place is its neighbor. Uses Fibonacci
    /// hashing, which spreads addresses that are close to each other, as those of texts are.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the low bits differ for texts near each other"
    )]
    fn place(&self, address: usize) -> usize {
        ((address as u32).wrapping_mul(0x9E37_79B9) >> self.shift) as usize
    }
}

impl Known {
    fn is_vacant(&self) -> bool {
        self.address == 0
    }

    #[inline]
    fn is_of(&self, text: &'static str) -> bool {
        self.address == text.as_ptr().addr() && self.length as usize == text.len()
    }

    fn is_refused(&self, text: &'static str) -> bool {
        self.address == text.as_ptr().addr() && !self.length as usize == text.len()
    }
}

#[cfg(test)]
mod tests;
