//! The atomics of all other modules. Under loom, loom's take their place.
//!
//! Loom's atomics have no `const` constructor. So a constructor of a type with atomics stands in
//! `const_fn!`, and an array of them is built by `array_of!`.

mod floor;
mod history;
mod horizon;
mod maximum;
#[cfg(any(feature = "coarse", all(test, loom)))]
mod reading;
mod succession;
mod versioned;

pub(crate) use self::floor::Floor;
pub(crate) use self::history::{Full, History, Id};
pub(crate) use self::horizon::Reach;
pub(crate) use self::maximum::Maximum;
#[cfg(any(feature = "coarse", all(test, loom)))]
pub(crate) use self::reading::{Reading, Words};
pub(crate) use self::succession::Succession;
pub(crate) use self::versioned::Versioned;

cfg_if::cfg_if! {
    if #[cfg(all(test, loom))] {
        pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

        macro_rules! const_fn {
            ($(#[$attribute:meta])* $visibility:vis const fn $($rest:tt)+) => {
                $(#[$attribute])* $visibility fn $($rest)+
            };
        }
        macro_rules! array_of {
            ($value:expr; $length:expr) => { core::array::from_fn::<_, $length, _>(|_| $value) };
        }
    } else {
        pub(crate) use core::sync::atomic::{
            AtomicBool, AtomicU32, AtomicU64, Ordering, fence,
        };

        macro_rules! const_fn {
            ($($function:tt)+) => { $($function)+ };
        }
        macro_rules! array_of {
            ($value:expr; $length:expr) => { [const { $value }; $length] };
        }
    }
}
pub(crate) use {array_of, const_fn};

/// A value alone on its cache lines.
///
/// 128 bytes, since x86's adjacent-line prefetcher fetches lines in pairs, and Apple's cores have
/// lines of that size.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Padded<T>(pub(crate) T);

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn padded_values_share_no_lines() {
        assert_eq!((align_of::<Padded<u8>>(), size_of::<Padded<u8>>()), (128, 128));
        assert_eq!((align_of::<Padded<[u8; 129]>>(), size_of::<Padded<[u8; 129]>>()), (128, 256));
    }
}
