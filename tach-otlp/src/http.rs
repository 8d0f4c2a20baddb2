//! One request after another to an HTTP/1.1 server, by `ureq`.

mod connector;

use core::time::Duration;
use std::io::{self, Read as _};
use std::sync::Arc;
use std::time::SystemTime;

use http::header::{CONTENT_TYPE, DATE, LOCATION, RETRY_AFTER};
use http::uri::{Scheme, Uri};
use http::{HeaderMap, Request, Response, StatusCode};
use ureq::config::Config;
use ureq::unversioned::resolver::DefaultResolver;
use ureq::{Agent, Body, Proxy};

use self::connector::{Later, connector};
use crate::advice::Advice;
use crate::encode::protobuf::Field;
use crate::exporter;
use crate::rejection::{Rejection, accepted, accepted_json, find};
use crate::secret::{Secret, Secrets};
use crate::security::Security;

/// The most bytes of an answer. Answers of collectors are short.
const MOST_BYTES: u64 = 64 * 1024;
/// The most bytes of the headers before the body.
const MOST_HEADER_BYTES: usize = 64 * 1024;
/// How long a connection may be idle. A router that translates addresses forgets a connection after
/// some minutes, and then silently drops what is sent on it, so a request would wait for its whole
/// timeout.
const LONGEST_IDLE: Duration = Duration::from_secs(60);
const MOST_REDIRECTS: usize = 5;

/// Returns the connections to one server.
pub(crate) fn agent(proxy: Option<Proxy>, security: Option<&dyn Security>) -> Agent {
    let mut config = Config::builder()
        .http_status_as_error(false)
        // A header may be a secret, and `ureq` would send it to any host.
        .max_redirects(0)
        .max_redirects_will_error(false)
        .max_response_header_size(MOST_HEADER_BYTES)
        .max_idle_connections(1)
        .max_idle_age(LONGEST_IDLE)
        .proxy(proxy)
        .user_agent("")
        .accept("")
        .accept_encoding("");
    if let Some(security) = security {
        config = security.for_http(config);
    }
    Agent::with_parts(config.build(), connector(DefaultResolver::default()), Later)
}

/// The server and the fixed part of each request. Connects at the first request.
pub(crate) struct Client {
    pub(crate) agent: Agent,
    /// `None` for a plain connection.
    pub(crate) security: Option<Arc<dyn Security>>,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    /// The time for a request and its answer, and again for the request that follows a redirect.
    pub(crate) timeout: Duration,
    pub(crate) advice: Advice,
}

impl Client {
    fn post(&self, uri: &Uri, body: &[u8]) -> io::Result<Response<Body>> {
        let mut request = Request::post(uri).body(body).map_err(io::Error::other)?;
        *request.headers_mut() = self.headers.clone();
        let request = self.agent.configure_request(request).timeout_global(Some(self.timeout));
        let answer = self.agent.run(request.build()).map_err(|error| match error {
            ureq::Error::Timeout(_) => io::ErrorKind::TimedOut.into(),
            error => self.advice.of_error(&match &self.security {
                Some(security) => security.explained(error.into_io()),
                None => error.into_io(),
            }),
        })?;
        self.advice.is_known.set(true);
        Ok(answer)
    }

    /// Returns whether the collector accepted the items.
    fn judge(&self, response: Response<Body>) -> Result<(), Rejection> {
        let (head, body) = response.into_parts();
        let mut answer = Vec::new();
        // Ignore a truncated body: the status already says whether the items are accepted.
        let _cut = body.into_reader().take(MOST_BYTES).read_to_end(&mut answer);
        let status = head.status;
        let content = head.headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
        let content = content.unwrap_or_default().to_ascii_lowercase();
        let is = |kind| content.starts_with(kind);
        let secrets = &self.advice.secrets;
        let reason = || {
            let reason = reason(status.as_u16(), &answer, secrets);
            let advice = self.advice.of_status(status, &reason);
            reason + &advice
        };
        match status.as_u16() {
            200..300 if is("text/html") && !answer.is_empty() => Err(Rejection::never(reason())),
            200..300 if is("application/json") => {
                accepted_json(&String::from_utf8_lossy(&answer), secrets)
            }
            200..300 => accepted(&answer, secrets),
            429 | 502..=504 => Err(Rejection::busy(&reason(), asked_pause(&head.headers))),
            400 | 413 => Err(Rejection::Whole { reason: reason() }),
            _ => Err(Rejection::never(reason())),
        }
    }
}

impl exporter::Client for Client {
    fn send(&mut self, request: &[u8]) -> Result<(), Rejection> {
        let mut uri = self.uri.clone();
        for _ in 0..=MOST_REDIRECTS {
            let response = self.post(&uri, request).map_err(Rejection::failed)?;
            let Some(location) = location(&response) else { return self.judge(response) };
            let status = response.status().as_u16();
            uri = redirected(&uri, location).ok_or_else(|| {
                let there = self.advice.secrets.printable(&Secret::new(location).shown());
                Rejection::never(format!("HTTP {status}: the collector is at {there}"))
            })?;
        }
        Err(Rejection::never(format!("more than {MOST_REDIRECTS} redirects")))
    }
}

/// Returns the address of a redirect that asks to repeat the request unchanged.
fn location(response: &Response<Body>) -> Option<&str> {
    let status = response.status();
    let is_redirect =
        [StatusCode::TEMPORARY_REDIRECT, StatusCode::PERMANENT_REDIRECT].contains(&status);
    let location = response.headers().get(LOCATION).filter(|_| is_redirect);
    location.and_then(|location| location.to_str().ok())
}

/// Returns the address of the repeated request, or `None` if it leads to another server than the
/// program names: the request's headers would be revealed to that server.
fn redirected(from: &Uri, location: &str) -> Option<Uri> {
    let to: Uri = location.parse().ok()?;
    let mut parts = from.clone().into_parts();
    parts.path_and_query = Some(to.path_and_query()?.clone());
    let (Some(authority), Some(scheme)) = (to.authority(), to.scheme()) else {
        // `//host/path` would lead to another host.
        let is_path = location.starts_with('/') && !location.starts_with("//");
        return Uri::from_parts(parts).ok().filter(|_| is_path);
    };
    let is_same_host = from.host()?.eq_ignore_ascii_case(authority.host());
    // Refuse a change of scheme too: if the endpoint has no TLS, no certificates were read, and
    // `ureq` would panic.
    let is_same_port = port(from) == port(&to) && from.scheme() == Some(scheme);
    let has_user = authority.as_str().contains('@');
    (is_same_host && is_same_port && !has_user).then_some(to)
}

fn port(uri: &Uri) -> u16 {
    let default = if uri.scheme() == Some(&Scheme::HTTPS) { 443 } else { 80 };
    uri.port_u16().unwrap_or(default)
}

/// Returns the pause that the header `retry-after` asks for: a number of seconds, or a date by the
/// server's clock.
fn asked_pause(headers: &HeaderMap) -> Option<Duration> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let after = text(RETRY_AFTER)?;
    if let Ok(seconds) = after.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let until = httpdate::parse_http_date(after).ok()?;
    let now = text(DATE).and_then(|date| httpdate::parse_http_date(date).ok());
    // A date in the past means no pause.
    Some(until.duration_since(now.unwrap_or_else(SystemTime::now)).unwrap_or_default())
}

/// Returns the status and the message of an answer: a `Status` in protobuf, or a text.
fn reason(status: u16, answer: &[u8], secrets: &Secrets) -> String {
    let message = match find(answer, 2) {
        Some(Field::Bytes(message)) => message,
        _ => answer,
    };
    match core::str::from_utf8(message).map(str::trim) {
        Ok(text) if !text.is_empty() => format!("HTTP {status}: {}", secrets.printable(text)),
        _ => format!("HTTP {status}"),
    }
}

#[cfg(test)]
mod tests;
