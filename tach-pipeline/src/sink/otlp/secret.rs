//! Texts that may be secrets, which no message contains.

use core::fmt;

/// A text that may be a secret, such as the value of a header, or may contain one, as an address
/// does in its user and its query. Neither [`Debug`](fmt::Debug) nor [`shown`](Self::shown) prints
/// the secret.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Secret(String);

impl Secret {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text, for the collector alone.
    pub(super) fn expose(&self) -> &str {
        &self.0
    }

    /// Returns an address for messages: without user, password, query and fragment.
    pub(super) fn shown(&self) -> String {
        let (start, address) = match self.0.split_once("://") {
            Some((scheme, address)) => (format!("{scheme}://"), address),
            None => (String::new(), &*self.0),
        };
        let address = &address[..address.find(['?', '#']).unwrap_or(address.len())];
        let (authority, path) = address.split_at(address.find('/').unwrap_or(address.len()));
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        start + host + path
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
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
            ("http://user:P@h:1/path", "http://h:1/path"),
            ("http://user:P@Q@h", "http://h"),
            ("http://h#K", "http://h"),
            ("user:P@h/path?K", "h/path"),
            ("https://h?K=a://b@c", "https://h"),
            ("", ""),
        ] {
            let secret = Secret::new(text);
            assert_eq!((secret.shown(), secret.expose()), (shown.to_owned(), text));
            assert_eq!(format!("{secret:?}"), "[redacted]");
        }
    }
}
