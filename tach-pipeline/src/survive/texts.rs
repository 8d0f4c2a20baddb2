//! Static texts, places and callsites, which each file of a living pipeline contains before a record
//! of it names their numbers.

use std::sync::{Arc, Weak};
use std::thread;

use super::per_process::PerProcess;
use super::store::Store;
use crate::callsites::{self, Callsite};
use crate::frame::numbers::{Keep, Notice, Numbered, Numbers, Unnumbered};
use crate::frame::{numbers, places};
use crate::sync::Lock;

/// Those of this process: in a forked child, the stores of the parent have neither room nor
/// readers.
static STORES: PerProcess<Lock<Vec<Weak<Store>>>> = PerProcess::new();

/// Adds a store, and writes the texts whose numbers threads may know already. Returns `false` if the
/// store has no room for them. Texts for which an earlier store had no room are not among them:
/// records contain these texts themselves.
pub(super) fn register(store: &Arc<Store>) -> bool {
    crate::callsites::set_up();
    let (texts, places, callsites) = (numbers::texts(), places::numbers(), callsites::numbers());
    keep_by(texts, |number, text, is_known| keep(is_known, |it| it.keep_text(number, text)));
    keep_by(places, |number, place, is_known| keep(is_known, |it| it.keep_place(number, place)));
    keep_by(callsites, |number, Callsite(callsite), is_known| {
        keep(is_known, |it| it.keep_callsite(number, callsite))
    });
    let all = STORES.get();
    let mut stores = all.value.lock();
    stores.retain(|store| store.strong_count() > 0);
    stores.push(Arc::downgrade(store));
    // A number that a thread learns from here on is written by that thread, which waits for no
    // lock. The numbers that threads know already were there before.
    drop(stores);
    each(texts, |number, text| store.keep_text(number, text))
        & each(places, |number, place| store.keep_place(number, place))
        & each(callsites, |number, Callsite(callsite)| store.keep_callsite(number, callsite))
}

fn keep_by<T>(numbers: Option<&Numbers<T>>, keep: Keep<T>) {
    if let Some(numbers) = numbers {
        let _set_by_an_earlier_store = numbers.keep.set(keep);
        numbers.is_kept.set();
    }
}

/// Calls `keep` with each value whose number a thread may know. Returns whether there was room.
pub(super) fn each<T: Numbered>(
    numbers: Option<&Numbers<T>>,
    keep: impl Fn(u32, T) -> Option<bool>,
) -> bool {
    let entries = numbers.into_iter().flat_map(|numbers| &numbers.entries);
    let known = (0..).zip(entries).filter(|(_, entry)| entry.is_known.is_set());
    let known = known.filter_map(|(number, entry)| Some((number, *entry.value.get()?)));
    let kept = known.map(|(number, value)| {
        loop {
            match keep(number, value) {
                // Another thread writes a text.
                None => thread::yield_now(),
                Some(is_kept) => return is_kept,
            }
        }
    });
    kept.fold(true, |has_room, is_kept| has_room & is_kept)
}

/// Writes a value to all files, before a record has its number.
fn keep(is_known: &Notice, keep: impl Fn(&Store) -> Option<bool>) -> Result<(), Unnumbered> {
    let stores = STORES.get();
    // A call waits for no other thread.
    let Some(stores) = stores.value.try_lock() else { return Err(Unnumbered::Busy) };
    let mut kept = Ok(());
    for store in stores.iter().filter_map(Weak::upgrade) {
        match keep(&store) {
            Some(true) => {}
            Some(false) => kept = Err(Unnumbered::Full),
            None => return Err(Unnumbered::Busy),
        }
    }
    if kept.is_ok() {
        // Under the lock: a store that is added next gets the text.
        is_known.set();
    }
    kept
}
