//! Hosts and ports.

use core::fmt;

/// Where a request goes, without its query and its user, which may be secrets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(crate) scheme: Option<&'a str>,
    pub(crate) authority: Option<&'a str>,
    pub(crate) path: &'a str,
}

impl<'a> Target<'a> {
    pub(crate) fn of(uri: &'a http::Uri) -> Self {
        let authority = uri.authority().map(http::uri::Authority::as_str);
        Self { scheme: uri.scheme_str(), authority, path: uri.path() }
    }

    /// Returns the host, and the port, which a scheme implies.
    pub(crate) fn address(&self) -> (Option<&'a str>, Option<u16>) {
        let (host, port) = self.authority.map_or((None, None), address);
        let implied = match self.scheme {
            Some("http") => Some(80),
            Some("https") => Some(443),
            _ => None,
        };
        (host, port.or(if host.is_some() { implied } else { None }))
    }
}

/// Prints the URL.
impl fmt::Display for Target<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Some(scheme), Some(authority)) = (self.scheme, self.authority) {
            write!(f, "{scheme}://{}", without_user(authority))?;
        }
        f.write_str(self.path)
    }
}

fn without_user(authority: &str) -> &str {
    authority.rsplit_once('@').map_or(authority, |(_, host)| host)
}

/// Returns the host and the port of an authority or of the header `host`. Looks at each byte once,
/// since each request has an address.
fn address(authority: &str) -> (Option<&str>, Option<u16>) {
    let (mut start, mut end, mut port) = (0, authority.len(), None);
    for (at, byte) in authority.bytes().enumerate() {
        match byte {
            b'@' => (start, end, port) = (at + 1, authority.len(), None),
            // The colons of an IPv6 address are within brackets.
            b'[' => start = at + 1,
            b']' => (end, port) = (at, None),
            b':' => {
                if port.is_none() && end == authority.len() {
                    end = at;
                }
                port = Some(at + 1);
            }
            _ => {}
        }
    }
    let port = port.and_then(|port| authority.get(port..)?.parse().ok());
    (authority.get(start..end).filter(|host| !host.is_empty()), port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_apart_from_its_host() {
        for (authority, host, port) in [
            ("example.com", Some("example.com"), None),
            ("example.com:8080", Some("example.com"), Some(8080)),
            ("user:secret@example.com:1", Some("example.com"), Some(1)),
            ("[::1]:3000", Some("::1"), Some(3000)),
            ("[::1]", Some("::1"), None),
            ("host:", Some("host"), None),
            ("host:99999", Some("host"), None),
            (":80", None, Some(80)),
            ("", None, None),
        ] {
            assert_eq!(address(authority), (host, port), "{authority}");
        }
    }

    #[test]
    fn a_url_has_no_secrets() {
        let print = |uri: &str| Target::of(&uri.parse().unwrap()).to_string();
        assert_eq!(print("https://u:p@host:1/a?token=1"), "https://host:1/a");
        assert_eq!(print("/a?token=1"), "/a");
        let address = |uri: &str| {
            let uri = uri.parse().unwrap();
            let (host, port) = Target::of(&uri).address();
            (host.map(str::to_owned), port)
        };
        assert_eq!(address("https://host/"), (Some("host".to_owned()), Some(443)));
        assert_eq!(address("http://host/"), (Some("host".to_owned()), Some(80)));
        assert_eq!(address("/a"), (None, None));
    }
}
