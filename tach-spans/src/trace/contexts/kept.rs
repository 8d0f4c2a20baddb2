//! The records of spans that wait.

use core::mem;

use super::Contexts;
use crate::trace::key::Key;
use crate::trace::slot::{KEPT, Slot};
use crate::trace::slots::Open;

impl Contexts {
    /// Changes the records that are kept of a span, if it still waits. Returns whether it does.
    pub fn keep(&self, key: Key, slot: &Slot, change: impl FnOnce(&mut Vec<u8>)) -> bool {
        if let Some(own) = Open::of(key) {
            let kept = own.change_kept(|kept| slot.waits().then(|| change(kept)));
            return kept.flatten().is_some();
        }
        slot.set_flag(KEPT);
        self.kept.update(slot.context().span, || slot.waits(), change)
    }

    /// Takes the records that are kept of a span. If there are none, calls `end` before another
    /// thread can keep one.
    pub fn take_kept_or(&self, key: Key, span: u64, end: impl Fn()) -> Option<Vec<u8>> {
        let taken = |kept: &mut Vec<u8>| {
            if kept.is_empty() {
                end();
            }
            mem::take(kept)
        };
        let kept = match Open::of(key) {
            Some(own) => own.change_kept(taken),
            None => self.kept.change_any(span, taken),
        };
        kept.filter(|kept| !kept.is_empty())
    }

    /// Takes the records that are kept of a span, which no longer waits.
    pub fn take_kept(&self, key: Key, span: u64) -> Option<Vec<u8>> {
        match Open::of(key) {
            Some(own) => own.change_kept(mem::take),
            None => self.kept.remove(span),
        }
    }
}
