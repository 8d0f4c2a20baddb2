//! The security of a connection. The module `tls` implements it, if the feature is enabled.

#[cfg(feature = "grpc")]
pub(crate) mod stream;

use std::io;
use std::path::{Path, PathBuf};

use ureq::config::ConfigBuilder;
use ureq::typestate::AgentScope;

/// The certificates and the key for the connections to one collector.
pub(crate) trait Security: Send + Sync {
    /// Adds the certificates and the key to the options of `ureq`.
    fn for_http(&self, options: ConfigBuilder<AgentScope>) -> ConfigBuilder<AgentScope>;

    /// Returns what secures connections of gRPC to `host`, or `None` if `host` is neither a name
    /// nor an address.
    #[cfg(feature = "grpc")]
    fn for_grpc(&self, host: &str) -> Option<stream::Secure>;

    /// Adds to an error of a secured connection what the user can do about it.
    fn explained(&self, error: io::Error) -> io::Error;
}

/// The files for one signal's requests. Each file is optional.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct Files {
    /// The authorities that are trusted, in place of the machine's.
    pub(crate) roots: Option<File>,
    /// The client's certificate, and those between it and its authority.
    pub(crate) certificate: Option<File>,
    /// The key of the client's certificate.
    pub(crate) key: Option<File>,
}

/// A file of certificates or a key, in PEM.
#[derive(Clone)]
pub(crate) struct File {
    /// The option that names the file, for messages.
    #[cfg_attr(
        not(feature = "tls"),
        expect(dead_code, reason = "the room `tls` has the messages")
    )]
    pub(crate) option: String,
    pub(crate) path: PathBuf,
}

/// Several options may name the same file.
impl PartialEq for File {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
    }
}

impl File {
    pub(crate) fn of(option: &str, path: &Path) -> Self {
        Self { option: option.to_owned(), path: path.to_owned() }
    }
}
