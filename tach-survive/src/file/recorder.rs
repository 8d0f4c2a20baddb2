//! The items of a flight recorder in the file of a living pipeline.

use core::time::Duration;
use std::sync::Arc;

use tach_record::keep::Keep;

use super::current::Current;
use super::store::Recording;

/// Returns a function that keeps each item in the file that is current at the call. A new file does
/// not contain the items of the one before.
pub(super) fn keep(current: &Arc<Current>, bytes: usize, max_age: Duration) -> Box<Keep> {
    let current = Arc::clone(current);
    let new = move |store: &_| Some(Recording::new(store, bytes, max_age));
    // Create the recording at once: a process that dies before the first item has a recorder too.
    let mut recording = current.with(new);
    Box::new(move |words, records| {
        let store = current.store.load();
        let Some(store) = &*store else { return };
        if !recording.as_ref().is_some_and(|recording| recording.is_of(store)) {
            recording = new(store);
        }
        if let Some(recording) = &mut recording {
            recording.add(words, records);
        }
    })
}
