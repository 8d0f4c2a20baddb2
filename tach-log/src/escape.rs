//! Text that can't end a line or drive a terminal.

/// Returns whether a line may not hold `character` as it is.
///
/// Control characters of ASCII and Latin-1 (among them ESC, CSI and NEL), the line ends of Unicode,
/// and the marks that make a terminal reorder text ("Trojan Source", CVE-2021-42574).
fn is_forbidden(character: char) -> bool {
    matches!(character,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns whether a character that begins with `byte` may have to be escaped.
///
/// All forbidden characters beyond ASCII begin with `C2` or `E2` in UTF-8.
const fn is_suspect<const QUOTED: bool>(byte: u8) -> bool {
    matches!(byte, ..0x20 | 0x7f | 0xc2 | 0xe2) || QUOTED && matches!(byte, b'"' | b'\\')
}

/// Appends `text`, escaped as in JSON (RFC 8259, section 7). If `QUOTED`, escapes quotes and
/// backslashes too.
#[inline]
pub(crate) fn write<const QUOTED: bool>(to: &mut Vec<u8>, text: &str) {
    if is_clean::<QUOTED>(text) {
        to.extend_from_slice(text.as_bytes());
    } else {
        write_parts::<QUOTED>(to, text);
    }
}

#[inline(never)]
fn write_parts<const QUOTED: bool>(to: &mut Vec<u8>, text: &str) {
    let suspects = const { &suspects::<QUOTED>() };
    let (mut rest, mut from) = (text, 0);
    let next = |text: &str| text.bytes().position(|byte| suspects[usize::from(byte)]);
    while let Some(at) = next(&rest[from..]).map(|at| from + at) {
        let (before, after) = rest.split_at(at);
        let Some(character) = after.chars().next() else { break };
        if is_forbidden(character) || QUOTED && matches!(character, '"' | '\\') {
            to.extend_from_slice(before.as_bytes());
            write_escape(to, character);
            (rest, from) = (&after[character.len_utf8()..], 0);
        } else {
            from = at + character.len_utf8();
        }
    }
    to.extend_from_slice(rest.as_bytes());
}

/// Returns whether a text has no suspects. Looks at words; the last one overlaps the one before.
#[inline]
pub(crate) fn is_clean<const QUOTED: bool>(text: &str) -> bool {
    let text = text.as_bytes();
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

const fn any_suspect<const QUOTED: bool>(word: u64) -> bool {
    /// The difference between E2 and C2.
    const CASE: u8 = 0x20;
    let control = below(word, 0x20) | below(word ^ all(0x7f), 1);
    let beyond_ascii = below(word & !all(CASE) ^ all(0xc2), 1);
    let quote = below(word ^ all(b'"'), 1) | below(word ^ all(b'\\'), 1);
    control | beyond_ascii | if QUOTED { quote } else { 0 } != 0
}

/// Returns 0 unless a byte of `word` is less than `limit`, which is at most 128.
///
/// A byte that borrows from its neighbor may add bits to the result, but only where one is set
/// already.
const fn below(word: u64, limit: u8) -> u64 {
    word.wrapping_sub(all(limit)) & !word & all(0x80)
}

const fn all(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

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
fn write_escape(to: &mut Vec<u8>, character: char) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let escape = match character {
        '"' => br#"\""#,
        '\\' => br"\\",
        '\n' => br"\n",
        '\r' => br"\r",
        '\t' => br"\t",
        _ => {
            // All forbidden characters have four digits at most.
            let digit = |shift: u32| DIGITS[(u32::from(character) >> shift & 0xf) as usize];
            to.extend_from_slice(br"\u");
            return to.extend_from_slice(&[digit(12), digit(8), digit(4), digit(0)]);
        }
    };
    to.extend_from_slice(escape);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn escaped<const QUOTED: bool>(text: &str) -> String {
        let mut out = Vec::new();
        write::<QUOTED>(&mut out, text);
        String::from_utf8(out).unwrap()
    }

    /// Escapes character by character, without looking at bytes.
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
            // These begin with the same bytes as forbidden characters.
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
