use proptest::prelude::*;

use super::*;

impl Clone for Buffer {
    fn clone(&self) -> Self {
        Self { bytes: self.bytes.clone(), used: self.used }
    }
}

proptest! {
    /// The buffer contains all pieces, whichever method wrote each piece.
    #[test]
    fn it_holds_what_was_written(
        records in prop::collection::vec(prop::collection::vec((0_usize..3000, 0..3), 0..20), 1..4),
    ) {
        let mut buffer = Buffer::new();
        for (record, pieces) in (1..).zip(records) {
            buffer.clear();
            let mut expected = Vec::new();
            for (length, way) in pieces {
                let piece = vec![record; length];
                expected.extend(&piece);
                if way == 0 && expected.len() % WORD == length % WORD {
                    buffer.push_text(&piece);
                    expected.resize(expected.len().next_multiple_of(WORD), 0);
                } else {
                    match (way == 1).then(|| buffer.next(length)).flatten() {
                        Some(next) => next.copy_from_slice(&piece),
                        None => buffer.push(&piece),
                    }
                }
                prop_assert_eq!(buffer.written(), &expected[..]);
                prop_assert_eq!(buffer.bytes.len() % WORD, 0);
            }
        }
    }
}

#[test]
fn texts_end_with_a_word_and_hide_what_was_there() {
    for length in (0..100).chain([601, 1001, 3001]) {
        let text: Vec<u8> = (1..=u8::MAX).cycle().take(length).collect();
        for room in [0, FIRST] {
            let mut buffer = Buffer::new();
            buffer.push(&vec![0xFF; room]);
            buffer.clear();
            buffer.push_text(&text);
            let padded = length.next_multiple_of(WORD);
            let expected = [&text[..], &vec![0; padded - length]].concat();
            assert_eq!(buffer.written(), expected, "{length} bytes, room for {room}");
        }
    }
}

#[test]
fn bits_are_added_to_a_word_alone() {
    let mut buffer = Buffer::new();
    buffer.push_text(&[1; 3 * WORD]);
    buffer.add(WORD, 1 << 63 | 2);
    let mut expected = [1; 3 * WORD];
    (expected[WORD], expected[2 * WORD - 1]) = (3, 0x81);
    assert_eq!(buffer.written(), expected);
}

#[test]
fn much_memory_is_given_back() {
    for (mut scratch, bytes, is_kept) in [
        (Scratch::new(), 10, true),
        (Scratch::new(), LONG - 1, true),
        (Scratch::new(), LONG, false),
        (Scratch::for_one_record(), 0, false),
    ] {
        scratch.copy_bytes(&vec![1; bytes]);
        assert_eq!(scratch.is_long(), !is_kept);
        assert_eq!(scratch.shrink(), bytes > 0);
        assert_eq!((scratch.written().len(), scratch.buffer.bytes.capacity()), (0, 0));
    }
}
