//! Text that stays what it is for who reads a line: neither a line end, nor a command to a terminal.

use core::fmt;

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
pub(super) fn write<W: fmt::Write, const QUOTED: bool>(out: &mut W, text: &str) -> fmt::Result {
    let (mut rest, mut from) = (text, 0);
    while let Some(at) = first_suspect::<QUOTED>(&rest.as_bytes()[from..]) {
        let at = from + at;
        let Some(character) = rest[at..].chars().next() else { break };
        let after = at + character.len_utf8();
        if is_forbidden(character) || QUOTED && matches!(character, '"' | '\\') {
            out.write_str(&rest[..at])?;
            write_escape(out, character)?;
            (rest, from) = (&rest[after..], 0);
        } else {
            from = after;
        }
    }
    out.write_str(rest)
}

#[inline]
fn first_suspect<const QUOTED: bool>(bytes: &[u8]) -> Option<usize> {
    let words = bytes.chunks_exact(size_of::<u64>());
    let clean = words.take_while(|word| {
        <[u8; 8]>::try_from(*word)
            .is_ok_and(|word| !any_suspect::<QUOTED>(u64::from_le_bytes(word)))
    });
    let start = size_of::<u64>() * clean.count();
    let suspects = const { &suspects::<QUOTED>() };
    let at = bytes[start..].iter().position(|&byte| suspects[usize::from(byte)])?;
    Some(start + at)
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

/// Which bytes are suspect: of a few bytes, quicker to look up than to find out.
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

impl<W: fmt::Write, const QUOTED: bool> fmt::Write for Escaped<&mut W, QUOTED> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        write::<_, QUOTED>(self.0, text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn escaped<const QUOTED: bool>(text: &str) -> String {
        let mut out = String::new();
        write::<_, QUOTED>(&mut out, text).unwrap();
        out
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
        #[test]
        fn text_of_any_length_is_treated_as_the_oracle_does(
            text in r#"([a-z]{0,40}[\x00-\x1f"\\\x{7f}-\x{a0}…\x{2020}-\x{2030}]{0,2}){0,9}"#
        ) {
            prop_assert_eq!(escaped::<true>(&text), oracle::<true>(&text));
            prop_assert_eq!(escaped::<false>(&text), oracle::<false>(&text));
        }
    }
}
