//! A quick look that tells most keys of fields from the names of a layout.

/// A set of texts that may contain texts which were not inserted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sieve([u64; WORDS]);

const WORDS: usize = 16;

impl Sieve {
    pub(super) fn insert(&mut self, text: &str) {
        let (word, bit) = place(text.as_bytes());
        self.0[word] |= bit;
    }

    /// Returns `true` for each text that was inserted, and for few others.
    #[inline]
    pub(super) fn may_have(&self, text: &str) -> bool {
        self.may_have_bytes(text.as_bytes())
    }

    /// Returns `true` for each text with a dot whose beginning, up to one of the dots, was
    /// inserted, and for few others.
    pub(super) fn may_have_beginning(&self, text: &str) -> bool {
        let bytes = text.as_bytes();
        let mut dots = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'.');
        dots.any(|(dot, _)| self.may_have_bytes(&bytes[..dot]))
    }

    #[inline]
    fn may_have_bytes(&self, text: &[u8]) -> bool {
        let (word, bit) = place(text);
        self.0[word] & bit != 0
    }
}

/// Returns the word and the bit of a text, by its length, its first byte and its last one.
#[inline]
fn place(text: &[u8]) -> (usize, u64) {
    let byte = |byte: Option<&u8>| byte.copied().map_or(0, usize::from);
    let number = 97 * (text.len() & 0xff) + 31 * byte(text.first()) + 7 * byte(text.last());
    (number / 64 % WORDS, 1 << (number % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_inserted_is_found_and_most_others_are_not() {
        let names = ["", "ä", "time", "message", "syslog.hostname", "http.url"];
        let mut sieve = Sieve::default();
        assert!(names.iter().all(|name| !sieve.may_have(name)));
        for name in names {
            sieve.insert(name);
        }
        assert!(names.iter().all(|name| sieve.may_have(name)));
        assert!(sieve.may_have_beginning("http.url.path") && sieve.may_have_beginning(".x"));
        assert!(!sieve.may_have_beginning("http.urls") && !sieve.may_have_beginning("time"));
        let others = (0..1_000).filter(|at| sieve.may_have(&format!("key{at}"))).count();
        assert!(others < 20, "{others}");
    }
}
