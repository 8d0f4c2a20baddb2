//! The circle of the flight recorder's items, after each store.

use core::cell::{Cell, RefCell};
use std::fs;
use std::rc::Rc;

use super::*;
use crate::file::image::Image;
use crate::file::watched;

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
    assert!(is_whole.is_some());
    numbers
}

thread_local! {
    /// What this thread does after each store. Threads of other tests store texts meanwhile.
    static OBSERVER: RefCell<Option<Box<dyn FnMut()>>> = const { RefCell::new(None) };
}

#[test]
fn what_counts_is_never_overwritten() {
    let (store, path) = Store::of_test("circle");
    let file = fs::read_dir(&path).unwrap().next().unwrap().unwrap().path();
    let seen = Rc::new(Cell::new((0, 0, 0)));
    watched::STORED.get_or_init(|| {
        || {
            OBSERVER.with_borrow_mut(|observer| observer.iter_mut().for_each(|observe| observe()));
        }
    });
    let observer = {
        let (file, seen) = (file.clone(), Rc::clone(&seen));
        move || {
            let numbers = numbers(&fs::read(&file).unwrap());
            let (least, stores, most) = seen.get();
            assert!(numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{numbers:?}");
            assert!(numbers.last().copied().unwrap_or(0) >= least, "{least}: {numbers:?}");
            seen.set((least, stores + 1, most.max(numbers.len())));
        }
    };
    OBSERVER.set(Some(Box::new(observer)));
    let mut recording = Recording::new(&store, 16 * 1024, Duration::from_secs(1));
    for number in 1..=ITEMS {
        recording.add(&[], &item(number));
        let (_, stores, most) = seen.get();
        seen.set((number, stores, most));
    }
    OBSERVER.set(None);
    let last = numbers(&fs::read(file).unwrap());
    // A control: the circle was overwritten.
    assert!(last[0] > ITEMS / 2 && last.len() > 100, "{last:?}");
    let (_, stores, most) = seen.get();
    assert!(stores > 1_000 && most < 400, "{stores} stores, {most} items");
    fs::remove_dir_all(path).unwrap();
}
