//! What the numbers in records mean: texts, places, callsites and times.

use tach_core::UnixTime;
use tach_core::adapter::utf8;

use super::{Image, WORD};
use crate::file::layout::{HEAP, HEAP_AT, Kind, head, line};

/// A callsite of `tracing` in another process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Callsite<'a> {
    pub(crate) target: &'a str,
    pub(crate) name: &'a str,
    pub(crate) file: &'a str,
    pub(crate) module: &'a str,
    pub(crate) line: u32,
}

impl<'a> Image<'a> {
    fn heap(&self, entry: u64) -> Option<&'a [u8]> {
        let length = usize::try_from(entry >> u32::BITS).ok()?.checked_sub(1)?;
        let at = usize::try_from(entry & u64::from(u32::MAX)).ok()?;
        let end = at.checked_add(length).filter(|end| *end <= HEAP)?;
        // Count the text before it is validated, since an invalid text takes as long to validate.
        let left = self.lookups.get().checked_sub(length);
        self.lookups.set(left.unwrap_or(0));
        left?;
        self.bytes.get(HEAP_AT + at..HEAP_AT + end)
    }

    /// Returns when the process last noted the time.
    pub(crate) fn last_line(&self) -> UnixTime {
        let last = self.word(head::LINES).checked_sub(1).and_then(|number| self.line(number));
        last.map_or(UnixTime::EPOCH, |[_, at, ..]| UnixTime::from_nanos(at))
    }

    /// Returns the two instants of a line of the clock.
    fn line(&self, number: u64) -> Option<[u64; 4]> {
        let at = line::AT + usize::try_from(number % line::COUNT as u64).ok()? * line::BYTES;
        Some([0, 1, 2, 3].map(|word| self.word(at + word * WORD)))
    }

    /// Returns the texts and the line of a static value.
    fn value<const N: usize>(&self, kind: Kind, number: u32) -> Option<([&'a str; N], u32)> {
        let bytes = self.heap(self.word(kind.entry(number)?))?;
        let (words, mut rest) = bytes.split_at_checked(if N > 1 { 4 * N } else { 0 })?;
        let word = |at: usize| Some(u32::from_le_bytes(*words.get(4 * at..)?.first_chunk()?));
        let mut texts = [""; N];
        for (at, text) in texts.iter_mut().enumerate() {
            let length = word(at + 1).map_or(Some(rest.len()), |it| usize::try_from(it).ok())?;
            let (one, others) = rest.split_at_checked(length)?;
            (*text, rest) = (utf8::text(one)?, others);
        }
        Some((texts, word(0).unwrap_or(0)))
    }

    pub(crate) fn text(&self, number: u32) -> Option<&'a str> {
        self.value(Kind::Text, number).map(|([text], _)| text)
    }

    /// Returns the file, the module and the line.
    pub(crate) fn place(&self, number: u32) -> Option<(&'a str, &'a str, u32)> {
        self.value(Kind::Place, number).map(|([file, module], line)| (file, module, line))
    }

    pub(crate) fn callsite(&self, number: u32) -> Option<Callsite<'a>> {
        let ([target, name, file, module], line) = self.value(Kind::Callsite, number)?;
        Some(Callsite { target, name, file, module, line })
    }

    /// Converts by the last line that begins before `ticks`, or else by the oldest line that is
    /// surely whole: the process may have died while it overwrote the line before that one.
    pub(crate) fn time(&self, ticks: u64) -> UnixTime {
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
