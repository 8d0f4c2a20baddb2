//! A connection that TLS secures.

use std::io::{self, Read, Write};
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use crate::socket::Socket;
use crate::tls::explained;

/// The TLS options and the name of the server for a secured connection.
pub(crate) struct Tls {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl Tls {
    /// Returns `None` if `host` is neither a name nor an address.
    pub(crate) fn new(host: &str, mut config: ClientConfig) -> Option<Self> {
        config.alpn_protocols = vec![b"h2".to_vec()];
        let name = ServerName::try_from(host.to_owned()).ok()?;
        Some(Self { config: Arc::new(config), name })
    }
}

/// A secured connection.
pub(super) struct Secured(StreamOwned<ClientConnection, Socket>);

impl Secured {
    /// Agrees on keys with the server.
    ///
    /// # Errors
    ///
    /// If that takes too long, or the server's certificate is not valid.
    pub(super) fn open(tls: &Tls, socket: Socket) -> io::Result<Self> {
        let connection = ClientConnection::new(Arc::clone(&tls.config), tls.name.clone());
        let connection = connection.map_err(io::Error::other)?;
        let mut stream = StreamOwned::new(connection, socket);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock).map_err(explained)?;
        }
        Ok(Self(stream))
    }

    pub(super) fn socket(&mut self) -> &mut Socket {
        &mut self.0.sock
    }
}

impl Read for Secured {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        // A server may refuse the client's certificate only after the keys are agreed on.
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
