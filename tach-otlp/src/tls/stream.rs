//! A connection of gRPC that TLS secures.

use std::io;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use super::explained;
use crate::security::stream::{Secure, Stream};
use crate::socket::Socket;

/// Returns a function that agrees on keys with the server `host`, or `None` if `host` is neither a
/// name nor an address. The function fails if that takes too long, or the server's certificate is
/// not valid.
pub(super) fn secure(host: &str, mut config: ClientConfig) -> Option<Secure> {
    config.alpn_protocols = vec![b"h2".to_vec()];
    let config = Arc::new(config);
    let name = ServerName::try_from(host.to_owned()).ok()?;
    Some(Box::new(move |socket| {
        let connection = ClientConnection::new(Arc::clone(&config), name.clone());
        let mut stream = StreamOwned::new(connection.map_err(io::Error::other)?, socket);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock).map_err(explained)?;
        }
        Ok(Box::new(Secured(stream)))
    }))
}

struct Secured(StreamOwned<ClientConnection, Socket>);

impl Stream for Secured {
    fn socket(&mut self) -> &mut Socket {
        &mut self.0.sock
    }
}

impl io::Read for Secured {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        // Explain the errors of reads too: a server may refuse the client's certificate only after
        // the handshake.
        self.0.read(to).map_err(explained)
    }
}

impl io::Write for Secured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(explained)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(explained)
    }
}
