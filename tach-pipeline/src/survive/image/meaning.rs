//! What the numbers in records mean: texts, places, callsites and times.

use tach_core::UnixTime;
use tach_core::adapter::utf8;

use super::{Image, WORD};
use crate::survive::foreign::{Callsite, Meaning};
use crate::survive::layout::{
    CALLSITES, HEAP, HEAP_AT, PLACES, TEXTS, callsite, head, line, place, text,
};

impl<'a> Image<'a> {
    fn heap(&self, entry: u64) -> Option<&'a str> {
        utf8::text(self.heap_bytes(entry)?)
    }

    fn heap_bytes(&self, entry: u64) -> Option<&'a [u8]> {
        let length = usize::try_from(entry >> u32::BITS).ok()?.checked_sub(1)?;
        let at = usize::try_from(entry & u64::from(u32::MAX)).ok()?;
        let end = at.checked_add(length).filter(|end| *end <= HEAP)?;
        // Before the text is checked, which takes as long for one that is not valid.
        let left = self.lookups.get().checked_sub(length);
        self.lookups.set(left.unwrap_or(0));
        left?;
        self.bytes.get(HEAP_AT + at..HEAP_AT + end)
    }

    /// Returns when the process last noted the time.
    pub(in crate::survive) fn last_line(&self) -> UnixTime {
        let last = self.word(head::LINES).checked_sub(1).and_then(|number| self.line(number));
        last.map_or(UnixTime::EPOCH, |[_, at, ..]| UnixTime::from_nanos(at))
    }

    /// Returns the two instants of a line of the clock.
    fn line(&self, number: u64) -> Option<[u64; 4]> {
        let at = line::AT + usize::try_from(number % line::COUNT as u64).ok()? * line::BYTES;
        Some([0, 1, 2, 3].map(|word| self.word(at + word * WORD)))
    }
}

impl Meaning for Image<'_> {
    fn text(&self, number: u32) -> Option<&str> {
        let number = usize::try_from(number).ok().filter(|number| *number < TEXTS)?;
        self.heap(self.word(text::AT + number * text::BYTES))
    }

    fn place(&self, number: u32) -> Option<(&str, &str, u32)> {
        let number = usize::try_from(number).ok().filter(|number| *number < PLACES)?;
        let at = place::AT + number * place::BYTES;
        let line = u32::try_from(self.word(at + place::LINE).checked_sub(1)?).ok()?;
        let module = self.heap(self.word(at + place::MODULE))?;
        Some((self.heap(self.word(at))?, module, line))
    }

    fn callsite(&self, number: u32) -> Option<Callsite<'_>> {
        let number = usize::try_from(number).ok().filter(|number| *number < CALLSITES)?;
        let bytes = self.heap_bytes(self.word(callsite::AT + number * callsite::BYTES))?;
        let (numbers, mut texts) = bytes.split_at_checked(5 * size_of::<u32>())?;
        let number = |at: usize| {
            let number = numbers.get(4 * at..)?.first_chunk()?;
            Some(u32::from_le_bytes(*number))
        };
        let mut text = |at: usize| {
            let (text, rest) = texts.split_at_checked(usize::try_from(number(at)?).ok()?)?;
            texts = rest;
            utf8::text(text)
        };
        let (target, name, file, module) = (text(0)?, text(1)?, text(2)?, text(3)?);
        Some(Callsite { target, name, file, module, line: number(4)? })
    }

    /// Converts by the last line that begins before, or else by the oldest line. The next line may
    /// have taken the place of the oldest in part.
    fn time(&self, ticks: u64) -> UnixTime {
        let count = self.word(head::LINES);
        let oldest = count.saturating_sub(line::COUNT as u64 - 1);
        let mut best = None;
        for line in (oldest..count).rev().take(line::COUNT).filter_map(|number| self.line(number)) {
            best = Some(line);
            if line[0] <= ticks {
                break;
            }
        }
        let Some([from, at, to, later]) = best else { return UnixTime::EPOCH };
        let since = i128::from(ticks) - i128::from(from);
        let (ticks, ns) = (i128::from(to) - i128::from(from), i128::from(later) - i128::from(at));
        let passed = since.saturating_mul(ns).checked_div(ticks).unwrap_or(0);
        let time = i128::from(at).saturating_add(passed);
        UnixTime::from_nanos(u64::try_from(time.max(0)).unwrap_or(u64::MAX))
    }
}
