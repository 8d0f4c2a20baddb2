//! The proxies that the environment names, as curl reads its variables.

use std::ffi::OsString;

use http::Uri;
use http::uri::Scheme;
use ureq::{Proxy, ProxyProtocol};

use crate::error::Fault;
use crate::secret::Secret;

/// The proxies for each scheme with the names of their variables, and the hosts that need no proxy.
#[derive(Clone, Default)]
pub(super) struct Proxies {
    http: Option<(String, Secret)>,
    https: Option<(String, Secret)>,
    /// A list of hosts, separated by commas. A host includes its subdomains, and `*` is every host.
    except: String,
}

impl Proxies {
    pub(super) fn of_variables(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let first = |names: &[&str]| {
            names.iter().find_map(|&name| {
                // A value that is not Unicode becomes an invalid URL, which is reported.
                let value = variable(name)?.to_string_lossy().into_owned();
                (!value.is_empty()).then(|| (name.to_owned(), Secret::new(value)))
            })
        };
        // In a CGI program, HTTP_PROXY is the header "Proxy" of a stranger's request.
        let is_cgi = variable("REQUEST_METHOD").is_some();
        let http: &[_] = if is_cgi {
            &["http_proxy", "all_proxy", "ALL_PROXY"]
        } else {
            &["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"]
        };
        let https = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
        let except = first(&["no_proxy", "NO_PROXY"]);
        Self {
            http: first(http),
            https: first(&https),
            except: except.map(|(_, hosts)| hosts.expose().to_owned()).unwrap_or_default(),
        }
    }

    /// Returns the proxy for requests to `uri`; `None` if they need none.
    ///
    /// # Errors
    ///
    /// If the variable's value is not the URL of a proxy.
    pub(super) fn proxy_for(&self, uri: &Uri) -> Result<Option<Proxy>, Fault> {
        let is_secure = uri.scheme() == Some(&Scheme::HTTPS);
        let chosen = if is_secure { &self.https } else { &self.http };
        let (Some((name, url)), Some(host)) = (chosen, uri.host()) else { return Ok(None) };
        if is_local(host) || self.is_excepted(host) {
            return Ok(None);
        }
        // For a proxy that its features don't cover, `ureq` panics or leaves out TLS.
        let is_known = |proxy: &Proxy| {
            let protocol = proxy.protocol();
            protocol == ProxyProtocol::Http
                || protocol == ProxyProtocol::Https && cfg!(feature = "tls")
        };
        let proxy = Proxy::new(url.expose()).ok().filter(is_known);
        proxy.map(Some).ok_or_else(|| {
            let reason = "it must be the URL of a proxy for HTTP, such as http://proxy:3128; \
                          SOCKS is not spoken, and TLS needs the feature tls of tach-otlp";
            Fault::new(name, url.expose(), reason)
        })
    }

    fn is_excepted(&self, host: &str) -> bool {
        self.except.split(',').map(str::trim).any(|name| {
            let name = name.trim_start_matches("*.").trim_start_matches('.');
            let domain = host.len().checked_sub(name.len()).and_then(|at| host.get(at..));
            let is_domain =
                !name.is_empty() && domain.is_some_and(|it| it.eq_ignore_ascii_case(name));
            let before = host.len().checked_sub(name.len() + 1).and_then(|at| host.get(at..=at));
            name == "*" || is_domain && before.is_none_or(|before| before == ".")
        })
    }
}

/// Returns whether a host is this machine, which no proxy reaches.
fn is_local(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let address = host.parse::<core::net::IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy(variables: &[(&str, &str)], url: &str) -> Option<String> {
        let proxies = Proxies::of_variables(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| value.into())
        });
        let proxy = proxies.proxy_for(&url.parse().unwrap());
        proxy.unwrap().map(|proxy| proxy.host().to_owned())
    }

    #[test]
    fn each_scheme_has_its_proxy() {
        let both = [("HTTP_PROXY", "http://one:1"), ("HTTPS_PROXY", "http://two:2")];
        let found = |url| proxy(&both, url);
        assert_eq!(found("http://collector:4318").as_deref(), Some("one"));
        assert_eq!(found("https://collector:4318").as_deref(), Some("two"));
        for local in ["http://localhost:4318", "http://127.0.0.1:1", "https://[::1]:1"] {
            assert_eq!(found(local), None, "{local}");
        }
        let of_all = [("ALL_PROXY", "three:3"), ("http_proxy", "http://one:1")];
        assert_eq!(proxy(&of_all, "http://collector").as_deref(), Some("one"));
        assert_eq!(proxy(&of_all, "https://collector").as_deref(), Some("three"));
        assert_eq!(proxy(&[("http_proxy", "")], "http://collector"), None);
    }

    #[test]
    fn a_stranger_s_header_is_no_proxy() {
        let variables = [("REQUEST_METHOD", "GET"), ("HTTP_PROXY", "http://stranger:1")];
        assert_eq!(proxy(&variables, "http://collector"), None);
    }

    #[test]
    fn hosts_and_their_subdomains_are_excepted() {
        for (except, host, is_excepted) in [
            ("collector.example", "collector.example", true),
            ("other, example", "collector.EXAMPLE", true),
            (".example", "collector.example", true),
            ("*.example", "collector.example", true),
            ("*", "collector", true),
            ("ample", "collector.example", false),
            ("a.collector.example", "collector.example", false),
            (",", "collector", false),
            ("", "collector", false),
        ] {
            let variables = [("NO_PROXY", except), ("HTTP_PROXY", "http://one:1")];
            let found = proxy(&variables, &format!("http://{host}:4318"));
            assert_eq!(found.is_none(), is_excepted, "{except:?} {host:?}");
        }
    }

    /// `ALL_PROXY` often names a SOCKS proxy.
    #[test]
    fn a_proxy_that_is_not_spoken_to_is_refused() {
        for url in ["socks5://127.0.0.1:1080", "socks4://one", "socks5h://one:1", "socks://one"] {
            let proxies = Proxies::of_variables(|name| (name == "ALL_PROXY").then(|| url.into()));
            let error = proxies.proxy_for(&"http://collector".parse().unwrap()).err().unwrap();
            assert!(error.to_string().contains("SOCKS is not spoken"), "{url}: {error}");
        }
        let secure = |name: &str| (name == "ALL_PROXY").then(|| "https://one:1".into());
        let proxy = Proxies::of_variables(secure).proxy_for(&"http://collector".parse().unwrap());
        assert_eq!(proxy.is_ok(), cfg!(feature = "tls"));
    }

    #[test]
    #[cfg(unix)]
    fn a_proxy_that_is_not_unicode_is_refused() {
        use std::os::unix::ffi::OsStringExt as _;
        let value = || OsString::from_vec(b"http://pr\xffoxy:3128".to_vec());
        let proxies = Proxies::of_variables(|name| (name == "ALL_PROXY").then(value));
        let error = proxies.proxy_for(&"http://collector".parse().unwrap()).err().unwrap();
        assert!(error.to_string().contains("ALL_PROXY"), "{error}");
    }

    #[test]
    fn a_proxy_that_is_no_url_is_named_without_its_secret() {
        let proxies = Proxies::of_variables(|name| {
            (name == "HTTP_PROXY").then(|| "http://user:secret@ bad".into())
        });
        let error = proxies.proxy_for(&"http://collector".parse().unwrap()).err().unwrap();
        let message = error.to_string();
        assert!(message.contains("HTTP_PROXY") && !message.contains("secret"), "{message}");
    }
}
