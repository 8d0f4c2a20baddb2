//! A CPU of whose extensions nobody asks the OS.

pub(crate) fn cpu_capabilities() -> u64 {
    0
}
