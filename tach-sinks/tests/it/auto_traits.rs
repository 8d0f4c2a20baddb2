//! Properties that the compiler derives, and that a change of a private field could take away.

use core::panic::{RefUnwindSafe, UnwindSafe};

#[cfg(target_os = "linux")]
use tach_sinks::Journald;
#[cfg(feature = "syslog")]
use tach_sinks::{Facility, Syslog};
use tach_sinks::{File, Incident, Names, Rotation, Severity, SyncPolicy, Task, Writer};
use test_support::assert_implements;

assert_implements!([Send + Unpin] Writer);
assert_implements!([Send + Sync + Unpin] Incident<'static>);
assert_implements!([Send + Sync + Unpin + UnwindSafe + RefUnwindSafe + Clone] File, Rotation);
assert_implements!([Send + Sync + Unpin + UnwindSafe + RefUnwindSafe + Copy]
    Names, Severity, SyncPolicy, Task);
#[cfg(target_os = "linux")]
assert_implements!([Send + Sync + Unpin + UnwindSafe + RefUnwindSafe] Journald);
#[cfg(feature = "syslog")]
assert_implements!([Send + Sync + Unpin + UnwindSafe + RefUnwindSafe + Clone] Facility, Syslog);
