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
        if self.fixed.get(at) != 0 {
            return Some(true);
        }
        let mut heap = self.heap.try_lock()?;
        if self.fixed.get(at) == 0 {
            let Some(entry) = self.keep(&mut heap, value) else { return Some(false) };
            self.fixed.publish(at, entry);
        }
        Some(true)
    }

    /// Like [`keep_text`](Self::keep_text), for a place.
    pub(in crate::survive) fn keep_place(&self, number: u32, value: StaticPlace) -> Option<bool> {
        let at = place::AT + usize::try_from(number).ok()? * place::BYTES;
        if self.fixed.get(at + place::LINE) != 0 {
            return Some(true);
        }
        let mut heap = self.heap.try_lock()?;
        if self.fixed.get(at + place::LINE) == 0 {
            let file = self.keep(&mut heap, value.file);
            let module = self.keep(&mut heap, value.module);
            let Some((file, module)) = file.zip(module) else { return Some(false) };
            self.fixed.set(at, file);
            self.fixed.set(at + place::MODULE, module);
            self.fixed.publish(at + place::LINE, u64::from(value.line) + 1);
        }
        Some(true)
    }

    /// Like [`keep_text`](Self::keep_text), for a callsite.
    pub(in crate::survive) fn keep_callsite(
        &self,
        number: u32,
        value: &'static tracing_core::Metadata<'static>,
    ) -> Option<bool> {
        let number = usize::try_from(number).ok().filter(|number| *number < CALLSITES)?;
        let at = callsite::AT + number * callsite::BYTES;
        if self.fixed.get(at) != 0 {
            return Some(true);
        }
        let mut heap = self.heap.try_lock()?;
        if self.fixed.get(at) == 0 {
            let (file, module) = (value.file(), value.module_path());
            let texts = [
                value.target(),
                value.name(),
                file.unwrap_or_default(),
                module.unwrap_or_default(),
            ];
            let mut bytes = Vec::new();
            for length in texts.map(str::len) {
                bytes.extend_from_slice(&u32::try_from(length).unwrap_or(0).to_le_bytes());
            }
            bytes.extend_from_slice(&value.line().unwrap_or(0).to_le_bytes());
            bytes.extend_from_slice(texts.concat().as_bytes());
            let Some(entry) = self.keep_bytes(&mut heap, &bytes) else { return Some(false) };
            self.fixed.publish(at, entry);
        }
        Some(true)
    }

    fn keep(&self, heap: &mut usize, value: &str) -> Option<u64> {
        self.keep_bytes(heap, value.as_bytes())
    }

    fn keep_bytes(&self, heap: &mut usize, value: &[u8]) -> Option<u64> {
        let (start, end) = (*heap, heap.checked_add(value.len())?);
        if end > HEAP {
            return None;
        }
        self.fixed.copy(HEAP_AT + start, value);
        *heap = end;
        Some(entry(start, value.len()))
    }
}
