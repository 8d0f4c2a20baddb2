//! Certificates for TLS between a test and its Collector.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};

use crate::process::{Folder, folder};

/// An authority that signs certificates.
#[derive(Debug)]
pub struct Authority {
    folder: Arc<Folder>,
    issuer: Issuer<'static, KeyPair>,
    certificate: PathBuf,
}

/// The files of a certificate and its key, which live as long as their authority.
#[derive(Debug, Clone)]
pub struct Certified {
    /// The certificate.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

impl Authority {
    /// Creates an authority of that name, which nobody trusts yet.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let folder = folder();
        let mut params = CertificateParams::new([]).expect("no name is wrong");
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("there is randomness");
        let certificate = folder.path().join("authority.pem");
        let signed = params.self_signed(&key).expect("the key can sign");
        fs::write(&certificate, signed.pem()).expect("the file can be written");
        Self { folder, issuer: Issuer::new(params, key), certificate }
    }

    /// Returns the file with the authority's own certificate.
    #[must_use]
    pub fn certificate(&self) -> &Path {
        &self.certificate
    }

    /// Issues a certificate for hosts with these names and addresses.
    #[must_use]
    pub fn issue(&self, names: &[&str]) -> Certified {
        self.issue_until(names, 4096)
    }

    /// Issues a certificate that is valid until that year begins.
    #[must_use]
    pub fn issue_until(&self, names: &[&str], year: i32) -> Certified {
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        let file = |end| self.folder.path().join(format!("{}-{year}.{end}", names.join(",")));
        let certified = Certified { certificate: file("pem"), key: file("key") };
        let mut params = CertificateParams::new(names).expect("the names are names");
        params.not_after = date_time_ymd(year, 1, 1);
        let key = KeyPair::generate().expect("there is randomness");
        let signed = params.signed_by(&key, &self.issuer).expect("the authority can sign");
        fs::write(&certified.certificate, signed.pem()).expect("the file can be written");
        fs::write(&certified.key, key.serialize_pem()).expect("the file can be written");
        certified
    }
}
