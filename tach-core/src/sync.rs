//! The atomics everything else uses, in one place so that loom's can stand in for them.

#[cfg(not(all(test, loom)))]
pub(crate) use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering, fence};
#[cfg(all(test, loom))]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering, fence};

/// Defines a `const fn`, which under loom is none: loom's atomics are made at run time.
macro_rules! const_fn {
    ($(#[$attribute:meta])* $visibility:vis const fn $($rest:tt)+) => {
        $(#[$attribute])*
        #[cfg(not(all(test, loom)))]
        $visibility const fn $($rest)+

        $(#[$attribute])*
        #[cfg(all(test, loom))]
        $visibility fn $($rest)+
    };
}
pub(crate) use const_fn;

/// An atomic for each of `values`.
#[cfg(not(all(test, loom)))]
pub(crate) const fn atomics<const N: usize>(values: [u64; N]) -> [AtomicU64; N] {
    let mut atomics = [const { AtomicU64::new(0) }; N];
    let mut i = 0;
    while i < N {
        atomics[i] = AtomicU64::new(values[i]);
        i += 1;
    }
    atomics
}

/// An atomic for each of `values`.
#[cfg(all(test, loom))]
pub(crate) fn atomics<const N: usize>(values: [u64; N]) -> [AtomicU64; N] {
    values.map(AtomicU64::new)
}

/// A value alone on its cache lines.
///
/// 128 bytes: the adjacent-line prefetcher of x86 fetches lines in pairs, and Apple's cores have
/// lines of that size.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Padded<T>(pub(crate) T);
