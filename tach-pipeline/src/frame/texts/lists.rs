//! Lists of the program's texts as numbers: the names of a callsite's fields, found at once.

use super::{MOST, TEXTS, Texts, Unnumbered};

/// So many texts of a list can have their numbers in it; those beyond are looked up one by one.
const NUMBERED: usize = 12;
/// So many lists are known in one place, at most: 4 KiB.
const KNOWN: usize = 1 << KNOWN_BITS;
const KNOWN_BITS: u32 = 7;
/// So many places are tried for a list.
const TRIED: usize = 4;

/// The numbers of a list's texts, by their indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Numbers([u16; NUMBERED]);

/// In place of a number.
const NO_NUMBER: u16 = u16::MAX;
const _: () = assert!(MOST <= NO_NUMBER as usize);

impl Numbers {
    /// Of no text.
    pub(crate) const NONE: Self = Self([NO_NUMBER; NUMBERED]);

    /// The number of the text at this index, if it is found here.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<u32> {
        self.0.get(index).filter(|&&number| number != NO_NUMBER).map(|&number| u32::from(number))
    }
}

/// The lists that are known to who writes records, by the addresses of what has them.
pub(crate) struct Lists {
    known: [Known; KNOWN],
}

#[derive(Clone, Copy)]
struct Known {
    /// Zero if there is none.
    address: usize,
    numbers: Numbers,
}

impl Lists {
    pub(crate) const fn new() -> Self {
        Self { known: [Known { address: 0, numbers: Numbers::NONE }; KNOWN] }
    }

    /// The numbers of the texts that `list` gives: always the same ones in the same order for an `address`.
    #[inline]
    pub(crate) fn numbers<L: Iterator<Item = &'static str>>(
        &mut self,
        address: usize,
        list: impl FnOnce() -> L,
    ) -> Numbers {
        self.at_once(address).unwrap_or_else(|| self.look_up(TEXTS.get(), address, list()))
    }

    #[inline]
    fn at_once(&self, address: usize) -> Option<Numbers> {
        let known = &self.known[place(address)];
        (known.address == address).then_some(known.numbers)
    }

    #[cold]
    fn look_up(
        &mut self,
        texts: Option<&Texts>,
        address: usize,
        list: impl Iterator<Item = &'static str>,
    ) -> Numbers {
        let places = (0..TRIED).map(|next| place(address) ^ next);
        let find = |address| places.clone().find(|&place| self.known[place].address == address);
        if let Some(place) = find(address) {
            return self.known[place].numbers;
        }
        // Other lists have its places, and will have them: its texts are looked up one by one each time.
        let (Some(texts), Some(vacant)) = (texts, find(0)) else { return Numbers::NONE };
        let mut numbers = Numbers::NONE;
        for (to, text) in numbers.0.iter_mut().zip(list) {
            match texts.number(text) {
                Ok(number) => *to = u16::try_from(number).unwrap_or(NO_NUMBER),
                Err(Unnumbered::Full) => {}
                Err(Unnumbered::Busy) => return Numbers::NONE,
            }
        }
        self.known[vacant] = Known { address, numbers };
        numbers
    }
}

/// Where a thread knows the list at this address, or in another of the four places around that. Callsites are often
/// evenly spaced: they are mixed twice, lest many have the same places.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the low bits tell near addresses apart")]
fn place(address: usize) -> usize {
    let mixed = (address as u32).wrapping_mul(0x9E37_79B9);
    let mixed = (mixed ^ mixed >> 15).wrapping_mul(0x85EB_CA6B);
    (mixed >> (u32::BITS - KNOWN_BITS)) as usize
}

#[cfg(test)]
mod tests {
    use core::iter;

    use super::*;
    use crate::frame::texts::tests::leaked;

    /// As [`Lists::numbers`], with numbers of `texts`.
    fn numbers(lists: &mut Lists, texts: &Texts, address: usize, list: &[&'static str]) -> Numbers {
        let known = lists.at_once(address);
        known.unwrap_or_else(|| lists.look_up(Some(texts), address, list.iter().copied()))
    }

    #[test]
    fn texts_have_their_numbers_by_index() {
        let texts = Texts::new(256);
        let mut lists = Lists::new();
        let all: Vec<_> = (0..20).map(leaked).collect();
        for (address, length) in (1..).zip([0, 1, 3, NUMBERED, 20]) {
            for round in 0..2 {
                let given = numbers(&mut lists, &texts, address, &all[..length]);
                for (index, text) in all.iter().enumerate() {
                    let expected = (index < length.min(NUMBERED))
                        .then(|| texts.number(text).expect("there is room"));
                    assert_eq!(given.get(index), expected, "{index} of {length}, round {round}");
                }
            }
        }
    }

    #[test]
    fn the_process_has_the_numbers() {
        crate::frame::texts::set_up();
        let text = leaked(4321);
        // Another test may take a number at this moment.
        let number = iter::repeat_with(|| Lists::new().numbers(1, || iter::once(text)).get(0))
            .take(1_000_000)
            .find_map(|number| number)
            .expect("there is room in the process's table");
        assert_eq!(crate::frame::texts::text(number), Some(text));
    }

    #[test]
    fn texts_without_a_number_are_left_out_for_good_but_not_if_it_is_for_now() {
        let texts = Texts::new(64);
        let all: Vec<_> = (0..200).map(leaked).collect();
        let given: Vec<_> = all.iter().map(|text| texts.number(text).ok()).collect();
        let with = given.iter().position(Option::is_some).expect("some have room");
        let without = given.iter().position(Option::is_none).expect("not all have room");
        let list = [all[without], all[with]];

        let mut lists = Lists::new();
        let known = numbers(&mut lists, &texts, 1, &list);
        assert_eq!([known.get(0), known.get(1)], [None, given[with]]);
        assert_eq!(numbers(&mut lists, &texts, 1, &[]), known, "it is remembered");

        let texts = Texts::new(64);
        let mut lists = Lists::new();
        let held = texts.taking.lock().unwrap();
        assert_eq!(numbers(&mut lists, &texts, 1, &list), Numbers::NONE);
        drop(held);
        let known = numbers(&mut lists, &texts, 1, &list);
        let expected = list.map(|text| texts.number(text).ok());
        assert_eq!([known.get(0), known.get(1)], expected);
        assert!(expected.iter().all(Option::is_some));
    }

    /// At any even distance of callsites.
    #[test]
    fn each_address_has_its_own_list_or_none() {
        let texts = Texts::new(MOST);
        let all: Vec<_> = (0..2 * KNOWN).map(leaked).collect();
        for apart in (8..1024).step_by(8) {
            let mut lists = Lists::new();
            let mut known = 0;
            for _ in 0..2 {
                known = 0;
                for (address, text) in (0x5555_1000..).step_by(apart).zip(&all) {
                    let given = numbers(&mut lists, &texts, address, &[text]);
                    let number = given.get(0);
                    assert!(number.is_none() || number == texts.number(text).ok(), "{text}");
                    known += usize::from(number.is_some());
                }
            }
            let least = KNOWN * 7 / 8;
            assert!((least..=KNOWN).contains(&known), "{known}, {apart} apart");
        }
    }
}
