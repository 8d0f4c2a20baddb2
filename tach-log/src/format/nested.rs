//! The parts of nested JSON, which must be valid, without spaces between its parts, as a serializer
//! writes it. For any other text, the functions promise only that they end.

use core::iter;
use std::borrow::Cow;

use super::quoted;

/// Deeper values are not looked into.
const DEEPEST: usize = 128;

/// Returns the items of an object or a list: values, in an object with their keys between quotes.
pub fn items(json: &str) -> impl Iterator<Item = (Option<&str>, &str)> {
    let mut rest = json.get(1..).unwrap_or_default();
    iter::from_fn(move || {
        rest = rest.strip_prefix(',').unwrap_or(rest);
        let mut value = take(&mut rest)?;
        let mut key = None;
        if let Some(after) = rest.strip_prefix(':') {
            rest = after;
            key = Some(value);
            value = take(&mut rest)?;
        }
        Some((key, value))
    })
}

/// Returns whether JSON is an object or a list.
#[must_use]
pub fn has_items(json: &str) -> bool {
    json.starts_with(['{', '['])
}

/// Takes a value or a key. Returns `None` at the end.
fn take<'a>(rest: &mut &'a str) -> Option<&'a str> {
    let (value, after) = rest.split_at_checked(length(rest.as_bytes()))?;
    *rest = after;
    (!value.is_empty()).then_some(value)
}

/// Returns the length of a value or a key.
fn length(json: &[u8]) -> usize {
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(byte) = json.get(at) {
        let is_end = matches!(byte, b',' | b':' | b'}' | b']');
        if depth == 0 && is_end {
            return at;
        }
        match byte {
            b'"' => at += text_length(&json[at..]),
            _ => at += 1,
        }
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
    }
    at
}

/// Returns the length of a text with its quotes.
fn text_length(json: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = json.get(at) {
        at += 1;
        match byte {
            b'"' => return at,
            b'\\' => at += 1,
            _ => {}
        }
    }
    json.len()
}

/// Returns the text of a JSON string between quotes.
#[must_use]
pub fn text(json: &str) -> Cow<'_, str> {
    let inner = json.get(1..json.len().saturating_sub(1)).unwrap_or_default();
    if !inner.contains('\\') {
        return inner.into();
    }
    let mut text = String::new();
    // JSON escapes a character beyond 16 bits as two UTF-16 units, so collect the units first.
    let mut units = Vec::new();
    let mut rest = inner.chars();
    while let Some(next) = rest.next() {
        let character = match next {
            '\\' => match rest.next() {
                Some('u') => {
                    let digits: String = rest.by_ref().take(4).collect();
                    units.push(u16::from_str_radix(&digits, 16).unwrap_or(u16::MAX));
                    continue;
                }
                Some('b') => '\u{8}',
                Some('f') => '\u{c}',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                Some(other) => other,
                None => break,
            },
            other => other,
        };
        text.push_str(&String::from_utf16_lossy(&units));
        units.clear();
        text.push(character);
    }
    (text + &String::from_utf16_lossy(&units)).into()
}

/// Returns `json` with `"…"` in place of every object and list that is deeper than `most`, and how
/// many bytes it lacks. Returns `None` if there are none.
#[must_use]
pub fn shallow(json: &str, most: usize) -> Option<(String, usize)> {
    let (mut kept, mut from, mut lost) = (String::new(), 0, 0);
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(&byte) = json.as_bytes().get(at) {
        match byte {
            b'{' | b'[' if depth == most => {
                let length = length(&json.as_bytes()[at..]);
                kept.push_str(json.get(from..at)?);
                kept.push_str("\"…\"");
                lost += length;
                at += length;
                from = at;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                at += text_length(&json.as_bytes()[at..]);
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    kept.push_str(json.get(from..)?);
    (lost > 0).then_some((kept, lost))
}

/// Appends `json`, with the text `stand_in` for the values of keys as `is` says.
pub fn redact(to: &mut Vec<u8>, json: &str, is: &dyn Fn(&str) -> bool, stand_in: &str) {
    redact_to(to, json, is, stand_in, DEEPEST);
}

fn redact_to(
    to: &mut Vec<u8>,
    json: &str,
    is: &dyn Fn(&str) -> bool,
    stand_in: &str,
    depth: usize,
) {
    if !has_items(json) {
        return to.extend_from_slice(json.as_bytes());
    }
    let Some(depth) = depth.checked_sub(1) else { return quoted(to, stand_in) };
    to.push(json.as_bytes()[0]);
    for (index, (key, value)) in items(json).enumerate() {
        if index > 0 {
            to.push(b',');
        }
        if let Some(key) = key {
            to.extend_from_slice(key.as_bytes());
            to.push(b':');
        }
        if key.is_some_and(|key| is(&text(key))) {
            quoted(to, stand_in);
        } else {
            redact_to(to, value, is, stand_in, depth);
        }
    }
    to.push(if json.starts_with('{') { b'}' } else { b']' });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_of_keys_are_replaced_at_any_depth() {
        let cases = [
            (r#"{"a":1,"b":2}"#, r#"{"a":"*","b":2}"#),
            (r#"[{"a":{"b":[1,{}]},"c":"a"},"a",[]]"#, r#"[{"a":"*","c":"a"},"a",[]]"#),
            (r#"{"b":"\"a\":1,}","a":"\\","c":null}"#, r#"{"b":"\"a\":1,}","a":"*","c":null}"#),
            (r#"{"b":{"a":[]},"A":-1.5e3}"#, r#"{"b":{"a":"*"},"A":"*"}"#),
            ("{}", "{}"),
            ("1", "1"),
        ];
        for (json, expected) in cases {
            let mut to = Vec::new();
            redact(&mut to, json, &|key| key.eq_ignore_ascii_case("a"), "*");
            assert_eq!(String::from_utf8(to).unwrap(), expected);
        }
        // The predicate receives the unescaped key.
        let mut to = Vec::new();
        redact(&mut to, r#"{"\"a\\\n":1,"a":2}"#, &|key| key == "\"a\\\n", "*");
        assert_eq!(String::from_utf8(to).unwrap(), r#"{"\"a\\\n":"*","a":2}"#);
    }

    #[test]
    fn texts_are_those_that_were_written() {
        let texts = ["", "plain", "\"a\\/\n\t\u{8}\u{c}\r\u{1}\u{85}", "é\u{202e}🦀", "\\u0041"];
        for expected in texts {
            assert_eq!(text(&serde_json::to_string(expected).unwrap()), expected);
            let mut escaped = Vec::new();
            quoted(&mut escaped, expected);
            assert_eq!(text(core::str::from_utf8(&escaped).unwrap()), expected);
        }
        assert_eq!(text(r#""\ud83e\udd80a\/""#), "🦀a/");
        for broken in ["", "\"", "\"\\", "\"\\u12\"", "\"\\ud83e\"", "é"] {
            let _any = text(broken);
        }
    }

    #[test]
    fn a_deep_value_is_hidden_and_no_text_panics() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        let broken = ["{", "[", "{\"", "{\"a", "{\"a\\", "{\"a\":", "[,,", "[}", "{\"é\":", "[\"é"];
        for json in broken.into_iter().chain([&*deep]) {
            let mut to = Vec::new();
            redact(&mut to, json, &|_| false, "*");
            assert!(to.len() < 300);
        }
    }
}
