//! Static texts, places and callsites in the file.

use super::super::layout::{CALLSITES, callsite};
use super::super::layout::{HEAP, HEAP_AT, entry, place, text};
use super::Store;
use crate::frame::places::StaticPlace;

impl Store {
    /// Writes a text with a number, unless it is there. Returns `None` if another thread writes a
    /// text now, and `Some(false)` if there is no room.
    pub(in crate::survive) fn keep_text(&self, number: u32, value: &str) -> Option<bool> {
        let at = text::AT + usize::try_from(number).ok()? * text::BYTES;
        self.keep(at, |heap| self.add(heap, value.as_bytes()))
    }

    /// Like [`keep_text`](Self::keep_text), for a place.
    pub(in crate::survive) fn keep_place(&self, number: u32, value: StaticPlace) -> Option<bool> {
        let at = place::AT + usize::try_from(number).ok()? * place::BYTES;
        self.keep(at + place::LINE, |heap| {
            self.memory.set(at, self.add(heap, value.file.as_bytes())?);
            self.memory.set(at + place::MODULE, self.add(heap, value.module.as_bytes())?);
            Some(u64::from(value.line) + 1)
        })
    }

    /// Like [`keep_text`](Self::keep_text), for a callsite.
    pub(in crate::survive) fn keep_callsite(
        &self,
        number: u32,
        value: &'static tracing_core::Metadata<'static>,
    ) -> Option<bool> {
        let number = usize::try_from(number).ok().filter(|number| *number < CALLSITES)?;
        self.keep(callsite::AT + number * callsite::BYTES, |heap| {
            let [file, module] = [value.file(), value.module_path()].map(Option::unwrap_or_default);
            let texts = [value.target(), value.name(), file, module];
            let mut bytes = Vec::new();
            for length in texts.map(str::len) {
                bytes.extend_from_slice(&u32::try_from(length).unwrap_or(0).to_le_bytes());
            }
            bytes.extend_from_slice(&value.line().unwrap_or(0).to_le_bytes());
            bytes.extend_from_slice(texts.concat().as_bytes());
            self.add(heap, &bytes)
        })
    }

    /// Publishes the word at a byte that `write` returns, if it is zero.
    fn keep(&self, at: usize, write: impl FnOnce(&mut usize) -> Option<u64>) -> Option<bool> {
        if self.memory.get(at) != 0 {
            return Some(true);
        }
        let mut heap = self.heap.try_lock()?;
        if self.memory.get(at) == 0 {
            let Some(word) = write(&mut heap) else { return Some(false) };
            self.memory.publish(at, word);
        }
        Some(true)
    }

    /// Adds bytes to the heap, and returns their entry.
    fn add(&self, heap: &mut usize, value: &[u8]) -> Option<u64> {
        let (start, end) = (*heap, heap.checked_add(value.len())?);
        if end > HEAP {
            return None;
        }
        self.memory.copy(HEAP_AT + start, value);
        *heap = end;
        Some(entry(start, value.len()))
    }
}
