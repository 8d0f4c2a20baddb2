//! The resolution where it can't be asked for.

/// Windows's counter for `std::time::Instant` runs at 10 MHz on all but old machines
/// (`QueryPerformanceFrequency`); of other systems nothing is known.
pub(crate) fn resolution_ns() -> u64 {
    if cfg!(windows) { 100 } else { 1 }
}
