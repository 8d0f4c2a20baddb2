//! The atomics everything else uses, in one place so that a model checker's can stand in for them.

pub(crate) use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering, fence};

/// A value alone on its cache lines.
///
/// 128 bytes: the adjacent-line prefetcher of x86 fetches lines in pairs, and Apple's cores have
/// lines of that size.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Padded<T>(pub(crate) T);
