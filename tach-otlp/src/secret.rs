//! Texts that may be secrets, which no message contains.

use core::fmt;

const REDACTED: &str = "[redacted]";

/// A text that may be a secret (the value of a header) or contain a secret (an address with a user
/// or a query). Neither [`Debug`](fmt::Debug) nor [`shown`](Self::shown) prints the secret.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text, for the collector alone.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// Returns the text for messages, without the query and the fragment of an address. If the text
    /// contains `@`, returns the scheme alone: a password comes before the `@`, and may itself
    /// contain `/`, `?`, `#` or `@`.
    pub(crate) fn shown(&self) -> String {
        let text = &*self.0;
        match text.split_once("://") {
            Some((scheme, _)) if text.contains('@') => format!("{scheme}://{REDACTED}"),
            None if text.contains('@') => REDACTED.to_owned(),
            _ => text[..text.find(['?', '#']).unwrap_or(text.len())].to_owned(),
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_secrets() {
        for (text, shown) in [
            ("http://collector:4318/v1/logs", "http://collector:4318/v1/logs"),
            ("https://h/v1/logs?api_key=K", "https://h/v1/logs"),
            ("http://h#K", "http://h"),
            ("http://user:P@h:1/path", "http://[redacted]"),
            // Passwords whose marks were not escaped.
            ("http://user:P/K@h", "http://[redacted]"),
            ("http://user:P?K@h", "http://[redacted]"),
            ("http://user:P#K@h", "http://[redacted]"),
            ("http:/user:P@h", "[redacted]"),
            ("user:P@h/path?K", "[redacted]"),
            ("https://h?K=a://b@c", "https://[redacted]"),
            ("10s", "10s"),
            ("", ""),
        ] {
            let secret = Secret::new(text);
            assert_eq!((secret.shown(), secret.expose()), (shown.to_owned(), text));
            assert_eq!(format!("{secret:?}"), "[redacted]");
        }
    }
}
