//! A thread's number and name, as a part of its records.

use core::panic::AssertUnwindSafe;
use std::{panic, thread};

use tach_log::adapter;

use super::buffer::Buffer;
use super::{TEXT_SHIFT, Tag};

pub(super) struct ThisThread(Box<[u8]>);

impl ThisThread {
    /// Returns the number and the name of the calling thread. At its very end they are not known.
    #[cold]
    pub(super) fn new() -> Self {
        let known = panic::catch_unwind(AssertUnwindSafe(|| {
            let thread = thread::current();
            (adapter::thread_id(&thread), thread.name().map(str::to_owned))
        }));
        let (id, name) = known.unwrap_or_default();
        let name = name.unwrap_or_default();
        let mut field = Buffer::new();
        for word in [Tag::Thread as u64 | (name.len() as u64) << TEXT_SHIFT, id.unwrap_or(0)] {
            field.push(&word.to_le_bytes());
        }
        field.push_text(name.as_bytes());
        Self(field.written().into())
    }

    #[inline]
    pub(super) fn field(&self) -> &[u8] {
        &self.0
    }
}
