//! Texts that may be secrets, which no message contains.

use core::cmp::Reverse;
use core::fmt;

use tach_log::Value;

/// The most characters of a peer's message.
const LONGEST_REASON: usize = 200;
/// A value below this many bytes may be a word or a number that every text contains.
const SHORTEST: usize = 8;
/// Parts of the names of headers and parameters whose values are secret, however short.
const CREDENTIALS: [&str; 8] =
    ["auth", "cookie", "credential", "key", "pass", "secret", "session", "token"];
const REDACTED: &str = "[redacted]";

/// A text that may be a secret (the value of a header) or contain a secret (an address with a user
/// or a query). Neither [`Debug`](fmt::Debug) nor [`shown`](Self::shown) prints the secret.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text. Send it only to the collector.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// Returns the text for messages, without the query and the fragment of an address. If the text
    /// contains `@`, returns only the scheme: a password comes before the `@`, and may itself
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

/// The secrets of a request. Whoever answers may repeat them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Secrets(Vec<Secret>);

impl Secrets {
    /// Creates the secrets of these headers or parameters: each value, and its part after a scheme
    /// such as `Bearer`.
    pub(crate) fn of<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut secrets = Vec::new();
        for (name, value) in pairs {
            let (name, value) = (name.to_ascii_lowercase(), value.trim());
            let shortest =
                if CREDENTIALS.iter().any(|it| name.contains(it)) { 1 } else { SHORTEST };
            let after_scheme = value.split_once(' ').map_or("", |(_, rest)| rest.trim());
            let parts = [value, after_scheme].into_iter().filter(|part| part.len() >= shortest);
            secrets.extend(parts.map(Secret::new));
        }
        // Hide the longest first. If a shorter secret is the beginning of a longer one, the rest of
        // the longer one would stay visible.
        secrets.sort_by_key(|secret| Reverse(secret.0.len()));
        Self(secrets)
    }

    /// Returns the first `most` characters of a text by a peer, with `[redacted]` in place of each
    /// secret.
    pub(crate) fn hidden(&self, text: &str, most: usize) -> String {
        let (mut hidden, mut rest) = (String::new(), text);
        for _ in 0..most {
            let Some(next) = rest.chars().next() else { break };
            let found = self.0.iter().find(|secret| rest.starts_with(secret.expose()));
            let next = &rest[..next.len_utf8()];
            let (shown, read) = found.map_or((next, next), |secret| (REDACTED, secret.expose()));
            hidden.push_str(shown);
            rest = &rest[read.len()..];
        }
        hidden
    }

    /// Returns the beginning of a peer's message without secrets, with control characters escaped.
    /// All that is kept of an answer passes here.
    pub(crate) fn printable(&self, text: &str) -> String {
        let beginning = Value::Str(&self.hidden(text, LONGEST_REASON)).to_string();
        // Hide again: the end of an escape together with the text after it may be a secret too.
        self.hidden(&beginning, LONGEST_REASON).chars().take(LONGEST_REASON).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_found_by_their_values() {
        let secrets = Secrets::of([
            ("Authorization", " Bearer  token "),
            ("x-api-key", "7"),
            ("x-tenant", "tenants"),
            ("x-tenant", "a tenant"),
            ("cookie", ""),
        ]);
        for (text, shown) in [
            ("Bearer  token, token2", "[redacted], [redacted]2"),
            ("bearer token", "bearer [redacted]"),
            ("tenants, a tenant", "tenants, [redacted]"),
            ("10 of 17", "10 of 1[redacted]"),
            ("\u{1f511}", "\u{1f511}"),
            ("", ""),
        ] {
            assert_eq!(secrets.hidden(text, 100), shown, "{text}");
        }
        // However many secrets the text contains, its length is bounded.
        assert_eq!(secrets.hidden(&"7".repeat(1_000), 3), REDACTED.repeat(3));
        assert_eq!(secrets.printable(&"7".repeat(1_000)).len(), LONGEST_REASON);
        assert_eq!(format!("{secrets:?}").matches(REDACTED).count(), secrets.0.len());
    }

    #[test]
    fn an_address_is_shown_without_its_secrets() {
        for (text, shown) in [
            ("http://collector:4318/v1/logs", "http://collector:4318/v1/logs"),
            ("https://h/v1/logs?api_key=K", "https://h/v1/logs"),
            ("http://h#K", "http://h"),
            ("http://user:P@h:1/path", "http://[redacted]"),
            // Passwords in which the URL's own marks are not escaped.
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
