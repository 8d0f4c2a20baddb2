//! A thread's number and name, as a part of its records.

use core::panic::AssertUnwindSafe;
use std::{panic, thread};

use tach_log::adapter;

use super::{TAG_BITS, TEXT_SHIFT, Tag, WORD};
use crate::host::process::os_thread_id;

/// The part of a record with the number and the name of a thread.
#[derive(Clone, Default)]
pub struct ThisThread {
    /// The bytes of the part. Empty for no thread.
    pub field: Box<[u8]>,
}

impl ThisThread {
    /// Returns the number and the name of the calling thread. At its very end they are not known.
    #[cold]
    pub fn new() -> Self {
        let known = panic::catch_unwind(AssertUnwindSafe(|| {
            let thread = thread::current();
            (adapter::thread_id(&thread), thread.name().map(str::to_owned))
        }));
        let (id, name) = known.unwrap_or_default();
        let name = name.unwrap_or_default();
        // A thread id of Linux has at most 22 bits, and the word has 27 beside the tag.
        let os_id = u64::from(os_thread_id() << TAG_BITS);
        let head = Tag::Thread as u64 | os_id | (name.len() as u64) << TEXT_SHIFT;
        let mut field = [head, id.unwrap_or(0)].map(u64::to_le_bytes).concat();
        field.extend_from_slice(name.as_bytes());
        field.resize(field.len().next_multiple_of(WORD), 0);
        Self { field: field.into() }
    }

    /// Returns the lower half of the number: no two threads of four billion have the same. Zero for
    /// no thread.
    #[expect(clippy::cast_possible_truncation, reason = "takes the lower half")]
    pub(crate) fn number(&self) -> u32 {
        self.parts().0 as u32
    }

    /// Returns the number and the name. Both are empty for no thread.
    pub(crate) fn parts(&self) -> (u64, &str) {
        let Some((words, name)) = self.field.split_first_chunk::<{ 2 * WORD }>() else {
            return (0, "");
        };
        let [head, id] = [0, WORD]
            .map(|at| words[at..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word)));
        let length = usize::try_from(head >> TEXT_SHIFT).unwrap_or(0);
        let name = name.get(..length).map(core::str::from_utf8);
        (id, name.and_then(Result::ok).unwrap_or_default())
    }
}
