//! Text that stays what it is for who reads a line: neither a line end, nor a command to a terminal.

use core::fmt;

use super::utf8::{Sink, Utf8};

/// Whether `character` may not stand in a line as it is.
///
/// That are the control characters of ASCII and of Latin-1 (among them ESC, CSI and NEL), the line ends of
/// Unicode, and the marks that make a terminal show text in another order than it has ("Trojan Source",
/// CVE-2021-42574).
fn is_forbidden(character: char) -> bool {
    matches!(character,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether a character that begins with `byte` may have to be escaped.
///
/// All forbidden ones beyond ASCII begin with `C2` or `E2` in UTF-8.
const fn is_suspect<const QUOTED: bool>(byte: u8) -> bool {
    matches!(byte, ..0x20 | 0x7f | 0xc2 | 0xe2) || QUOTED && matches!(byte, b'"' | b'\\')
}

/// Writes `text` with the forbidden characters as JSON escapes them (RFC 8259, section 7), and between
/// quotes the quote and the backslash too.
#[inline]
pub(super) fn write<W: Sink, const QUOTED: bool>(out: &mut W, text: Utf8<'_>) -> fmt::Result {
    if is_clean::<QUOTED>(text.as_bytes()) {
        return out.write_utf8(text);
    }
    write_parts::<_, QUOTED>(out, text)
}

/// Writes what is between the characters that must be escaped, and those escaped.
#[inline(never)]
fn write_parts<W: Sink, const QUOTED: bool>(out: &mut W, text: Utf8<'_>) -> fmt::Result {
    let suspects = const { &suspects::<QUOTED>() };
    let (mut rest, mut from) = (text.as_bytes(), 0);
    while let Some(at) = rest[from..].iter().position(|&byte| suspects[usize::from(byte)]) {
        let (at, character) = (from + at, first(&rest[from + at..]));
        let after = at + character.len_utf8();
        if is_forbidden(character) || QUOTED && matches!(character, '"' | '\\') {
            out.write_utf8(Utf8::of_whole(&rest[..at]))?;
            write_escape(out, character)?;
            (rest, from) = (rest.get(after..).unwrap_or_default(), 0);
        } else {
            // What follows its first byte is no suspect, if this is text.
            from = at + 1;
        }
    }
    out.write_utf8(Utf8::of_whole(rest))
}

/// The first character of a text that begins with a suspect one, which has three bytes at most.
fn first(text: &[u8]) -> char {
    let low = |byte: &u8| u32::from(byte & 0x3f);
    let number = match text {
        [0xe2, second, third, ..] => 0x2000 | low(second) << 6 | low(third),
        [0xc2, second, ..] => 0x80 | low(second),
        [byte, ..] => u32::from(*byte),
        [] => 0,
    };
    char::from_u32(number).unwrap_or_default()
}

/// Whether a text is to be written as it is: by words, of which the last overlaps the one before.
#[inline]
fn is_clean<const QUOTED: bool>(text: &[u8]) -> bool {
    let is_clean = |word: &[u8; 8]| !any_suspect::<QUOTED>(u64::from_le_bytes(*word));
    if let (Some(first), Some(last)) = (text.first_chunk(), text.last_chunk()) {
        let middle = text.chunks_exact(size_of::<u64>()).skip(1);
        return is_clean(first)
            && is_clean(last)
            && middle.map(<[u8; 8]>::try_from).all(|word| word.is_ok_and(|word| is_clean(&word)));
    }
    if let (Some(&[a, b, c, d]), Some(&[e, f, g, h])) = (text.first_chunk(), text.last_chunk()) {
        return is_clean(&[a, b, c, d, e, f, g, h]);
    }
    let suspects = const { &suspects::<QUOTED>() };
    text.iter().all(|&byte| !suspects[usize::from(byte)])
}

/// Whether any of eight bytes is suspect.
const fn any_suspect<const QUOTED: bool>(word: u64) -> bool {
    /// E2 without the bit that tells it from C2.
    const CASE: u8 = 0x20;
    let control = below(word, 0x20) | below(word ^ all(0x7f), 1);
    let beyond_ascii = below(word & !all(CASE) ^ all(0xc2), 1);
    let quote = below(word ^ all(b'"'), 1) | below(word ^ all(b'\\'), 1);
    control | beyond_ascii | if QUOTED { quote } else { 0 } != 0
}

/// Not 0 if any byte of `word` is less than `limit`, which is at most 128.
///
/// Bytes that borrow from their neighbours may add bits of these, but only where there is one already.
const fn below(word: u64, limit: u8) -> u64 {
    word.wrapping_sub(all(limit)) & !word & all(0x80)
}

/// Eight times `byte`.
const fn all(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// Which bytes are suspect.
const fn suspects<const QUOTED: bool>() -> [bool; 256] {
    let mut suspects = [false; 256];
    let mut byte = 0_u8;
    while byte < u8::MAX {
        suspects[byte as usize] = is_suspect::<QUOTED>(byte);
        byte += 1;
    }
    suspects
}

#[cold]
fn write_escape<W: fmt::Write>(out: &mut W, character: char) -> fmt::Result {
    match character {
        '"' => out.write_str("\\\""),
        '\\' => out.write_str("\\\\"),
        '\n' => out.write_str("\\n"),
        '\r' => out.write_str("\\r"),
        '\t' => out.write_str("\\t"),
        // All that is forbidden lies in the basic plane, so that four digits tell it.
        _ => write!(out, "\\u{:04x}", u32::from(character)),
    }
}

/// A writer that escapes what is written through it.
pub(super) struct Escaped<W, const QUOTED: bool>(pub(super) W);

impl<W: Sink, const QUOTED: bool> fmt::Write for Escaped<&mut W, QUOTED> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        write::<_, QUOTED>(self.0, text.into())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A text that takes only whole characters.
    struct Whole(String);

    impl fmt::Write for Whole {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.write_str(text)
        }
    }

    impl Sink for Whole {
        fn write_utf8(&mut self, text: Utf8<'_>) -> fmt::Result {
            self.0.push_str(core::str::from_utf8(text.as_bytes()).unwrap());
            Ok(())
        }
    }

    /// One that takes anything.
    struct Lossy(String);

    impl fmt::Write for Lossy {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.write_str(text)
        }
    }

    impl Sink for Lossy {
        fn write_utf8(&mut self, text: Utf8<'_>) -> fmt::Result {
            self.0.push_str(&text.to_text());
            Ok(())
        }
    }

    fn escaped<const QUOTED: bool>(text: &str) -> String {
        let mut out = Whole(String::new());
        write::<_, QUOTED>(&mut out, text.into()).unwrap();
        out.0
    }

    /// Character by character, without looking at bytes.
    fn oracle<const QUOTED: bool>(text: &str) -> String {
        text.chars()
            .map(|character| match character {
                '\n' => "\\n".to_owned(),
                '\r' => "\\r".to_owned(),
                '\t' => "\\t".to_owned(),
                '"' | '\\' if QUOTED => format!("\\{character}"),
                _ if is_forbidden(character) => format!("\\u{:04x}", u32::from(character)),
                _ => character.to_string(),
            })
            .collect()
    }

    #[test]
    fn known_texts() {
        let cases = [
            ("", ""),
            ("plain, and as long as two chunks are", "plain, and as long as two chunks are"),
            ("two\nlines\r\n", r"two\nlines\r\n"),
            ("\u{1b}[31mred\u{7f}\0", r"\u001b[31mred\u007f\u0000"),
            ("\u{85}\u{9b}2J", r"\u0085\u009b2J"),
            ("\u{2028}\u{2029}", r"\u2028\u2029"),
            ("\u{202e}gpj.exe\u{2066}", r"\u202egpj.exe\u2066"),
            // They begin with the same bytes as forbidden ones.
            ("§ © ‰ … ⁰ 日本", "§ © ‰ … ⁰ 日本"),
        ];
        for (text, expected) in cases {
            assert_eq!(escaped::<false>(text), expected);
            assert_eq!(escaped::<true>(text), expected);
        }
        assert_eq!(escaped::<false>(r#"C:\a "b""#), r#"C:\a "b""#);
        assert_eq!(escaped::<true>(r#"C:\a "b""#), r#"C:\\a \"b\""#);
    }

    #[test]
    fn every_character_is_treated_as_the_oracle_does() {
        for character in '\0'..=char::MAX {
            let text = format!("a{character}b");
            assert_eq!(escaped::<true>(&text), oracle::<true>(&text), "{character:?}");
            assert_eq!(escaped::<false>(&text), oracle::<false>(&text), "{character:?}");
        }
    }

    proptest! {
        /// As they can't be but in a queue that somebody else has written to.
        #[test]
        fn bytes_that_are_no_text_do_no_harm(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..20),
            end in proptest::sample::select(vec![&b""[..], b"\xc2", b"\xe2", b"\xe2\x80"]),
        ) {
            bytes.extend_from_slice(end);
            let mut out = Lossy(String::new());
            write::<_, true>(&mut out, Utf8::of_whole(&bytes)).unwrap();
            prop_assert!(!out.0.contains(|character: char| character.is_ascii_control()));
        }

        #[test]
        fn text_of_any_length_is_treated_as_the_oracle_does(
            text in r#"([a-z]{0,40}[\x00-\x1f"\\\x{7f}-\x{a0}…\x{2020}-\x{2030}]{0,2}){0,9}"#
        ) {
            prop_assert_eq!(escaped::<true>(&text), oracle::<true>(&text));
            prop_assert_eq!(escaped::<false>(&text), oracle::<false>(&text));
        }
    }
}
