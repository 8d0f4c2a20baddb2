//! The difference between servers and clients.

use tach_tower::{ClientSide, ServerSide};

/// A side of the network. Sealed: the module is private.
pub trait Side {
    /// Whether requests are sent, rather than served.
    const IS_CLIENT: bool;
}

impl Side for ServerSide {
    const IS_CLIENT: bool = false;
}

impl Side for ClientSide {
    const IS_CLIENT: bool = true;
}
