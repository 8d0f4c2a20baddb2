//! Numbers for what lives as long as the process, and occurs in many records.
//!
//! A number takes four bytes. A reader can check a number, but could not check an address.

mod notice;

use core::hash::{Hash, Hasher as _};
use core::mem;
use core::num::NonZeroU32;
use std::hash::DefaultHasher;
use std::sync::{Mutex, OnceLock};

pub use self::notice::Notice;
use super::{NUMBER, TEXT_SHIFT};

/// How many texts of the process can have numbers. The table takes 96 KiB. Further texts are
/// copied.
pub const MOST_TEXTS: usize = 4096;
/// The targets, keys, and messages without arguments.
static TEXTS: OnceLock<Numbers<&'static str>> = OnceLock::new();

/// How many entries of a table are tried for a value.
const TRIED: usize = 16;
/// The number of pairs of entries that a thread has at first, as a power of two. The thread's table
/// of texts takes 96 bytes then, and that of places 192.
const FIRST_BITS: u32 = 1;

/// A text that a call passes.
#[derive(Debug, Clone, Copy)]
pub enum MaybeStatic<'a> {
    /// A text that lives as long as the process.
    Static(&'static str),
    /// A text that may be freed after the call.
    Borrowed(&'a str),
}

/// Creates the table of texts.
pub(super) fn set_up_texts() {
    TEXTS.get_or_init(|| Numbers::new(MOST_TEXTS));
}

/// Returns the text with a number.
#[inline]
pub(super) fn text(number: u32) -> Option<&'static str> {
    TEXTS.get()?.get(number)
}

/// Returns the table of texts, if the process has one.
pub fn texts() -> Option<&'static Numbers<&'static str>> {
    TEXTS.get()
}

/// A value that can have a number.
pub trait Numbered: Copy + Eq + Hash + 'static {
    /// The largest number of values of this kind that a thread knows, as a power of two. The
    /// thread's table of texts takes 6 KiB then, and that of places 12 KiB.
    const MOST_BITS: u32 = 8;

    /// Returns the address that identifies the value, or most of it. What it refers to never moves.
    fn address(self) -> usize;

    /// Returns whether two values have the same addresses and are therefore equal.
    fn is(self, other: Self) -> bool;

    /// Returns bits that a thread adds to the number that it remembers. No number contains these
    /// bits.
    fn mark(self) -> u32 {
        0
    }
}

impl Numbered for &'static str {
    #[inline]
    fn address(self) -> usize {
        self.as_ptr().addr()
    }

    #[inline]
    fn is(self, other: Self) -> bool {
        self.as_ptr() == other.as_ptr() && self.len() == other.len()
    }
}

/// The table of values with numbers. The number of a value is the index of its entry, which never
/// changes.
pub struct Numbers<T> {
    /// The entry of each number. Some are empty.
    pub entries: Box<[Entry<T>]>,
    /// Held while an entry is taken. No thread waits for this lock: in a forked child, the thread
    /// that held it does not exist.
    taking: Mutex<()>,
    /// The function that stores the values for readers in other processes, once there is a reader.
    pub keep: OnceLock<Keep<T>>,
    /// Set after `keep`, and before the first reader asks which values are known.
    pub is_kept: Notice,
}

/// The place of a value in a table.
pub struct Entry<T> {
    /// The value, which never changes.
    pub value: OnceLock<T>,
    /// Whether a thread may know the number. A value has an entry, but no number, if there is no
    /// room to keep it.
    pub is_known: Notice,
}

/// Stores a value for readers in other processes, before any record has its number. Then sets the
/// value's `is_known`, before another reader asks.
pub type Keep<T> = fn(u32, T, &Notice) -> Result<(), Unnumbered>;

/// Why a value has no number.
#[derive(Debug, PartialEq, Eq)]
pub enum Unnumbered {
    /// Other values hold all entries that are tried, or there is no room to keep the value. The
    /// value will never get a number.
    Full,
    /// Another thread is taking an entry or keeping a value now. The value may get a number later.
    Busy,
}

impl<T: Numbered> Numbers<T> {
    /// Returns a table for `most` values.
    pub fn new(most: usize) -> Self {
        let entry = |_| Entry { value: OnceLock::new(), is_known: Notice::default() };
        let entries = (0..most).map(entry).collect();
        let (taking, keep) = (Mutex::new(()), OnceLock::new());
        Self { entries, taking, keep, is_kept: Notice::default() }
    }

    /// Returns the value with a number.
    #[inline]
    pub fn get(&self, number: u32) -> Option<T> {
        self.entries.get(usize::try_from(number).ok()?)?.value.get().copied()
    }

    /// Returns the number of a value. If there is none yet, takes an entry for the value.
    pub(super) fn number(&self, value: T) -> Result<u32, Unnumbered> {
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        let first = hasher.finish();
        let mut taking = None;
        for next in 0..TRIED as u64 {
            let at = first.wrapping_add(next) % self.entries.len() as u64;
            let at = usize::try_from(at).map_err(|_| Unnumbered::Full)?;
            let entry = &self.entries[at];
            let mut there = entry.value.get();
            if there.is_none() {
                // If another thread takes the entry before this one has the lock, that thread's
                // value stays there.
                if taking.is_none() {
                    taking = Some(self.taking.try_lock().map_err(|_| Unnumbered::Busy)?);
                }
                there = Some(entry.value.get_or_init(|| value));
            }
            if there == Some(&value) {
                let number = u32::try_from(at).map_err(|_| Unnumbered::Full)?;
                return self.known(number, value, &entry.is_known).map(|()| number);
            }
        }
        Err(Unnumbered::Full)
    }

    /// Call before a thread uses a number: if the values are stored for readers in other processes,
    /// stores this one too.
    fn known(&self, number: u32, value: T, is_known: &Notice) -> Result<(), Unnumbered> {
        if !self.is_kept.is_set() {
            // Set the notice before looking for a reader again: then either the reader finds this
            // value, or this thread finds the reader.
            is_known.set();
            if !self.is_kept.is_set() {
                return Ok(());
            }
        }
        self.keep.get().map_or(Ok(()), |keep| keep(number, value, is_known))
    }
}

/// The numbers that a thread knows, by addresses.
pub struct Interner<T> {
    /// Empty, or a power of two of pairs of entries. Grows when a value finds no entry, so that a
    /// thread that logs few different values takes little memory.
    known: Vec<[Option<Known<T>>; 2]>,
    /// By how many bits the hash of an address is shifted to give its pair.
    shift: u32,
    /// Whether a value got no number because another thread was taking one.
    was_busy: bool,
}

/// A value and its code.
#[derive(Clone, Copy)]
struct Known<T> {
    value: T,
    /// `None` if the value will never get a number.
    code: Option<Code>,
}

impl<T: Numbered> Interner<T> {
    /// Creates an empty table, which allocates nothing.
    pub const fn new() -> Self {
        Self { known: Vec::new(), shift: 0, was_busy: false }
    }

    /// Returns the code of a value if the thread knows it.
    #[inline]
    pub fn at_once(&self, value: T) -> Option<Code> {
        self.remembered(value)?.code
    }

    /// Returns whether a value got no number because another thread was taking one, so that it may
    /// get a number later.
    pub(super) const fn was_busy(&self) -> bool {
        self.was_busy
    }

    /// Returns the entry of a value.
    #[inline]
    fn remembered(&self, value: T) -> Option<&Known<T>> {
        let pair = self.known.get(self.pair(value))?;
        // Give an empty entry the address 0, so that one comparison also finds that it is empty.
        let address = |known: &Known<T>| known.value.address();
        let has = |entry: &&Option<Known<T>>| {
            let known = entry.as_ref();
            known.map_or(0, address) == value.address()
                && known.is_some_and(|it| it.value.is(value))
        };
        pair.iter().find(has)?.as_ref()
    }

    /// Returns the code of a value. If there is none yet, the value may get a number now. Returns
    /// `None` if a record must contain the value itself.
    pub fn code(&mut self, numbers: &Numbers<T>, value: T) -> Option<Code> {
        if let Some(known) = self.remembered(value) {
            return known.code;
        }
        while self.vacant(value).is_none() {
            if !self.grow() {
                return None;
            }
        }
        let code = match numbers.number(value) {
            Ok(number) => Code::of(number | value.mark()),
            Err(Unnumbered::Full) => None,
            Err(Unnumbered::Busy) => {
                self.was_busy = true;
                return None;
            }
        };
        *self.vacant(value)? = Some(Known { value, code });
        code
    }

    /// Returns a free entry for a value, or `None` if other values hold both.
    fn vacant(&mut self, value: T) -> Option<&mut Option<Known<T>>> {
        let pair = self.pair(value);
        self.known.get_mut(pair)?.iter_mut().find(|entry| entry.is_none())
    }

    /// Doubles the table. If the table has its largest size, returns `false`.
    fn grow(&mut self) -> bool {
        let bits = match self.known.len().checked_ilog2() {
            None => FIRST_BITS,
            Some(bits) if bits + 1 >= T::MOST_BITS => return false,
            Some(bits) => bits + 1,
        };
        let known = vec![[None; 2]; 1 << bits];
        let before = mem::replace(&mut self.known, known);
        self.shift = u32::BITS - bits;
        for known in before.into_iter().flatten().flatten() {
            // There is always a free entry: the table has doubled, so each pair of entries has
            // become two pairs.
            if let Some(entry) = self.vacant(known.value) {
                *entry = Some(known);
            }
        }
        true
    }

    /// Returns the index of the two entries for a value. Uses Fibonacci hashing, which spreads
    /// addresses that are close to each other, as those of texts are.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the low bits differ for texts near each other"
    )]
    fn pair(&self, value: T) -> usize {
        ((value.address() as u32).wrapping_mul(0x9E37_79B9) >> self.shift) as usize
    }
}

/// The number of a text, a place or a callsite, and whether spans of the callsite are
/// [at a boundary](AT_BOUNDARY).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code(NonZeroU32);

/// Marks the code of a callsite whose spans are at the boundary of a service. No number has the bit.
pub const AT_BOUNDARY: u32 = 1 << 30;

impl Code {
    /// Returns the code of a value with that number and [mark](Numbered::mark).
    #[inline]
    pub const fn of(number: u32) -> Option<Self> {
        match NonZeroU32::new(NUMBER | number) {
            Some(code) => Some(Self(code)),
            None => None,
        }
    }

    /// Returns the number, without the mark.
    #[inline]
    pub const fn number(self) -> u32 {
        self.0.get() & !(NUMBER | AT_BOUNDARY)
    }

    /// Returns a code as the slot of a span has it: zero for none.
    #[inline]
    pub fn for_slot(code: Option<Self>) -> u32 {
        code.map_or(0, |Self(code)| code.get())
    }

    /// Returns the code that the slot of a span has.
    #[inline]
    pub fn of_slot(code: u32) -> Option<Self> {
        NonZeroU32::new(code).map(Self)
    }

    /// Returns the number as records have it in place of a text.
    #[inline]
    pub(super) const fn word(self) -> u64 {
        ((self.0.get() & !AT_BOUNDARY) as u64) << TEXT_SHIFT
    }

    /// Returns whether the callsite has the field by which a span is at the boundary of a service.
    #[inline]
    pub const fn is_at_boundary(self) -> bool {
        self.0.get() & AT_BOUNDARY != 0
    }
}

#[cfg(test)]
pub(super) mod tests;
