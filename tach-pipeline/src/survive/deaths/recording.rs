//! The circle of the flight recorder's items, after each store.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::fs;
use std::sync::{Arc, Mutex};
use std::thread;

use super::{Scene, observers};
use crate::survive::image::Image;
use crate::survive::store::Kept;
use crate::survive::store::{Progress, Recording, Store};

/// Enough items to begin a longer part, and to fill it several times.
const ITEMS: u64 = 600;

/// Returns an item whose words are its number.
fn item(number: u64) -> Vec<u8> {
    let words = if number % 50 == 7 { 300 } else { 2 + number % 9 };
    (0..words).flat_map(|_| number.to_ne_bytes()).collect()
}

fn numbers(bytes: &[u8]) -> Vec<u64> {
    let image = Image::read(bytes).ok().unwrap();
    let recorded = image.recorded();
    assert!(!recorded.is_damaged);
    let number = |(_, bytes): (_, &[u8])| {
        let number = u64::from_ne_bytes(*bytes.first_chunk().unwrap());
        assert_eq!(bytes, item(number), "an item was overwritten in part");
        number
    };
    recorded.items().map(number).collect()
}

#[test]
fn what_counts_is_never_overwritten() {
    let scene = Scene::new();
    let folder = Arc::new(tach_files::PrivateFolder::make(&scene.files()).unwrap());
    let store = Store::new(&folder, &[]).unwrap();
    let file = fs::read_dir(scene.files()).unwrap().next().unwrap().unwrap().path();
    let (committed, seen) = (Arc::new(AtomicU64::new(0)), Arc::new(Mutex::new((0, 0))));
    let observer = {
        let (file, committed, seen) = (file.clone(), Arc::clone(&committed), Arc::clone(&seen));
        let own = thread::current().id();
        move || {
            // Threads of other tests store texts meanwhile.
            if thread::current().id() != own {
                return;
            }
            // ORDERING: Acquire, with the Release below.
            let least = committed.load(Ordering::Acquire);
            let numbers = numbers(&fs::read(&file).unwrap());
            assert!(numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{numbers:?}");
            assert!(numbers.last().copied().unwrap_or(0) >= least, "{least}: {numbers:?}");
            let mut seen = seen.lock().unwrap();
            *seen = (seen.0 + 1, seen.1.max(numbers.len()));
        }
    };
    observers().push((scene.files(), Arc::new(observer)));
    let mut recording = Recording::new(&store, 16 * 1024, Duration::from_secs(1));
    let mut progress = Progress::default();
    for number in 1..=ITEMS {
        recording.add(&Kept::Event(&item(number)), |each| {
            // The recorder has kept the last items.
            for number in number.saturating_sub(60).max(1)..=number {
                each(&Kept::Event(&item(number)));
            }
        });
        // Some rounds add more than is free.
        if number % 17 == 0 || number > ITEMS / 2 && number % 90 == 0 {
            progress.recorded = recording.recorded();
            store.commit(&progress);
            recording.committed();
            // ORDERING: Release, with the Acquire of the observer.
            committed.store(number, Ordering::Release);
        }
    }
    observers().retain(|(of, _)| *of != scene.files());
    let last = numbers(&fs::read(file).unwrap());
    // A control: the circle is longer than at first, and was overwritten.
    assert!(last[0] > ITEMS / 2 && last.len() > 100, "{last:?}");
    let (stores, most) = *seen.lock().unwrap();
    assert!(stores > 1_000 && most < 400, "{stores} stores, {most} items");
    drop((recording, store));
}
