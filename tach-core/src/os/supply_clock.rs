//! The clocks of a program without an OS.

/// Supplies the clocks of a program that runs without an OS. Use it once in the program.
///
/// The first function returns the nanoseconds of a clock that never goes back. The second returns
/// the nanoseconds since 1970-01-01 00:00:00 UTC, or 0 while they are unknown: then Unix time is
/// near 1970, with the largest uncertainty. Both are `fn() -> u64`, may be called on any core and
/// in interrupt handlers, and must not read tach's clock.
///
/// With the feature `std` this macro does nothing. Without it, it does nothing on Unix, Windows,
/// preview 1 of WASI and JavaScript hosts, whose clocks tach reads itself, except under Miri.
///
/// # Examples
///
/// ```
/// fn timer_ns() -> u64 {
///     // The board's timer, in ns.
///     0
/// }
///
/// tach_core::supply_clock!(timer_ns, || 0);
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! supply_clock {
    ($monotonic_ns:expr, $realtime_ns:expr) => {
        const _: () = {
            // SAFETY: no other function has these names: a second use of the macro in a program
            // does not link.
            #[unsafe(no_mangle)]
            extern "Rust" fn __tach_monotonic_ns() -> u64 {
                let monotonic_ns: fn() -> u64 = $monotonic_ns;
                monotonic_ns()
            }

            #[unsafe(no_mangle)]
            extern "Rust" fn __tach_realtime_ns() -> u64 {
                let realtime_ns: fn() -> u64 = $realtime_ns;
                realtime_ns()
            }
        };
    };
}
