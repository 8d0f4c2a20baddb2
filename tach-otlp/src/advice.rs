//! The sentences for the common mistakes: what a collector's failure means, and what would be
//! right.

use core::cell::Cell;
use std::io;

use http::StatusCode;

use crate::secret::Secrets;
use crate::signal::Signal;

/// The most characters of an error of the network. It may contain what a peer says of the reason.
const LONGEST_ERROR: usize = 500;
const GRPC_PORT: u16 = 4317;
const NO_GRPC: &str = "the collector may have no gRPC there, for which it listens on port 4317, or \
    want TLS, with https://";
const NO_HTTP: &str = "the collector may speak gRPC there, with OTEL_EXPORTER_OTLP_PROTOCOL=grpc \
    or Protocol::Grpc, or want TLS, with https://";
const IS_GRPC_PORT: &str = "4317 is gRPC's port: it needs OTEL_EXPORTER_OTLP_PROTOCOL=grpc or \
    Protocol::Grpc, and HTTP has port 4318";
const WANTS_KEY: &str = "the collector wants a key, or another one, in a header such as \
    authorization: OTEL_EXPORTER_OTLP_HEADERS or Otlp::header";

/// Where requests go, for the sentences.
#[derive(Debug, Clone)]
pub(crate) struct Advice {
    /// The option or the variable of the endpoint.
    pub(crate) option: String,
    pub(crate) signal: Signal,
    pub(crate) port: u16,
    pub(crate) is_grpc: bool,
    /// Whether the protocol can't be the mistake: the collector has answered, or there is TLS,
    /// which has sentences of its own.
    pub(crate) is_known: Cell<bool>,
    /// What the peers' texts must not repeat.
    pub(crate) secrets: Secrets,
}

impl Advice {
    /// Adds to a failure of the network what the user can do about it.
    pub(crate) fn of_error(&self, error: &io::Error) -> io::Error {
        use io::ErrorKind::{ConnectionRefused, TimedOut};
        let option = &self.option;
        let text = self.secrets.hidden(&error.to_string(), LONGEST_ERROR);
        let advice = match error.kind() {
            ConnectionRefused => format!(
                "nobody listens there; {option} must name a collector, which has HTTP on port 4318 \
                 and gRPC on port 4317"
            ),
            // A failed look-up of a host has no stable `ErrorKind`, so recognize its text.
            _ if text.contains("lookup address") => {
                format!("{option} must have a host that this machine knows")
            }
            kind if self.is_known.get() || kind == TimedOut => return io::Error::new(kind, text),
            _ if self.is_grpc => NO_GRPC.to_owned(),
            _ if self.port == GRPC_PORT => IS_GRPC_PORT.to_owned(),
            _ => NO_HTTP.to_owned(),
        };
        io::Error::new(error.kind(), format!("{text}; {advice}"))
    }

    /// Returns what the user can do about a status of HTTP and its text, after a semicolon. With
    /// 200 the answer is a page of a website, not a message of OTLP.
    pub(crate) fn of_status(&self, status: StatusCode, text: &str) -> String {
        let Self { option, signal, .. } = self;
        match status.as_u16() {
            _ if self.is_grpc => format!("; {NO_GRPC}"),
            401 | 403 => format!("; {WANTS_KEY}"),
            400 if text.contains("HTTPS") => format!("; {option} must begin with https://"),
            404 | 405 => format!(
                "; {option} must lead to a collector, whose path is {} unless a proxy adds to it",
                signal.path()
            ),
            415 => "; the collector may take no protobuf there, or no gzip: \
                    OTEL_EXPORTER_OTLP_COMPRESSION or Otlp::compression"
                .to_owned(),
            200..400 => {
                format!("; {option} may lead to a login or a proxy, and must name the collector")
            }
            _ => String::new(),
        }
    }

    /// Returns what the user can do about a status of gRPC, after a semicolon.
    #[cfg(feature = "grpc")]
    pub(crate) fn of_code(&self, code: usize) -> String {
        match code {
            7 | 16 => format!("; {WANTS_KEY}"),
            12 => format!("; {} must lead to a collector, and without a path", self.option),
            _ => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Advice {
        pub(crate) fn of_test(is_grpc: bool) -> Self {
            let option = "the endpoint".to_owned();
            let (is_known, secrets) = (Cell::default(), Secrets::default());
            Self { option, signal: Signal::Logs, port: 1, is_grpc, is_known, secrets }
        }
    }

    #[test]
    fn the_port_of_grpc_is_known() {
        let reset = || io::Error::from(io::ErrorKind::ConnectionReset);
        let advice = Advice { port: GRPC_PORT, ..Advice::of_test(false) };
        let error = advice.of_error(&reset());
        assert!(error.to_string().ends_with(&format!("; {IS_GRPC_PORT}")), "{error}");
        advice.is_known.set(true);
        assert_eq!(advice.of_error(&reset()).to_string(), reset().to_string());
        let other = Advice::of_test(true).of_error(&reset());
        assert!(other.to_string().ends_with(NO_GRPC), "{other}");
    }
}
