//! Writes the bytes of a record, in the memory of the thread that makes the call.

pub(super) mod site;
pub(super) mod span;
mod tracer;

use core::error::Error;
use core::fmt;
use core::panic::AssertUnwindSafe;
use std::{panic, thread};

use tach_log::Value;
use tach_log::adapter::{Messages, outcome};

use super::numbers::{self, Code, Interner, MaybeStatic};
use super::places::{self, StaticPlace};
use super::this_thread::ThisThread;
use super::{
    CALLSITE, HEAD, KIND_AT, LEVEL_SHIFT, LONGEST, NUMBER, TAG_BITS, TEXT_SHIFT, Tag, Time, UNIX,
    WORD,
};
use crate::level::Level;

/// A buffer of this length or longer is freed after the record.
const LONG: usize = 64 * 1024 + 1;
/// The size of a new buffer.
const FIRST: usize = 128;

/// The memory for one record, and the numbers that a thread knows.
pub struct Scratch {
    buffer: Buffer,
    texts: Interner<&'static str>,
    places: Interner<StaticPlace>,
    /// The thread's number and name. `None` until a format asks for them.
    thread: Option<ThisThread>,
    /// The shortest length of memory that is freed after the record.
    long: usize,
}

impl Scratch {
    /// Creates memory that allocates with the first record.
    pub fn new() -> Self {
        Self {
            buffer: Buffer::new(),
            texts: Interner::new(),
            places: Interner::new(),
            thread: None,
            long: LONG,
        }
    }

    /// Creates memory that is not kept after the record.
    pub(crate) fn for_one_record() -> Self {
        Self { long: 0, ..Self::new() }
    }

    /// Returns the bytes of the record.
    #[inline]
    pub fn written(&self) -> &[u8] {
        self.buffer.written()
    }

    /// Returns the record. The caller may take its memory.
    #[inline]
    pub fn record(&mut self) -> &mut Buffer {
        &mut self.buffer
    }

    /// Copies a record.
    #[cold]
    pub(crate) fn copy(&mut self, record: &[u64]) {
        self.buffer.clear();
        self.buffer.push_words(record);
    }

    /// Copies the bytes of a record.
    pub fn copy_bytes(&mut self, record: &[u8]) {
        self.buffer.copy(record);
    }

    /// Writes the end of a span into its record.
    #[inline]
    pub fn end_span(&mut self, end: Time, is_sampled: bool) {
        span::end_span(&mut self.buffer.bytes[..self.buffer.used], end, is_sampled);
    }

    /// Returns whether the memory is to be [freed](Self::shrink).
    #[inline]
    pub(crate) fn is_long(&self) -> bool {
        self.buffer.capacity() >= self.long
    }

    /// Frees the memory that a long record took. Returns whether the rest is kept.
    #[cold]
    pub(crate) fn shrink(&mut self) -> bool {
        self.buffer = Buffer::new();
        self.long > 0
    }

    /// Returns the code of a text whose number the thread knows.
    #[inline]
    fn at_once(&self, text: &'static str) -> Option<u64> {
        self.texts.at_once(text).map(Code::word)
    }

    /// Returns the code of a text that may get a number now, or `None` if it must be copied.
    #[cold]
    fn number(&mut self, text: &'static str) -> Option<u64> {
        let texts = numbers::texts().filter(|_| text.len() <= LONGEST)?;
        self.texts.code(texts, text).map(Code::word)
    }

    /// Copies a text, and returns its length as a code.
    #[inline(never)]
    fn copied(&mut self, text: &str) -> u64 {
        self.buffer.push_text(text.as_bytes());
        length(text.len(), TEXT_SHIFT)
    }

    /// Returns whether a text or a place may get a number later, since another thread was taking
    /// one.
    pub fn was_busy(&self) -> bool {
        self.texts.was_busy() || self.places.was_busy()
    }

    /// Returns the code of a place, or `None` if the place has no number.
    #[inline]
    fn place(&mut self, place: StaticPlace) -> Option<u64> {
        self.places.at_once(place).or_else(|| self.learned_place(place)).map(Code::word)
    }

    /// Adds the thread to the record, if it has the number of a callsite. Call before the record is
    /// added to a queue that is not the thread's.
    #[cold]
    pub fn add_thread(&mut self) {
        if self.buffer.has(KIND_AT, u64::from(CALLSITE)) {
            let thread = self.thread.get_or_insert_with(ThisThread::new);
            let before = self.buffer.len();
            self.buffer.push(&thread.field);
            self.buffer.lengthen(self.buffer.len() - before);
        }
    }

    #[cold]
    fn learned_place(&mut self, place: StaticPlace) -> Option<Code> {
        self.places.code(places::numbers()?, place)
    }
}

/// Writes a record into a [`Scratch`].
pub struct Writer<'a> {
    to: &'a mut Scratch,
    /// The words of the head, which [`end`](Self::end) writes: registers until then.
    head: [u64; 3],
}

/// The words of a head that have the target and the message.
const TARGET: usize = 0;
const MESSAGE: usize = 2;

impl<'a> Writer<'a> {
    /// Begins a record. Write the message next, then any fields, and then call
    /// [`end`](Self::end).
    #[expect(clippy::inline_always, reason = "a call would save the registers once more")]
    #[inline(always)]
    pub fn begin(to: &'a mut Scratch, time: Time, level: Level, target: MaybeStatic<'_>) -> Self {
        let mut writer = Self::of(to, head(time, level));
        writer.head_text(TARGET, target);
        writer
    }

    /// Begins a record with this head.
    #[inline]
    fn of(to: &'a mut Scratch, head: [u64; 3]) -> Self {
        to.buffer.used = HEAD;
        Self { to, head }
    }

    /// Writes the message. Formats it only if there are arguments.
    #[expect(clippy::inline_always, reason = "a call would save the registers once more")]
    #[inline(always)]
    pub fn message(&mut self, message: fmt::Arguments<'_>) {
        match message.as_str() {
            Some(text) => self.static_message(text),
            None => self.printed_message(message),
        }
    }

    /// Writes a message that lives as long as the process.
    #[inline]
    pub fn static_message(&mut self, text: &'static str) {
        self.head_text(MESSAGE, MaybeStatic::Static(text));
    }

    /// Formats a message.
    #[inline]
    pub fn printed_message(&mut self, message: fmt::Arguments<'_>) {
        let (bytes, _dropped_last) = self.printed(message);
        self.head[MESSAGE] |= length(bytes, TEXT_SHIFT);
    }

    /// Writes the target or the message.
    #[expect(clippy::inline_always, reason = "the word is known, and in a register")]
    #[inline(always)]
    fn head_text(&mut self, word: usize, text: MaybeStatic<'_>) {
        let code = match text {
            MaybeStatic::Static(text) => match self.to.at_once(text) {
                Some(code) => code,
                None => self.to.number(text).unwrap_or_else(|| self.to.copied(text)),
            },
            MaybeStatic::Borrowed(text) => self.to.copied(text),
        };
        self.head[word] |= code;
    }

    /// Writes a field. If the kind of the value is known at compile time, this is little more than
    /// a copy.
    #[expect(
        clippy::inline_always,
        reason = "most callers know the kind, so nothing is left of the match"
    )]
    #[inline(always)]
    pub fn field(&mut self, key: MaybeStatic<'_>, value: Value<'_>) {
        match value {
            Value::Bool(false) => self.text([Tag::False as u64], key),
            Value::Bool(true) => self.text([Tag::True as u64], key),
            Value::I64(value) => {
                self.text([Tag::I64 as u64, u64::from_le_bytes(value.to_le_bytes())], key);
            }
            Value::U64(value) => self.text([Tag::U64 as u64, value], key),
            Value::I128(value) => {
                self.wide(Tag::I128, u128::from_le_bytes(value.to_le_bytes()), key);
            }
            Value::U128(value) => self.wide(Tag::U128, value, key),
            Value::F64(value) => self.text([Tag::F64 as u64, value.to_bits()], key),
            Value::Str(text) => {
                self.text([Tag::Str as u64 | length(text.len(), TAG_BITS)], key);
                self.to.buffer.push_text(text.as_bytes());
            }
            // Front ends pass only the kinds above.
            _ => self.text([Tag::Null as u64], key),
        }
    }

    /// Writes a field whose value prints itself.
    #[expect(clippy::inline_always, reason = "a call would save the registers once more")]
    #[inline(always)]
    pub fn printed_field(&mut self, key: MaybeStatic<'_>, value: fmt::Arguments<'_>) {
        self.printed_as(Tag::Printed, key, value);
    }

    /// Writes a field of this kind. Returns whether printing succeeded.
    #[expect(clippy::inline_always, reason = "a call would save the registers once more")]
    #[inline(always)]
    fn printed_as(&mut self, tag: Tag, key: MaybeStatic<'_>, value: fmt::Arguments<'_>) -> bool {
        let at = self.to.buffer.len();
        self.text([tag as u64], key);
        let (bytes, printed) = self.printed(value);
        self.to.buffer.add(at, length(bytes, TAG_BITS));
        matches!(printed, Ok(Ok(())))
    }

    /// Writes a field whose value prints itself as JSON. If it fails, the field is a text.
    #[cold]
    pub fn nested_field(&mut self, key: MaybeStatic<'_>, value: fmt::Arguments<'_>) {
        let at = self.to.buffer.len();
        if self.printed_as(Tag::Str, key, value) {
            self.to.buffer.add(at, Tag::Json as u64 - Tag::Str as u64);
        }
    }

    /// Writes an error with its sources.
    #[cold]
    pub fn error_field(&mut self, key: MaybeStatic<'_>, error: &(dyn Error + 'static)) {
        self.printed_as(Tag::Error, key, format_args!("{}", Messages(error)));
    }

    #[expect(clippy::cast_possible_truncation, reason = "takes the halves")]
    fn wide(&mut self, tag: Tag, value: u128, key: MaybeStatic<'_>) {
        self.text([tag as u64, value as u64, (value >> u64::BITS) as u64], key);
    }

    /// Sets a flag in the head, such as [`SITE`](super::SITE).
    #[inline]
    pub fn mark(&mut self, flag: u32) {
        self.head[MESSAGE] |= u64::from(flag);
    }

    /// Runs code of the user that adds fields. If the code panics, keeps the fields that it added.
    #[inline]
    pub fn guard<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> Option<R> {
        // Each call adds a whole field, so the record is valid wherever `f` panics.
        panic::catch_unwind(AssertUnwindSafe(|| f(self))).ok()
    }

    /// Returns the end of the record so far.
    #[inline]
    pub fn end_so_far(&self) -> usize {
        self.to.buffer.len()
    }

    /// Removes the fields.
    #[cold]
    pub fn remove_fields(&mut self) {
        let codes = [TARGET, MESSAGE].map(|word| (self.head[word] >> TEXT_SHIFT) as usize);
        let texts = codes.into_iter().filter(|code| code & NUMBER as usize == 0);
        self.to.buffer.truncate(HEAD + texts.map(|it| it.next_multiple_of(WORD)).sum::<usize>());
    }

    /// Ends the record: writes its head.
    #[inline]
    pub fn end(&mut self) {
        let buffer = &mut self.to.buffer;
        self.head[0] |= length(buffer.len(), 0);
        if buffer.bytes.is_empty() {
            buffer.grow_and_push(&[]);
        }
        if let Some(first) = buffer.bytes.get_mut(..HEAD) {
            store(first, self.head);
        }
    }

    /// Writes words, with the code of a text in the upper half of the first word.
    ///
    /// The words are stored one by one: an array of bytes would be assembled in memory, and the
    /// copy would wait. (The cold paths borrow a copy, so that this path keeps the words in
    /// registers.)
    #[expect(
        clippy::inline_always,
        reason = "their number is known, so that few instructions are left"
    )]
    #[inline(always)]
    fn text<const N: usize>(&mut self, mut words: [u64; N], text: MaybeStatic<'_>) {
        let (code, text) = match text {
            MaybeStatic::Static(text) => (self.to.at_once(text), text),
            MaybeStatic::Borrowed(text) => return self.text_after(&{ words }, text, None),
        };
        if let Some(code) = code {
            if let Some(next) = self.to.buffer.next(N * WORD) {
                words[0] |= code;
                return store(next, words);
            }
        }
        self.text_learned(&{ words }, text, code);
    }

    /// Like [`text`](Self::text), for a text that may get a number now, or if the buffer must grow.
    #[cold]
    fn text_learned(&mut self, words: &[u64], text: &'static str, code: Option<u64>) {
        let code = code.or_else(|| self.to.number(text));
        self.text_after(words, text, code);
    }

    /// Like [`text`](Self::text), for a text that is copied, or if the buffer must grow.
    #[inline(never)]
    fn text_after(&mut self, words: &[u64], text: &str, code: Option<u64>) {
        let at = self.to.buffer.len();
        self.to.buffer.push_words(words);
        let code = code.unwrap_or_else(|| self.to.copied(text));
        self.to.buffer.add(at, code);
    }

    /// Writes words without a text. The code zero stands for an empty text.
    #[expect(
        clippy::inline_always,
        reason = "their number is known, so that few instructions are left"
    )]
    #[inline(always)]
    pub(in crate::frame) fn bare<const N: usize>(&mut self, words: [u64; N]) {
        match self.to.buffer.next(N * WORD) {
            Some(next) => store(next, words),
            None => self.to.buffer.push_words(&{ words }),
        }
    }

    /// Prints `value`. Returns the length of the text, and what printing returned. Store the length
    /// before that result is dropped: the payload of a panic may panic when it is dropped. If
    /// printing fails or panics, appends a note to the text.
    #[expect(clippy::inline_always, reason = "a call would save the registers once more")]
    #[inline(always)]
    fn printed(&mut self, value: fmt::Arguments<'_>) -> (usize, thread::Result<fmt::Result>) {
        let buffer = &mut self.to.buffer;
        let start = buffer.len();
        let print = AssertUnwindSafe(|| fmt::Write::write_fmt(buffer, value));
        let printed = panic::catch_unwind(print);
        if !matches!(printed, Ok(Ok(()))) {
            buffer.push(outcome(&printed).err().unwrap_or_default().as_bytes());
        }
        let bytes = buffer.len() - start;
        buffer.pad();
        (bytes, printed)
    }
}

/// Returns the words of a head without the message's code.
#[inline]
fn head(time: Time, level: Level) -> [u64; 3] {
    let (number, flags) = match time {
        Time::Ticks(instant) => (instant.as_ticks(), 0),
        Time::Unix(time) => (time.as_nanos(), UNIX),
    };
    [0, number, u64::from(flags) | u64::from(level.as_byte()) << LEVEL_SHIFT]
}

#[expect(clippy::inline_always, reason = "the words are in registers")]
#[inline(always)]
fn store<const N: usize>(to: &mut [u8], words: [u64; N]) {
    for (to, word) in to.chunks_exact_mut(WORD).zip(words) {
        to.copy_from_slice(&word.to_le_bytes());
    }
}

/// Returns a length, shifted left by `shift` bits. The length of a text fits in 27 bits: the queue
/// refuses a record that is longer.
#[inline]
fn length(length: usize, shift: u32) -> u64 {
    (length as u64) << shift
}

/// Returns a reference to a record, with the record's time.
pub fn reference(record: &[u8]) -> [u8; HEAD] {
    let mut head = record.first_chunk().copied().unwrap_or([0; HEAD]);
    head[..WORD].fill(0);
    head
}

/// Written bytes, followed by free room.
///
/// Unlike the spare room of a `Vec`, this room is initialized, so a record's words can be stored in
/// place one by one.
#[derive(Debug, Default)]
pub struct Buffer {
    /// Whole words.
    bytes: Vec<u8>,
    used: usize,
}

impl Buffer {
    const fn new() -> Self {
        Self { bytes: Vec::new(), used: 0 }
    }

    /// Returns a buffer with these bytes.
    pub(crate) fn of(bytes: Vec<u8>) -> Self {
        Self { used: bytes.len(), bytes }
    }

    /// Returns the bytes of the record.
    #[inline]
    pub fn written(&self) -> &[u8] {
        &self.bytes[..self.used]
    }

    /// Returns how many bytes the memory has.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Copies the bytes of a record.
    pub fn copy(&mut self, record: &[u8]) {
        self.clear();
        self.push(record);
    }

    #[inline]
    fn len(&self) -> usize {
        self.used
    }

    /// Sets bits in the word at `at`. The bits must be zero before.
    #[inline]
    fn add(&mut self, at: usize, bits: u64) {
        if let Some(word) = self.bytes.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
            *word = (u64::from_le_bytes(*word) | bits).to_le_bytes();
        }
    }

    /// Returns whether the word at `at` has any of these bits.
    #[inline]
    fn has(&self, at: usize, bits: u64) -> bool {
        let word = self.bytes.get(at..).and_then(<[u8]>::first_chunk);
        word.is_some_and(|word| u64::from_le_bytes(*word) & bits != 0)
    }

    /// Adds bytes to the length in the first word.
    #[cold]
    fn lengthen(&mut self, bytes: usize) {
        if let Some(word) = self.bytes.first_chunk_mut() {
            *word = u64::from_le_bytes(*word).wrapping_add(bytes as u64).to_le_bytes();
        }
    }

    /// Removes all bytes, and keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.used = 0;
    }

    /// Removes the bytes from `length` on.
    fn truncate(&mut self, length: usize) {
        self.used = self.used.min(length);
    }

    /// Returns the next `length` bytes if there is room.
    #[inline]
    fn next(&mut self, length: usize) -> Option<&mut [u8]> {
        let end = self.used + length;
        let next = self.bytes.get_mut(self.used..end)?;
        self.used = end;
        Some(next)
    }

    #[inline]
    fn push(&mut self, bytes: &[u8]) {
        match self.next(bytes.len()) {
            Some(next) => next.copy_from_slice(bytes),
            None => self.grow_and_push(bytes),
        }
    }

    fn push_words(&mut self, words: &[u64]) {
        for word in words {
            self.push(&word.to_le_bytes());
        }
    }

    /// Writes `text` and pads its last word with zeros.
    #[inline]
    fn push_text(&mut self, text: &[u8]) {
        if let Some(next) = self.next(text.len().div_ceil(WORD) * WORD) {
            return put_text(next, text);
        }
        self.grow_and_push(text);
        self.pad();
    }

    /// Pads the last word with the bytes that the memory contains already.
    #[inline]
    fn pad(&mut self) {
        self.used = self.used.next_multiple_of(WORD);
    }

    #[cold]
    fn grow_and_push(&mut self, bytes: &[u8]) {
        let end = self.used + bytes.len();
        let room = end.max(2 * self.bytes.len()).max(FIRST).next_multiple_of(WORD);
        // In a new buffer, this makes room for the head: `used` is already `HEAD`, but there are no
        // bytes.
        self.bytes.resize(self.used, 0);
        self.bytes.reserve_exact(room - self.used);
        self.bytes.extend_from_slice(bytes);
        self.bytes.resize(room, 0);
        self.used = end;
    }
}

/// Copies a text and pads its last word with zeros. A text of one or two words is copied by words.
#[inline]
fn put_text(to: &mut [u8], text: &[u8]) {
    let Some((to, to_last)) = to.split_last_chunk_mut() else { return };
    let Some(end) = text.last_chunk() else {
        *to_last = short_text(text);
        return;
    };
    let filler = 8 * (to.len() + WORD - text.len());
    *to_last = (u64::from_le_bytes(*end) >> filler).to_le_bytes();
    if let (Some((to, to_rest)), Some((first, rest))) =
        (to.split_first_chunk_mut(), text.split_first_chunk::<WORD>())
    {
        *to = *first;
        if !to_rest.is_empty() {
            to_rest.copy_from_slice(&rest[..to_rest.len()]);
        }
    }
}

#[inline]
fn short_text(text: &[u8]) -> [u8; WORD] {
    let word = match (text.first_chunk::<4>(), text.last_chunk::<4>()) {
        (Some(first), Some(last)) => {
            let [first, last] = [first, last].map(|half| u64::from(u32::from_le_bytes(*half)));
            first | last << (8 * (text.len() - 4))
        }
        _ => text.iter().rfold(0, |word, &byte| word << 8 | u64::from(byte)),
    };
    word.to_le_bytes()
}

impl fmt::Write for Buffer {
    #[inline]
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests;
