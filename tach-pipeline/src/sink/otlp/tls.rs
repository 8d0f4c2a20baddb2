//! TLS by rustls, with the certificates that OpenTelemetry's options name.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, IoState, RootCertStore, StreamOwned,
};
use tach_core::adapter;

use super::stream::Socket;
use crate::error::Error;

/// The files of authorities of Debian, Red Hat, SUSE, and of Alpine and the BSDs.
const BUNDLES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// The files of one signal's requests. Those that are not set are not needed.
#[derive(Clone, Default)]
pub(super) struct Files {
    /// The authorities that are trusted, in place of the machine's.
    pub(super) roots: Option<File>,
    /// The client's certificate, and those between it and its authority.
    pub(super) certificate: Option<File>,
    /// The key of the client's certificate.
    pub(super) key: Option<File>,
}

/// A file of certificates or a key, in PEM.
#[derive(Clone)]
pub(super) struct File {
    /// The option that names the file, for messages.
    option: String,
    path: PathBuf,
}

impl File {
    pub(super) fn of(option: &str, path: &Path) -> Self {
        Self { option: option.to_owned(), path: path.to_owned() }
    }

    fn fault(&self, reason: &str) -> Error {
        Error::option(&self.option, &self.path.display().to_string(), reason)
    }

    fn unreadable(&self, error: &pem::Error, wanted: &str) -> Error {
        let reason = match error {
            pem::Error::Io(error) => format!("the file can't be read: {error}"),
            pem::Error::NoItemsFound => format!("the file must have {wanted} in PEM, and has none"),
            other => format!("the file must have {wanted} in PEM: {other}"),
        };
        self.fault(&reason)
    }

    /// Returns the certificates, of which there is one at least.
    fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, Error> {
        let wanted = "a certificate";
        let all = CertificateDer::pem_file_iter(&self.path).and_then(Iterator::collect);
        match all {
            Ok(all) if Vec::is_empty(&all) => {
                Err(self.unreadable(&pem::Error::NoItemsFound, wanted))
            }
            all => all.map_err(|error| self.unreadable(&error, wanted)),
        }
    }

    fn key(&self) -> Result<PrivateKeyDer<'static>, Error> {
        PrivateKeyDer::from_pem_file(&self.path)
            .map_err(|error| self.unreadable(&error, "a private key without a password"))
    }
}

/// What a secured connection to one server needs.
pub(super) struct Tls {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl Tls {
    /// Reads the files. `protocol` is the name of the one above TLS.
    ///
    /// # Errors
    ///
    /// If a file can't be used, or this machine has no authorities and none is set.
    pub(super) fn new(host: &str, files: &Files, protocol: &str) -> Result<Self, Error> {
        let name = ServerName::try_from(host.to_owned()).map_err(|_| {
            Error::option("the endpoint's host", host, "it must be a name or an address")
        })?;
        // A program that must use another implementation, as for FIPS, has installed it.
        let provider = CryptoProvider::get_default().cloned();
        let provider = provider.unwrap_or_else(|| Arc::new(ring::default_provider()));
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::option("TLS", "", &error.to_string()))?
            .with_root_certificates(roots(files.roots.as_ref())?);
        let mut config = match (&files.certificate, &files.key) {
            (None, None) => builder.with_no_client_auth(),
            (Some(certificate), Some(key)) => builder
                .with_client_auth_cert(certificate.certificates()?, key.key()?)
                .map_err(|error| {
                    key.fault(&format!("it must be the key of the client's certificate: {error}"))
                })?,
            (Some(certificate), None) => {
                return Err(certificate.fault("it needs the client's key too"));
            }
            (None, Some(key)) => return Err(key.fault("it needs the client's certificate too")),
        };
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        Ok(Self { config: Arc::new(config), name })
    }

    /// Agrees on keys with the server.
    ///
    /// # Errors
    ///
    /// If that takes too long, or the server's certificate is not the one that was meant.
    pub(super) fn secure(&self, socket: Socket) -> io::Result<Secured> {
        let connection = ClientConnection::new(Arc::clone(&self.config), self.name.clone());
        let connection = connection.map_err(io::Error::other)?;
        let mut secured = Secured(StreamOwned::new(connection, socket));
        while secured.0.conn.is_handshaking() {
            secured.0.conn.complete_io(&mut secured.0.sock).map_err(explained)?;
        }
        Ok(secured)
    }
}

/// Returns the authorities in the file, or else those that this machine trusts.
fn roots(file: Option<&File>) -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore::empty();
    if let Some(file) = file {
        for certificate in file.certificates()? {
            roots.add(certificate).map_err(|error| {
                file.fault(&format!("it must have the certificates of authorities: {error}"))
            })?;
        }
        return Ok(roots);
    }
    roots.add_parsable_certificates(native());
    if roots.is_empty() {
        let reason = "this machine has no authorities that it trusts; OTEL_EXPORTER_OTLP_CERTIFICATE \
                      or Otlp::certificate must name a file with the collector's";
        return Err(Error::option("TLS", "", reason));
    }
    Ok(roots)
}

/// Returns the authorities that this machine trusts, or that `SSL_CERT_FILE` and `SSL_CERT_DIR`
/// name.
fn native() -> Vec<CertificateDer<'static>> {
    if adapter::is_environment_trusted() {
        return rustls_native_certs::load_native_certs().certs;
    }
    // The function above would obey the variables.
    let file = BUNDLES.iter().map(Path::new).find(|file| file.exists());
    rustls_native_certs::load_certs_from_paths(file, None).certs
}

/// A secured connection.
pub(super) struct Secured(StreamOwned<ClientConnection, Socket>);

impl Secured {
    pub(super) fn socket(&mut self) -> &mut Socket {
        &mut self.0.sock
    }

    /// Returns whether nothing has arrived that was not read, in TLS or below it.
    pub(super) fn is_quiet(&mut self) -> bool {
        let state = self.0.conn.process_new_packets();
        let is_quiet =
            |state: IoState| state.plaintext_bytes_to_read() == 0 && !state.peer_has_closed();
        state.is_ok_and(is_quiet) && self.0.sock.is_quiet()
    }
}

impl Read for Secured {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        // A server may refuse the client's certificate as late as here.
        self.0.read(to).map_err(explained)
    }
}

impl Write for Secured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(explained)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(explained)
    }
}

/// Adds to an error of TLS what would be right.
fn explained(error: io::Error) -> io::Error {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
    let Some(advice) = cause.and_then(advice) else { return error };
    io::Error::new(error.kind(), format!("{error}; {advice}"))
}

fn advice(error: &rustls::Error) -> Option<&'static str> {
    match error {
        rustls::Error::InvalidCertificate(fault) => Some(match fault {
            // Another authority may have the same name.
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                "OTEL_EXPORTER_OTLP_CERTIFICATE or Otlp::certificate must name a file with the \
                 certificate of the authority that signed the collector's"
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "the endpoint must have a host that the collector's certificate names"
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "the collector needs a new certificate, unless this machine's clock is ahead"
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "this machine's clock may be behind"
            }
            _ => "the collector needs a certificate that an authority signed for it",
        }),
        rustls::Error::InvalidMessage(_) => {
            Some("the collector may have no TLS there; then the endpoint must begin with http://")
        }
        rustls::Error::AlertReceived(_) => Some(
            "the collector may want a certificate of an authority that it trusts: \
             OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and _CLIENT_KEY, or Otlp::client_certificate",
        ),
        _ => None,
    }
}
