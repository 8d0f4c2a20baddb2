//! A connection of gRPC, with TLS or without.

use std::io::{self, Read, Write};

use crate::socket::Socket;

/// A connection.
pub(crate) trait Stream: Read + Write + Send {
    /// Returns the socket, which has the deadline and decides whether reads wait.
    fn socket(&mut self) -> &mut Socket;
}

impl Stream for Socket {
    fn socket(&mut self) -> &mut Socket {
        self
    }
}

/// A function that agrees on the keys of TLS over a socket.
pub(crate) type Secure = Box<dyn Fn(Socket) -> io::Result<Box<dyn Stream>> + Send + Sync>;
