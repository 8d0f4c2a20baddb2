//! Static texts and places, which each file of a living pipeline contains before a record of it
//! names their numbers.

use std::sync::{Arc, Weak};

use super::Kept;
use super::per_process::PerProcess;
use super::store::Store;
use crate::frame::places::{self, StaticPlace};
use crate::frame::texts;
use crate::sync::{Lock, Switch};

/// Those of this process: in a forked child, the stores of the parent have neither room nor
/// readers.
static STORES: PerProcess<Lock<Vec<Weak<Store>>>> = PerProcess::new();

/// Adds a store, and writes the texts whose numbers threads may know already. Returns `false` if the
/// store has no room for them. Texts for which an earlier store had no room are not among them:
/// records contain these texts themselves.
pub(super) fn register(store: &Arc<Store>) -> bool {
    let all = STORES.get();
    let mut stores = all.value.lock();
    stores.retain(|store| store.strong_count() > 0);
    stores.push(Arc::downgrade(store));
    // A number that a thread learns from here on is written by that thread, which waits for no
    // lock. The numbers that threads know already were there before.
    drop(stores);
    let mut has_room = true;
    let mut keep = |kept: &dyn Fn() -> Option<bool>| loop {
        match kept() {
            // Another thread writes a text.
            None => std::thread::yield_now(),
            Some(is_kept) => {
                has_room &= is_kept;
                return;
            }
        }
    };
    texts::each(|number, text| keep(&|| store.keep_text(number, text)));
    places::each(|number, place| keep(&|| store.keep_place(number, place)));
    crate::frame::each_callsite(|number, callsite| {
        keep(&|| store.keep_callsite(number, callsite));
    });
    has_room
}

/// Writes a text to all files, before a record has its number.
pub(crate) fn keep_text(number: u32, text: &str, is_known: &Switch) -> Kept {
    keep(is_known, |store| store.keep_text(number, text))
}

/// Writes a place to all files, before a record has its number.
pub(crate) fn keep_place(number: u32, place: StaticPlace, is_known: &Switch) -> Kept {
    keep(is_known, |store| store.keep_place(number, place))
}

/// Writes a callsite to all files, before a record has its number.
pub(crate) fn keep_callsite(
    number: u32,
    callsite: &'static tracing_core::Metadata<'static>,
    is_known: &Switch,
) -> Kept {
    keep(is_known, |store| store.keep_callsite(number, callsite))
}

fn keep(is_known: &Switch, keep: impl Fn(&Store) -> Option<bool>) -> Kept {
    let stores = STORES.get();
    // A call waits for no other thread.
    let Some(stores) = stores.value.try_lock() else { return Kept::Busy };
    let mut kept = Kept::Yes;
    for store in stores.iter().filter_map(Weak::upgrade) {
        match keep(&store) {
            Some(true) => {}
            Some(false) => kept = Kept::Full,
            None => return Kept::Busy,
        }
    }
    if kept == Kept::Yes {
        // Under the lock: a store that is added next gets the text.
        is_known.on();
    }
    kept
}
