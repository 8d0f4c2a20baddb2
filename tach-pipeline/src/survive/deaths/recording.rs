//! The circle of the flight recorder's items, after each store.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::fs;
use std::sync::{Arc, Mutex};
use std::thread;

use super::{Scene, observers};
use crate::survive::image::Image;
use crate::survive::store::{Kept, Recording, Store};

/// Enough items to fill the part several times.
const ITEMS: u64 = 600;

/// Returns an item whose words are its number.
fn item(number: u64) -> Vec<u8> {
    let words = if number % 50 == 7 { 300 } else { 2 + number % 9 };
    (0..words).flat_map(|_| number.to_ne_bytes()).collect()
}

fn numbers(bytes: &[u8]) -> Vec<u64> {
    let image = Image::read(bytes).ok().unwrap();
    let mut numbers = Vec::new();
    let is_whole = image.recorded(|_, bytes| {
        let number = u64::from_ne_bytes(*bytes.first_chunk().unwrap());
        assert_eq!(bytes, item(number), "an item was overwritten in part");
        numbers.push(number);
    });
    assert!(
        is_whole,
        "{:?}",
        (304..336)
            .step_by(8)
            .map(|at| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap()))
            .collect::<Vec<_>>()
    );
    numbers
}

#[test]
fn what_counts_is_never_overwritten() {
    let scene = Scene::new();
    let folder = Arc::new(tach_files::PrivateFolder::make(&scene.files()).unwrap());
    let store = Store::new(&folder, &[]).unwrap();
    let file = fs::read_dir(scene.files()).unwrap().next().unwrap().unwrap().path();
    let (added, seen) = (Arc::new(AtomicU64::new(0)), Arc::new(Mutex::new((0, 0))));
    let observer = {
        let (file, added, seen) = (file.clone(), Arc::clone(&added), Arc::clone(&seen));
        let own = thread::current().id();
        move || {
            // Threads of other tests store texts meanwhile.
            if thread::current().id() != own {
                return;
            }
            // ORDERING: Acquire, with the Release below.
            let least = added.load(Ordering::Acquire);
            let numbers = numbers(&fs::read(&file).unwrap());
            assert!(numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{numbers:?}");
            assert!(numbers.last().copied().unwrap_or(0) >= least, "{least}: {numbers:?}");
            let mut seen = seen.lock().unwrap();
            *seen = (seen.0 + 1, seen.1.max(numbers.len()));
        }
    };
    observers().push((scene.files(), Arc::new(observer)));
    let mut recording = Recording::new(&store, 16 * 1024, Duration::from_secs(1));
    for number in 1..=ITEMS {
        recording.add(&Kept::Event(&item(number)));
        // ORDERING: Release, with the Acquire of the observer.
        added.store(number, Ordering::Release);
    }
    observers().retain(|(of, _)| *of != scene.files());
    let last = numbers(&fs::read(file).unwrap());
    // A control: the circle was overwritten.
    assert!(last[0] > ITEMS / 2 && last.len() > 100, "{last:?}");
    let (stores, most) = *seen.lock().unwrap();
    assert!(stores > 1_000 && most < 400, "{stores} stores, {most} items");
    drop((recording, store));
}
