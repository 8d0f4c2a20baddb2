//! The atomics of all other modules. Under loom, loom's take their place.
//!
//! Loom's atomics have no `const` constructor. So `const_fn!` wraps each constructor of a type with
//! atomics, and `array_of!` builds each array of them.

mod floor;
mod history;
mod horizon;
#[cfg(any(feature = "coarse", all(test, loom)))]
mod reading;
mod words;

pub(crate) use self::floor::Floor;
pub(crate) use self::history::{Full, History, Id, NOTE_BITS, slot_index};
pub(crate) use self::horizon::Reach;
#[cfg(any(feature = "coarse", all(test, loom)))]
pub(crate) use self::reading::{Reading, Words};
pub(crate) use self::words::{Maximum, Succession, Versioned, generation};

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
            AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering, fence,
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
