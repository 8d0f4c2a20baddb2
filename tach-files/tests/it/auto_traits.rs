//! Properties that the compiler derives, and that a change of a private field could take away.

use core::panic::{RefUnwindSafe, UnwindSafe};

#[cfg(target_os = "linux")]
use tach_files::PrivateFolder;
use tach_files::{Access, Entry, Folder, Place};
use test_support::assert_implements;

assert_implements!([Send + Sync + Unpin + UnwindSafe + RefUnwindSafe + Copy] Entry);
assert_implements!([Send + Sync + Unpin + UnwindSafe + RefUnwindSafe] Access, Folder, Place);
#[cfg(target_os = "linux")]
assert_implements!([Send + Sync + Unpin + UnwindSafe + RefUnwindSafe] PrivateFolder);
