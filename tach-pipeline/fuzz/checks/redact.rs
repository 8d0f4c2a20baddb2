//! Patterns of `Builder::redact`: they match what their definition says.

use tach_record::frame::is_redacted;

/// The input is a pattern, and on the next line a key.
pub(crate) fn check(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let (pattern, key) = text.split_once('\n').unwrap_or((&text, ""));
    let last = key.rsplit('.').next().unwrap_or_default();
    let expected = fits(pattern, key) || fits(pattern, last);
    assert_eq!(is_redacted(&[pattern.to_owned()], key), expected, "{pattern:?} {key:?}");
}

/// Returns whether the pattern matches the whole text, found without going back: after each byte of
/// the pattern, notes all beginnings of the text that the pattern so far matches.
fn fits(pattern: &str, text: &str) -> bool {
    let text = text.as_bytes();
    let mut matched = vec![false; text.len() + 1];
    matched[0] = true;
    for wanted in pattern.bytes() {
        if wanted == b'*' {
            let first = matched.iter().position(|is_matched| *is_matched);
            matched[first.unwrap_or(text.len() + 1)..].fill(true);
            continue;
        }
        for (at, byte) in text.iter().enumerate().rev() {
            matched[at + 1] = matched[at] && byte.eq_ignore_ascii_case(&wanted);
        }
        matched[0] = false;
    }
    matched[text.len()]
}
