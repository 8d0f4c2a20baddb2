//! Lists of the program's texts as numbers: the names of a callsite's fields, found at once.

use core::ptr;

use super::{MOST, TEXTS, Texts, Unnumbered, spread};

/// So many texts of a list can have their numbers in it; those beyond are looked up one by one.
const NUMBERED: usize = 12;
/// So many lists are known in one place, at most: 4 KiB.
const KNOWN: usize = 1 << KNOWN_BITS;
const KNOWN_BITS: u32 = 7;

/// The numbers of a list's texts, by their indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::pipeline) struct Numbers([u16; NUMBERED]);

/// In place of a number: no text has it.
const NONE: u16 = u16::MAX;
const _: () = assert!(MOST <= NONE as usize);

impl Numbers {
    /// Of no text.
    pub(in crate::pipeline) const NONE: Self = Self([NONE; NUMBERED]);

    /// The number of the text at this index, if it is found here.
    #[inline]
    pub(in crate::pipeline) fn get(&self, index: usize) -> Option<u32> {
        self.0.get(index).filter(|&&number| number != NONE).map(|&number| u32::from(number))
    }
}

/// The lists that are known to who writes records, by the addresses of what has them.
pub(in crate::pipeline) struct Lists {
    known: [Known; KNOWN],
}

#[derive(Clone, Copy)]
struct Known {
    /// Zero if there is none.
    address: usize,
    numbers: Numbers,
}

impl Lists {
    pub(in crate::pipeline) const fn new() -> Self {
        Self { known: [Known { address: 0, numbers: Numbers::NONE }; KNOWN] }
    }

    /// The numbers of the texts that `list` gives, always the same for `owner`, which has no other list.
    #[inline]
    pub(in crate::pipeline) fn numbers<T, L: Iterator<Item = &'static str>>(
        &mut self,
        owner: &'static T,
        list: impl FnOnce(&'static T) -> L,
    ) -> Numbers {
        let address = ptr::from_ref(owner).addr();
        let known = &self.known[place(address)];
        if known.address == address {
            return known.numbers;
        }
        TEXTS.get().map_or(Numbers::NONE, |texts| self.numbers_in(texts, address, list(owner)))
    }

    #[cold]
    fn numbers_in(
        &mut self,
        texts: &Texts,
        address: usize,
        list: impl Iterator<Item = &'static str>,
    ) -> Numbers {
        let places = [place(address), place(address) ^ 1];
        let find = |address| places.into_iter().find(|&place| self.known[place].address == address);
        if let Some(place) = find(address) {
            return self.known[place].numbers;
        }
        // Each of its texts is looked up, then.
        let Some(vacant) = find(0) else { return Numbers::NONE };
        let mut numbers = Numbers::NONE;
        for (to, text) in numbers.0.iter_mut().zip(list) {
            match texts.number(text) {
                Ok(number) => *to = u16::try_from(number).unwrap_or(NONE),
                Err(Unnumbered::Full) => {}
                Err(Unnumbered::Busy) => return Numbers::NONE,
            }
        }
        self.known[vacant] = Known { address, numbers };
        numbers
    }
}

/// Where a thread knows the list of what is at this address, or in the neighbour of that place.
#[inline]
fn place(address: usize) -> usize {
    spread(address, KNOWN_BITS)
}

#[cfg(test)]
mod tests {
    use core::iter;

    use super::*;
    use crate::pipeline::interned::{self, tests::leaked};

    /// Has a list of its own.
    fn owner() -> &'static u64 {
        Box::leak(Box::new(0))
    }

    fn address(owner: &'static u64) -> usize {
        ptr::from_ref(owner).addr()
    }

    #[test]
    fn texts_have_their_numbers_by_index() {
        let texts = Texts::new(256);
        let mut lists = Lists::new();
        let all: Vec<_> = (0..20).map(leaked).collect();
        for length in [0, 1, 3, NUMBERED, 20] {
            let address = address(owner());
            for round in 0..2 {
                let list = all[..length].iter().copied();
                let numbers = lists.numbers_in(&texts, address, list);
                for (index, text) in all.iter().enumerate() {
                    let expected = (index < length.min(NUMBERED))
                        .then(|| texts.number(text).expect("there is room"));
                    assert_eq!(numbers.get(index), expected, "{index} of {length}, {round}");
                }
            }
        }
    }

    #[test]
    fn a_list_is_looked_up_once() {
        interned::set_up();
        let mut lists = Lists::new();
        let owner = owner();
        let text = leaked(4321);
        let first = lists.numbers(owner, |_| iter::once(text));
        let number = first.get(0).expect("there is room in the process's table");
        assert_eq!(interned::text(number), Some(text));
        let again = lists.numbers(owner, |_| -> iter::Once<&'static str> { panic!("looked up") });
        assert_eq!(again, first);
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
        let address = address(owner());
        let numbers = lists.numbers_in(&texts, address, list.into_iter());
        assert_eq!([numbers.get(0), numbers.get(1)], [None, given[with]]);
        assert_eq!(lists.numbers_in(&texts, address, iter::empty()), numbers, "it is remembered");

        let texts = Texts::new(64);
        let mut lists = Lists::new();
        let held = texts.taking.lock().unwrap();
        assert_eq!(lists.numbers_in(&texts, address, list.into_iter()), Numbers::NONE);
        drop(held);
        let numbers = lists.numbers_in(&texts, address, list.into_iter());
        assert_eq!(numbers.get(0), texts.number(list[0]).ok());
        assert!(numbers.get(1).is_some());
    }

    /// Many times as many as there are places for.
    #[test]
    fn each_owner_has_its_own_list_or_none() {
        interned::set_up();
        let mut lists = Lists::new();
        let all: Vec<_> = (0..5 * KNOWN).map(|index| (owner(), leaked(index))).collect();
        let mut known = 0;
        for _ in 0..2 {
            known = 0;
            for &(owner, text) in &all {
                if let Some(number) = lists.numbers(owner, |_| iter::once(text)).get(0) {
                    assert_eq!(interned::text(number), Some(text));
                    known += 1;
                }
            }
        }
        assert!((KNOWN / 2..=KNOWN).contains(&known), "{known} are known");
    }
}
