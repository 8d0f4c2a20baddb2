//! std's tests of `Instant`, with each of tach-core's instants. `cargo xtask peers std` runs them.

#[cfg(test)]
mod instant {
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use tach_core::Instant;

    mod tests {
        include!(concat!(env!("PEER_TESTS"), "/tests.rs"));
    }
}

#[cfg(test)]
mod monotonic {
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use tach_core::MonotonicInstant as Instant;

    mod tests {
        include!(concat!(env!("PEER_TESTS"), "/tests.rs"));
    }
}

#[cfg(test)]
mod ordered {
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use tach_core::OrderedInstant as Instant;

    mod tests {
        include!(concat!(env!("PEER_TESTS"), "/tests.rs"));
    }
}
