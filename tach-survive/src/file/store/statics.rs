//! Static texts, places and callsites in the file.

use super::super::layout::{HEAP, HEAP_AT, Kind, entry};
use super::Store;

impl Store {
    /// Writes the texts and the line of the value with this number, unless the file contains them.
    /// Returns `None` if another thread writes a value now, and `Some(false)` if there is no room.
    pub(crate) fn keep(&self, kind: Kind, number: u32, texts: &[&str], line: u32) -> Option<bool> {
        let at = kind.entry(number)?;
        if self.memory.get(at) != 0 {
            return Some(true);
        }
        let mut bytes = Vec::new();
        // The last text needs no length: it extends to the end.
        let lengths = texts.iter().map(|text| u32::try_from(text.len()).unwrap_or(0));
        if texts.len() > 1 {
            let words = [line].into_iter().chain(lengths).take(texts.len());
            words.for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
        }
        bytes.extend_from_slice(texts.concat().as_bytes());
        let mut heap = self.heap.try_lock()?;
        if self.memory.get(at) == 0 {
            let start = *heap;
            if start + bytes.len() > HEAP {
                return Some(false);
            }
            self.memory.copy(HEAP_AT + start, &bytes);
            *heap += bytes.len();
            self.memory.publish(at, entry(start, bytes.len()));
        }
        Some(true)
    }
}
