//! The atomics everything else uses, in one place so that a model checker's can stand in for them.

pub(crate) use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering, fence};

/// A value alone on its cache lines.
///
/// 128 bytes: the adjacent-line prefetcher of x86 fetches lines in pairs, and Apple's cores have
/// lines of that size.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Padded<T>(pub(crate) T);

/// A constructor that is `const`, but for the model checker, whose atomics have none that is.
macro_rules! const_unless_loom {
    ($visibility:vis fn $name:ident($($argument:tt)*) -> $result:ty $body:block) => {
        #[cfg(not(loom))]
        $visibility const fn $name($($argument)*) -> $result $body
        #[cfg(loom)]
        $visibility fn $name($($argument)*) -> $result $body
    };
}
pub(crate) use const_unless_loom;
