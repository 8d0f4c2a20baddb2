use std::collections::{HashMap, HashSet};
use std::sync::Barrier;
use std::thread;

use super::*;
use crate::frame::places::StaticPlace;

const TEXTS_BITS: u32 = <&str as Numbered>::MOST_BITS;

/// Returns a table that no file stores: a file of another test would store the process' tables.
fn table<T: Numbered>(most: usize) -> Numbers<T> {
    Numbers::new(most)
}

/// Returns a text. Each call returns a different address.
pub(super) fn leaked(number: usize) -> &'static str {
    format!("text {number}").leak()
}

#[test]
fn a_text_has_one_number_wherever_it_is() {
    let texts = table(64);
    let mut found = HashMap::new();
    for round in 0..3 {
        for number in 0..8 {
            let text = leaked(number);
            let code = Interner::new().code(&texts, text).expect("there is room for eight");
            let given = code.number();
            assert_eq!(texts.get(given), Some(text), "round {round}");
            assert_eq!(*found.entry(text).or_insert(given), given, "round {round}");
        }
    }
    assert_eq!(found.len(), 8);
    assert_eq!(texts.get(64), None);
    assert_eq!(texts.get(u32::MAX), None);
}

#[test]
fn a_text_is_not_taken_for_its_beginning() {
    let texts = table(64);
    let mut interner = Interner::new();
    let text = leaked(1234);
    for text in [text, &text[..6], text, &text[..6]] {
        let given = interner.code(&texts, text).expect("there is room for two");
        assert_eq!(texts.get(given.number()), Some(text));
        assert_eq!(interner.at_once(text), Some(given));
    }
}

/// 200 texts compete for 64 entries, and each entry is tried for every fourth text. With any hash
/// that spreads, the probability that half the entries stay empty is below 10^-9.
#[test]
fn texts_beyond_those_that_have_room_have_no_number() {
    let texts = table(64);
    let all: Vec<_> = (0..200).map(leaked).collect();
    let given: Vec<_> = all.iter().map(|&text| texts.number(text)).collect();
    let numbered = given.iter().filter(|given| given.is_ok()).count();
    assert!((32..=64).contains(&numbered), "{numbered} have a number");
    // Another thread gets the same numbers, even while an entry is being taken.
    let _held = texts.taking.lock().unwrap();
    for (text, given) in all.into_iter().zip(given) {
        let mut interner = Interner::new();
        for _ in 0..2 {
            let code = interner.code(&texts, text).map(Code::number);
            assert_eq!(code, given.as_ref().ok().copied(), "{text}");
        }
        let code = interner.at_once(text).map(Code::number);
        assert_eq!(code, given.as_ref().ok().copied(), "{text}");
        let entries = interner.known.iter().flatten().flatten().count();
        assert_eq!(entries, 1, "{text} is remembered once, also if it is refused");
        match given {
            Ok(number) => assert_eq!(texts.get(number), Some(text)),
            Err(why) => assert_eq!(why, Unnumbered::Full),
        }
    }
}

/// Texts with the same address have the same entries.
#[test]
fn two_texts_for_one_entry_do_not_enlarge_the_table() {
    let texts = table(64);
    let mut interner = Interner::new();
    let text = leaked(1234);
    for text in [text, &text[..6]] {
        let given = interner.code(&texts, text);
        assert!(given.is_some());
        assert_eq!(interner.at_once(text), given);
    }
    assert_eq!(interner.known.len(), 1 << FIRST_BITS);
    // A third text enlarges the table up to its largest size.
    assert_eq!(interner.code(&texts, &text[..5]), None);
    assert_eq!(interner.known.as_flattened().len(), 1 << TEXTS_BITS);
}

/// An entry and its neighbor hold two texts. Further texts are copied, and the two texts stay.
#[test]
fn what_a_thread_knows_stays() {
    let texts = table(4096);
    let mut interner = Interner::new();
    let all: Vec<_> = (0..1000).map(leaked).collect();
    let given: Vec<_> = all.iter().map(|&text| interner.code(&texts, text)).collect();
    let known = given.iter().flatten().count();
    assert!((1 << TEXTS_BITS >> 1..=1 << TEXTS_BITS).contains(&known), "{known} are known");
    for (text, given) in all.into_iter().zip(given) {
        assert_eq!(interner.code(&texts, text), given, "{text}");
        assert_eq!(interner.at_once(text), given, "{text}");
    }
}

#[test]
fn nobody_waits_while_an_entry_is_taken() {
    let texts = table(64);
    let mut interner = Interner::new();
    let text = leaked(1);
    let held = texts.taking.lock().unwrap();
    assert!(!interner.was_busy);
    assert_eq!(interner.code(&texts, text), None);
    assert!(interner.was_busy);
    drop(held);
    assert!(interner.code(&texts, text).is_some());
}

/// Each thread begins with a different text, so that the threads compete for entries.
#[test]
fn threads_give_the_same_numbers() {
    const TEXTS: usize = 400;
    for _ in 0..20 {
        let texts = table(2048);
        let start = Barrier::new(4);
        let number_all = |first: usize| {
            let all: Vec<_> = (first..first + TEXTS).map(|it| leaked(it % TEXTS)).collect();
            start.wait();
            for text in all {
                let given = loop {
                    match texts.number(text) {
                        Err(Unnumbered::Busy) => thread::yield_now(),
                        given => break given.expect("there is room for all"),
                    }
                };
                assert_eq!(texts.get(given), Some(text));
            }
        };
        thread::scope(|scope| {
            for thread in 0..4 {
                let number_all = &number_all;
                scope.spawn(move || number_all(thread * TEXTS / 4));
            }
        });
        let given = texts.entries.iter().filter_map(|entry| entry.value.get());
        assert_eq!(given.copied().collect::<HashSet<_>>().len(), TEXTS);
        assert_eq!(texts.entries.iter().filter(|entry| entry.value.get().is_some()).count(), TEXTS);
    }
}

/// Two places differ if any of their parts differ, even if both have the same address.
#[test]
fn places_have_numbers_of_their_own() {
    let numbers = table(64);
    let mut interner = Interner::new();
    let (file, module) = (leaked(1), leaked(2));
    let place = StaticPlace { file, module, line: 7 };
    let shorter = &file[..5];
    let places = [
        place,
        StaticPlace { line: 8, ..place },
        StaticPlace { module: shorter, ..place },
        StaticPlace { file: shorter, ..place },
    ];
    let given = places.map(|place| numbers.number(place).expect("there is room for four"));
    assert_eq!(HashSet::from(given).len(), 4);
    for (place, number) in places.into_iter().zip(given) {
        assert_eq!(numbers.get(number), Some(place));
        let known = interner.code(&numbers, place);
        assert!(known.is_none_or(|known| known.number() == number));
        assert_eq!(interner.at_once(place), known);
    }
    let elsewhere = StaticPlace { file: leaked(1), module: leaked(2), line: 7 };
    assert_eq!(Interner::new().code(&numbers, elsewhere).map(Code::number), Some(given[0]));
}
