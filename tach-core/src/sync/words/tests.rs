use std::thread;

use super::*;

#[test]
fn no_tick_is_lower_than_one_before() {
    let maximum = Maximum::new();
    assert_eq!(maximum.get(), 0);
    let given = [5, 3, 9, 9, 1, u64::MAX, 2].map(|tick| maximum.raise(tick));
    assert_eq!(given, [5, 5, 9, 9, 9, u64::MAX, u64::MAX]);
    assert_eq!(maximum.get(), u64::MAX);
}

#[test]
fn words_come_back_with_their_version() {
    let cell = Versioned::<3>::new();
    assert_eq!(cell.read::<3>(), None);
    assert_eq!(cell.read_any(), Some((EMPTY, [0, 0, 0])));
    assert!(cell.try_write(5, &[1, 2, 3]));
    assert_eq!(cell.read(), Some((5, [1, 2, 3])));
    assert_eq!(cell.read(), Some((5, [1])));
}

#[test]
fn a_version_is_written_once_and_only_rises() {
    let cell = Versioned::<1>::new();
    assert!(!cell.try_write(EMPTY, &[9]));
    assert!(cell.try_write(FIRST_VERSION, &[9]));
    assert!(cell.try_write(5, &[1]));
    assert!(!cell.try_write(5, &[2]));
    assert!(!cell.try_write(4, &[3]));
    assert_eq!(cell.read(), Some((5, [1])));
}

#[test]
fn a_version_below_the_limit_is_overwritten() {
    let cell = Versioned::<1>::new();
    assert!(cell.try_write(8, &[1]));
    assert!(!cell.try_write_below(8, 9, &[2]));
    assert!(cell.try_write_below(9, 9, &[3]));
    assert_eq!(cell.read(), Some((9, [3])));
}

#[test]
fn a_cell_that_is_being_written_shows_no_version_and_refuses_writers() {
    let cell = Versioned::<1>::new();
    cell.stall();
    assert_eq!(cell.read::<1>(), None);
    assert_eq!(cell.read_any(), Some((WRITING, [0])));
    assert!(!cell.try_write(9, &[1]));
}

#[test]
#[cfg_attr(target_family = "wasm", ignore = "there are no threads")]
fn no_read_is_torn() {
    let cell = Versioned::<4>::new();
    thread::scope(|scope| {
        for offset in 0..2 {
            let cell = &cell;
            scope.spawn(move || {
                for i in 1..100_000 {
                    let version = 2 * i + offset;
                    cell.try_write(version, &[version; 4]);
                }
            });
        }
        let mut reads = 0;
        while reads < 100_000 {
            let Some((version, words)) = cell.read() else { continue };
            assert_eq!(words, [version; 4]);
            reads += 1;
        }
    });
}

type Small = Succession<1, 4>;

fn content(word: u64) -> u64 {
    word & CONTENT
}

/// Replaces the word by the content and the entry `value`.
fn replace(succession: &Small, value: u64) -> bool {
    succession.replace(succession.word(), value, &[value])
}

#[test]
fn a_word_is_changed_once_and_keeps_its_entry() {
    let succession = Small::new();
    assert!(succession.change(0, 5));
    assert!(!succession.change(0, 6));
    assert_eq!(succession.get(), (5, None));
    assert!(replace(&succession, 7));
    let replaced = succession.word();
    assert!(succession.change(replaced, 8));
    let (word, entry) = succession.get();
    assert_eq!((content(word), generation(word), entry), (8, 1, Some([7])));
}

#[test]
fn a_word_is_replaced_without_end() {
    let succession = Small::new();
    for n in 1..10_000 {
        assert!(replace(&succession, n));
        let (word, entry) = succession.get();
        assert_eq!((content(word), generation(word), entry), (n, n, Some([n])));
    }
}

#[test]
fn a_late_replacement_changes_nothing_and_wastes_no_entry() {
    let succession = Small::new();
    for n in 1..100 {
        let seen = succession.word();
        assert!(replace(&succession, n));
        for late in 0..8 {
            assert!(!succession.replace(seen, late, &[late]));
        }
        let (word, entry) = succession.get();
        assert_eq!((content(word), entry), (n, Some([n])));
    }
}

#[test]
fn entries_that_are_never_finished_are_passed_over() {
    let succession = Small::new();
    assert!(replace(&succession, 1));
    let own = index(succession.word());
    for stalled in (0..4).filter(|index| index % 2 != own % 2) {
        succession.entries[stalled].stall();
    }
    for n in 2..100 {
        assert!(replace(&succession, n));
        assert_eq!(succession.get().1, Some([n]));
    }
    let free = (index(succession.word()) + 2) % 4;
    succession.entries[free].stall();
    assert!(!replace(&succession, 100));
    assert_eq!(succession.get().1, Some([99]));
}

#[test]
#[cfg_attr(target_family = "wasm", ignore = "there are no threads")]
fn an_entry_belongs_to_its_word() {
    let succession = Small::new();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for n in 1..20_000 {
                    replace(&succession, n);
                    let (word, entry) = succession.get();
                    assert_eq!(entry, Some([content(word)]));
                }
            });
        }
    });
    assert!(generation(succession.word()) >= 20_000 - 1);
}
