//! Decides which keys are redacted.

/// Returns whether a pattern matches the key, or the part of the key after its last dot.
pub fn is_redacted(patterns: &[String], key: &str) -> bool {
    let last = key.rsplit('.').next().unwrap_or(key);
    let any_fits =
        |key: &str| patterns.iter().any(|pattern| fits(pattern.as_bytes(), key.as_bytes()));
    any_fits(key) || last.len() < key.len() && any_fits(last)
}

/// Returns whether `pattern` matches `text`. `*` stands for any text. The case of ASCII letters is
/// ignored.
fn fits(pattern: &[u8], text: &[u8]) -> bool {
    let (mut in_pattern, mut in_text) = (0, 0);
    // The place in `pattern` after the last `*`, and the place in `text` after the bytes that the
    // `*` matches.
    let mut star = None;
    while let Some(byte) = text.get(in_text) {
        match pattern.get(in_pattern) {
            Some(b'*') => {
                in_pattern += 1;
                star = Some((in_pattern, in_text));
            }
            Some(wanted) if wanted.eq_ignore_ascii_case(byte) => {
                in_pattern += 1;
                in_text += 1;
            }
            _ => {
                // Let the `*` match one more byte.
                let Some((after, end)) = star else { return false };
                star = Some((after, end + 1));
                (in_pattern, in_text) = (after, end + 1);
            }
        }
    }
    pattern[in_pattern..].iter().all(|&byte| byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_fits_as_a_whole_or_by_its_last_part() {
        let cases = [
            ("password", "password", true),
            ("password", "PassWord", true),
            ("password", "user.password", true),
            ("password", "user.Password", true),
            ("password", "password.user", false),
            ("password", "passwords", false),
            ("password", "user_password", false),
            ("user.password", "user.password", true),
            ("user.password", "a.user.password", false),
            ("*password", "user_password", true),
            ("*.password", "a.user.password", true),
            ("*.password", "password", false),
            ("card*", "card", true),
            ("card*", "order.card_number", true),
            ("card*", "discard", false),
            ("*to*ken*", "access-TOKEN-2", true),
            ("*to*ken*", "to_be", false),
            ("a*b*c", "a_b_b_c", true),
            ("a*b*c", "a_b_b_c_", false),
            ("*", "", true),
            ("**", "any.thing", true),
            ("", "", true),
        ];
        for (pattern, key, expected) in cases {
            assert_eq!(is_redacted(&[pattern.to_owned()], key), expected, "{pattern} {key}");
        }
    }
}
