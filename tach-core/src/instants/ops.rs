//! What the three instants share, written once: everything but the read.

/// Gives a type with one field `ticks`, which is read in the given way, the API of
/// [`std::time::Instant`].
macro_rules! impl_instant {
    ($Instant:ident, $Read:ident) => {
        impl $Instant {
            #[doc = concat!("The time from `earlier` to this; zero if `earlier` is later.

# Examples

```
use std::time::Duration;
use tach_core::", stringify!($Instant), ";

let a = ", stringify!($Instant), "::now();
let b = ", stringify!($Instant), "::now();
assert_eq!(b.duration_since(a), b - a);
assert_eq!((a - Duration::from_millis(1)).duration_since(a), Duration::ZERO);
```")]
            #[must_use]
            #[inline]
            pub fn duration_since(&self, earlier: Self) -> core::time::Duration {
                $crate::system::between(earlier.ticks, self.ticks)
            }

            #[doc = concat!("The time from `earlier` to this; `None` if `earlier` is later.

# Examples

```
use std::time::Duration;
use tach_core::", stringify!($Instant), ";

let a = ", stringify!($Instant), "::now();
let b = a + Duration::from_millis(1);
assert!(b.checked_duration_since(a) > Some(Duration::ZERO));
assert_eq!(a.checked_duration_since(b), None);
```")]
            #[must_use]
            #[inline]
            pub fn checked_duration_since(&self, earlier: Self) -> Option<core::time::Duration> {
                (earlier <= *self).then(|| self.duration_since(earlier))
            }

            #[doc = concat!("The time from `earlier` to this; zero if `earlier` is later.

# Examples

```
use std::time::Duration;
use tach_core::", stringify!($Instant), ";

let a = ", stringify!($Instant), "::now();
let b = a + Duration::from_millis(1);
assert_eq!(a.saturating_duration_since(b), Duration::ZERO);
```")]
            #[must_use]
            #[inline]
            pub fn saturating_duration_since(&self, earlier: Self) -> core::time::Duration {
                self.duration_since(earlier)
            }

            #[doc = concat!("The time from this to now.

# Examples

```
let start = tach_core::", stringify!($Instant), "::now();
println!(\"{:?}\", start.elapsed());
```")]
            #[must_use]
            #[inline]
            pub fn elapsed(&self) -> core::time::Duration {
                $crate::system::elapsed::<$crate::system::$Read>(self.ticks)
            }

            #[doc = concat!("This plus `duration`; `None` if no tick stands for that time.

# Examples

```
use std::time::Duration;
use tach_core::", stringify!($Instant), ";

let now = ", stringify!($Instant), "::now();
assert!(now.checked_add(Duration::from_secs(60)).is_some());
assert_eq!(now.checked_add(Duration::MAX), None);
```")]
            #[must_use]
            pub fn checked_add(&self, duration: core::time::Duration) -> Option<Self> {
                $crate::system::after(self.ticks, duration).map(Self::from_ticks)
            }

            #[doc = concat!("This minus `duration`; `None` if no tick stands for that time.

A counter starts about when the machine does, and the time before that can't be told. So it is with
`std::time::Instant` on macOS and Windows, but not on Linux.

# Examples

```
use std::time::Duration;
use tach_core::", stringify!($Instant), ";

let now = ", stringify!($Instant), "::now();
assert!(now.checked_sub(Duration::from_millis(1)).is_some());
assert_eq!(now.checked_sub(Duration::MAX), None);
```")]
            #[must_use]
            pub fn checked_sub(&self, duration: core::time::Duration) -> Option<Self> {
                $crate::system::before(self.ticks, duration).map(Self::from_ticks)
            }

            #[doc = concat!("The Unix time at this point, converted now.

# Examples

```
let start = tach_core::", stringify!($Instant), "::now();
println!(\"started at {}\", start.unix_time());
```")]
            #[must_use]
            #[inline]
            pub fn unix_time(&self) -> $crate::UnixTime {
                $crate::UnixTime::from_nanos($crate::system::unix_ns_at(self.ticks))
            }

            #[doc = concat!("The same Unix time as the standard library has it.

# Examples

```
use std::time::{Duration, UNIX_EPOCH};
use tach_core::", stringify!($Instant), ";

let since_epoch = ", stringify!($Instant), "::now().to_system_time().duration_since(UNIX_EPOCH);
assert!(since_epoch.unwrap() > Duration::ZERO);
```")]
            #[cfg(feature = "std")]
            #[must_use]
            pub fn to_system_time(&self) -> std::time::SystemTime {
                self.unix_time().to_system_time()
            }

            #[doc = concat!("The counter's value: of meaning only in this process.

# Examples

```
use tach_core::", stringify!($Instant), ";

let now = ", stringify!($Instant), "::now();
assert_eq!(", stringify!($Instant), "::from_ticks(now.as_ticks()), now);
```")]
            #[must_use]
            #[inline]
            pub const fn as_ticks(self) -> u64 {
                self.ticks
            }

            #[doc = concat!("The point at which the counter had, or will have, this value.

It carries no promise of order that the value did not have.

# Examples

```
use tach_core::", stringify!($Instant), ";

let now = ", stringify!($Instant), "::now();
let next = ", stringify!($Instant), "::from_ticks(now.as_ticks() + 1);
assert!(next > now);
```")]
            #[must_use]
            #[inline]
            pub const fn from_ticks(ticks: u64) -> Self {
                Self { ticks }
            }
        }

        impl core::fmt::Debug for $Instant {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_struct(stringify!($Instant)).field("ticks", &self.ticks).finish()
            }
        }

        impl core::ops::Add<core::time::Duration> for $Instant {
            type Output = Self;

            /// # Panics
            ///
            /// If no tick stands for that time; see `checked_add`.
            #[track_caller]
            fn add(self, duration: core::time::Duration) -> Self {
                self.checked_add(duration).expect("overflow when adding duration to instant")
            }
        }

        impl core::ops::AddAssign<core::time::Duration> for $Instant {
            #[track_caller]
            fn add_assign(&mut self, duration: core::time::Duration) {
                *self = *self + duration;
            }
        }

        impl core::ops::Sub<core::time::Duration> for $Instant {
            type Output = Self;

            /// # Panics
            ///
            /// If no tick stands for that time; see `checked_sub`.
            #[track_caller]
            fn sub(self, duration: core::time::Duration) -> Self {
                self.checked_sub(duration).expect("overflow when subtracting duration from instant")
            }
        }

        impl core::ops::SubAssign<core::time::Duration> for $Instant {
            #[track_caller]
            fn sub_assign(&mut self, duration: core::time::Duration) {
                *self = *self - duration;
            }
        }

        impl core::ops::Sub for $Instant {
            type Output = core::time::Duration;

            #[inline]
            fn sub(self, earlier: Self) -> core::time::Duration {
                self.duration_since(earlier)
            }
        }
    };
}

pub(crate) use impl_instant;
