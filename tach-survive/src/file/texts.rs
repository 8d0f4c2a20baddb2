//! Static texts, places and callsites, which each file of a living pipeline contains before a
//! record of it names their numbers.

use std::sync::{Arc, Weak};
use std::{process, thread};

use arc_swap::ArcSwapOption;

use super::layout::Kind;
use super::store::Store;
use tach_record::frame::numbers::{self, Notice, Numbered, Numbers, Unnumbered};
use tach_record::frame::places::{self, StaticPlace};
use tach_record::sync::Lock;
use tach_spans::callsites::{self, Callsite};

/// The stores of the process that last called [`stores_of`].
static STORES: ArcSwapOption<Stores> = ArcSwapOption::const_empty();

/// The stores of a process. In a forked child, the parent's stores have neither room nor readers,
/// and a thread that the child lacks may hold their lock.
struct Stores {
    process: u32,
    all: Lock<Vec<Weak<Store>>>,
}

/// Returns the stores of the calling process, whose id is `process`. Waits for no other thread.
fn stores_of(process: u32) -> Arc<Stores> {
    let mut own = Arc::new(Stores { process, all: Lock::default() });
    STORES.rcu(|there| {
        if let Some(there) = there.as_ref().filter(|there| there.process == process) {
            own = Arc::clone(there);
        }
        Some(Arc::clone(&own))
    });
    own
}

/// A value that a file contains.
pub(super) trait Value: Numbered {
    /// Writes the value, as [`Store::keep`] does.
    fn keep(self, store: &Store, number: u32) -> Option<bool>;
}

impl Value for &'static str {
    fn keep(self, store: &Store, number: u32) -> Option<bool> {
        store.keep(Kind::Text, number, &[self], 0)
    }
}

impl Value for StaticPlace {
    fn keep(self, store: &Store, number: u32) -> Option<bool> {
        store.keep(Kind::Place, number, &[self.file, self.module], self.line)
    }
}

impl Value for Callsite {
    fn keep(self, store: &Store, number: u32) -> Option<bool> {
        let Self(it) = self;
        let [file, module] = [it.file(), it.module_path()].map(Option::unwrap_or_default);
        let texts = [it.target(), it.name(), file, module];
        store.keep(Kind::Callsite, number, &texts, it.line().unwrap_or(0))
    }
}

/// Adds a store, and writes the texts whose numbers threads may know already. Returns `false` if
/// the store has no room for them. Texts for which an earlier store had no room are not among them:
/// records contain these texts themselves.
pub(super) fn register(store: &Arc<Store>) -> bool {
    callsites::set_up();
    let (texts, places, callsites) = (numbers::texts(), places::numbers(), callsites::numbers());
    keep_by(texts);
    keep_by(places);
    keep_by(callsites);
    let stores = stores_of(process::id());
    let mut stores = stores.all.lock();
    stores.retain(|store| store.strong_count() > 0);
    stores.push(Arc::downgrade(store));
    // From here on, a thread that learns a number writes it to this file itself, without waiting
    // for a lock. The numbers that threads know already are written below.
    drop(stores);
    keep_all(texts, store) & keep_all(places, store) & keep_all(callsites, store)
}

fn keep_by<T: Value>(numbers: Option<&Numbers<T>>) {
    if let Some(numbers) = numbers {
        let _set_by_an_earlier_store = numbers.keep.set(keep);
        numbers.is_kept.set();
    }
}

/// Calls `keep` with each value whose number a thread may know. Returns whether there was room.
fn keep_all<T: Value>(numbers: Option<&Numbers<T>>, store: &Store) -> bool {
    known(numbers).fold(true, |has_room, (number, value)| {
        loop {
            match value.keep(store, number) {
                // Another thread is writing a text: wait for it.
                None => thread::yield_now(),
                Some(is_kept) => return has_room & is_kept,
            }
        }
    })
}

/// Returns the values whose numbers a thread may know.
pub(super) fn known<T: Value>(numbers: Option<&Numbers<T>>) -> impl Iterator<Item = (u32, T)> {
    let entries = numbers.into_iter().flat_map(|numbers| &numbers.entries);
    let known = (0..).zip(entries).filter(|(_, entry)| entry.is_known.is_set());
    known.filter_map(|(number, entry)| Some((number, *entry.value.get()?)))
}

/// Writes a value to all files, before a record has its number.
fn keep<T: Value>(number: u32, value: T, is_known: &Notice) -> Result<(), Unnumbered> {
    let stores = stores_of(process::id());
    // Don't wait for the lock: a call that logs waits for no other thread.
    let Some(stores) = stores.all.try_lock() else { return Err(Unnumbered::Busy) };
    let mut kept = Ok(());
    for store in stores.iter().filter_map(Weak::upgrade) {
        match value.keep(&store, number) {
            Some(true) => {}
            Some(false) => kept = Err(Unnumbered::Full),
            None => return Err(Unnumbered::Busy),
        }
    }
    if kept.is_ok() {
        // Set the notice under the lock, so that a store that is added next gets the text.
        is_known.set();
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_support::is_alone;

    #[test]
    fn a_child_has_no_lock_of_its_parent() {
        if !is_alone(a_child_has_no_lock_of_its_parent) {
            return;
        }
        let parent = stores_of(u32::MAX);
        let held = parent.all.lock();
        assert!(stores_of(u32::MAX).all.try_lock().is_none(), "a process has one lock");
        assert!(stores_of(u32::MAX - 1).all.try_lock().is_some());
        drop(held);
    }
}
