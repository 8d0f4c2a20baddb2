//! Conversions from and to other crates' types.

#[cfg(any(feature = "jiff02", feature = "jiff1"))]
mod jiff_time;
#[cfg(feature = "prost")]
mod prost_time;
#[cfg(feature = "serde")]
mod serde_impls;
// On bare WebAssembly the standard library's clock panics.
#[cfg(all(feature = "std", not(all(target_family = "wasm", target_os = "unknown"))))]
mod std_instant;
#[cfg(feature = "std")]
mod std_time;
