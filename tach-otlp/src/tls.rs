//! TLS by rustls, with the certificates that OpenTelemetry's options name.

#[cfg(feature = "grpc")]
mod stream;

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{CertificateError, ClientConfig, RootCertStore};
use tach_core::adapter;
use ureq::config::ConfigBuilder;
use ureq::tls::{Certificate, ClientCert, PrivateKey, RootCerts, TlsConfig};
use ureq::typestate::AgentScope;

use crate::error::Fault;
use crate::security::{File, Files, Security};

/// The files of authorities of Debian, Red Hat, SUSE, and of Alpine and the BSDs.
const BUNDLES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

const WANTS_CERTIFICATE: &str = "the collector may want a certificate of an authority that it \
    trusts: OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and _CLIENT_KEY, or Otlp::client_certificate";

impl File {
    fn fault(&self, reason: &str) -> Fault {
        Fault::new(&self.option, &self.path.display().to_string(), reason)
    }

    fn unreadable(&self, error: &pem::Error, wanted: &str) -> Fault {
        let reason = match error {
            pem::Error::Io(error) => format!("the file can't be read: {error}"),
            // The error may quote a line, which may be the key if the file has lost its line ends.
            _ => format!("the file must have {wanted} in PEM, each mark on a line of its own"),
        };
        self.fault(&reason)
    }

    /// Returns the certificates in the file: at least one.
    fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, Fault> {
        let wanted = "a certificate";
        let all = CertificateDer::pem_file_iter(&self.path).and_then(Iterator::collect);
        match all {
            Ok(all) if Vec::is_empty(&all) => {
                Err(self.unreadable(&pem::Error::NoItemsFound, wanted))
            }
            all => all.map_err(|error| self.unreadable(&error, wanted)),
        }
    }

    /// Returns the key, and the file's text.
    fn key(&self) -> Result<(PrivateKeyDer<'static>, Vec<u8>), Fault> {
        let unreadable =
            |error: &pem::Error| self.unreadable(error, "a private key without a password");
        let text = fs::read(&self.path).map_err(|error| unreadable(&pem::Error::Io(error)))?;
        let key = PrivateKeyDer::from_pem_slice(&text).map_err(|error| unreadable(&error))?;
        Ok((key, text))
    }
}

/// The contents of the files.
struct Credentials {
    files: Files,
    provider: Arc<CryptoProvider>,
    roots: Vec<CertificateDer<'static>>,
    client: Option<Client>,
}

/// The client's own certificate, with those between it and its authority.
struct Client {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    key_pem: Vec<u8>,
}

/// Reads the files, and checks that they belong together.
///
/// # Errors
///
/// If a file can't be used, or this machine has no authorities and none is set.
pub(crate) fn read(files: &Files) -> Result<Arc<dyn Security>, Fault> {
    let credentials = Credentials::read(files)?;
    credentials.config()?;
    Ok(Arc::new(credentials))
}

impl Credentials {
    fn read(files: &Files) -> Result<Self, Fault> {
        // If the program has installed an implementation of the cryptography, use it: a program may
        // need a certain one, for example for FIPS.
        let provider = CryptoProvider::get_default().cloned();
        let provider = provider.unwrap_or_else(|| Arc::new(ring::default_provider()));
        let client = match (&files.certificate, &files.key) {
            (None, None) => None,
            (Some(certificate), Some(key)) => {
                let chain = certificate.certificates()?;
                let (key, key_pem) = key.key()?;
                Some(Client { chain, key, key_pem })
            }
            (Some(certificate), None) => {
                return Err(certificate.fault("it needs the client's key too"));
            }
            (None, Some(key)) => return Err(key.fault("it needs the client's certificate too")),
        };
        let roots = match &files.roots {
            Some(file) => file.certificates()?,
            None => native(),
        };
        Ok(Self { files: files.clone(), provider, roots, client })
    }

    fn config(&self) -> Result<ClientConfig, Fault> {
        let files = &self.files;
        let builder = ClientConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| Fault::new("TLS", "", error.to_string()))?
            .with_root_certificates(self.root_store(files.roots.as_ref())?);
        let (Some(client), Some(file)) = (&self.client, &files.key) else {
            return Ok(builder.with_no_client_auth());
        };
        builder.with_client_auth_cert(client.chain.clone(), client.key.clone_key()).map_err(
            |error| file.fault(&format!("it must be the key of the client's certificate: {error}")),
        )
    }

    fn root_store(&self, file: Option<&File>) -> Result<RootCertStore, Fault> {
        let mut store = RootCertStore::empty();
        let Some(file) = file else {
            store.add_parsable_certificates(self.roots.iter().cloned());
            if store.is_empty() {
                let reason = "this machine has no authorities that it trusts; \
                              OTEL_EXPORTER_OTLP_CERTIFICATE or Otlp::certificate must name a file \
                              with the collector's";
                return Err(Fault::new("TLS", "", reason));
            }
            return Ok(store);
        };
        for certificate in &self.roots {
            store.add(certificate.clone()).map_err(|error| {
                file.fault(&format!("it must have the certificates of authorities: {error}"))
            })?;
        }
        Ok(store)
    }
}

impl Security for Credentials {
    fn for_http(&self, options: ConfigBuilder<AgentScope>) -> ConfigBuilder<AgentScope> {
        let owned = |all: &[CertificateDer<'_>]| -> Vec<Certificate<'static>> {
            all.iter().map(|one| Certificate::from_der(one).to_owned()).collect()
        };
        let client = self.client.as_ref().and_then(|client| {
            // `ureq` takes a key only as PEM. rustls has already accepted the same text.
            let key = PrivateKey::from_pem(&client.key_pem).ok()?;
            Some(ClientCert::new_with_certs(&owned(&client.chain), key))
        });
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::new_with_certs(&owned(&self.roots)))
            .client_cert(client)
            .unversioned_rustls_crypto_provider(Arc::clone(&self.provider));
        options.tls_config(tls.build())
    }

    #[cfg(feature = "grpc")]
    fn for_grpc(&self, host: &str) -> Option<crate::security::stream::Secure> {
        stream::secure(host, self.config().ok()?)
    }

    fn explained(&self, error: io::Error) -> io::Error {
        explained(error)
    }
}

/// Returns the authorities that this machine trusts, or that `SSL_CERT_FILE` and `SSL_CERT_DIR`
/// name.
fn native() -> Vec<CertificateDer<'static>> {
    if adapter::is_environment_trusted() {
        return rustls_native_certs::load_native_certs().certs;
    }
    // `load_native_certs` obeys the variables, which an untrusted caller may have set.
    let file = BUNDLES.iter().map(Path::new).find(|file| file.exists());
    rustls_native_certs::load_certs_from_paths(file, None).certs
}

/// Adds to an error of TLS what the user can do about it.
fn explained(error: io::Error) -> io::Error {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset};
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
    let advice = match error.kind() {
        // The connection may have ended before the alert with the reason arrived.
        BrokenPipe | ConnectionAborted | ConnectionReset => Some(WANTS_CERTIFICATE),
        _ => cause.and_then(advice),
    };
    let Some(advice) = advice else { return error };
    io::Error::new(error.kind(), format!("{error}; {advice}"))
}

fn advice(error: &rustls::Error) -> Option<&'static str> {
    match error {
        rustls::Error::InvalidCertificate(fault) => Some(match fault {
            // A bad signature may mean that another authority has the same name.
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
        rustls::Error::AlertReceived(_) => Some(WANTS_CERTIFICATE),
        _ => None,
    }
}
