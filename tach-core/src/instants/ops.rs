//! The API that the instants share: everything but the read.

/// Implements the sums and differences of [`std::time::Instant`] for a type with one field
/// `$value`, by the functions of the module `$scale`. `$begin` is an expression that reads an
/// instant `a`, for the examples.
macro_rules! impl_sums {
    ($Instant:ident { $value:ident }, $($scale:ident)::+, $begin:expr) => {
        impl $Instant {
            /// Returns the time from `earlier` to this instant; zero if `earlier` is later.
            ///
            /// # Examples
            ///
            /// ```
            /// use std::time::Duration;
            ///
            #[doc = $begin]
            /// let b = a + Duration::from_millis(1);
            /// assert_eq!(b.duration_since(a), b - a);
            /// assert_eq!((a - Duration::from_millis(1)).duration_since(a), Duration::ZERO);
            /// ```
            #[must_use]
            #[inline]
            pub fn duration_since(&self, earlier: Self) -> core::time::Duration {
                $crate::$($scale)::+::between(earlier.$value, self.$value)
            }

            /// Returns the time from `earlier` to this instant; `None` if `earlier` is later.
            ///
            /// # Examples
            ///
            /// ```
            /// use std::time::Duration;
            ///
            #[doc = $begin]
            /// let b = a + Duration::from_millis(1);
            /// assert!(b.checked_duration_since(a) > Some(Duration::ZERO));
            /// assert_eq!(a.checked_duration_since(b), None);
            /// ```
            #[must_use]
            #[inline]
            pub fn checked_duration_since(&self, earlier: Self) -> Option<core::time::Duration> {
                (earlier <= *self).then(|| self.duration_since(earlier))
            }

            /// Returns the time from `earlier` to this instant; zero if `earlier` is later.
            ///
            /// # Examples
            ///
            /// ```
            /// use std::time::Duration;
            ///
            #[doc = $begin]
            /// let b = a + Duration::from_millis(1);
            /// assert_eq!(a.saturating_duration_since(b), Duration::ZERO);
            /// ```
            #[must_use]
            #[inline]
            pub fn saturating_duration_since(&self, earlier: Self) -> core::time::Duration {
                self.duration_since(earlier)
            }

            /// Returns this instant plus `duration`; `None` if the type can't represent it.
            ///
            /// # Examples
            ///
            /// ```
            /// use std::time::Duration;
            ///
            #[doc = $begin]
            /// assert!(a.checked_add(Duration::from_secs(60)).is_some());
            /// assert_eq!(a.checked_add(Duration::MAX), None);
            /// ```
            #[must_use]
            #[inline]
            pub fn checked_add(&self, duration: core::time::Duration) -> Option<Self> {
                let after = $crate::line::Direction::After;
                let $value = $crate::$($scale)::+::sum(self.$value, duration, after)?;
                Some(Self { $value })
            }

            /// Returns this instant minus `duration`; `None` if the type can't represent it.
            ///
            /// The instant may be before the machine's start, as on Linux with std's. Instants are
            /// signed numbers: ticks of 3 GHz reach 97 years in each direction, a `BootInstant`
            /// 292.
            ///
            /// # Examples
            ///
            /// ```
            /// use std::time::Duration;
            ///
            #[doc = $begin]
            /// assert!(a.checked_sub(Duration::from_millis(1)).is_some());
            /// assert_eq!(a.checked_sub(Duration::MAX), None);
            /// ```
            #[must_use]
            #[inline]
            pub fn checked_sub(&self, duration: core::time::Duration) -> Option<Self> {
                let before = $crate::line::Direction::Before;
                let $value = $crate::$($scale)::+::sum(self.$value, duration, before)?;
                Some(Self { $value })
            }
        }

        impl core::ops::Add<core::time::Duration> for $Instant {
            type Output = Self;

            /// Returns this instant plus `duration`. If the type can't represent the sum, returns
            /// the farthest instant that it can represent, which never comes: so a duration of
            /// centuries means "never", and no sum panics. `checked_add` returns `None` there.
            #[inline]
            fn add(self, duration: core::time::Duration) -> Self {
                let after = $crate::line::Direction::After;
                Self { $value: $crate::$($scale)::+::saturating_sum(self.$value, duration, after) }
            }
        }

        impl core::ops::AddAssign<core::time::Duration> for $Instant {
            #[inline]
            fn add_assign(&mut self, duration: core::time::Duration) {
                *self = *self + duration;
            }
        }

        impl core::ops::Sub<core::time::Duration> for $Instant {
            type Output = Self;

            /// Returns this instant minus `duration`. If the type can't represent the difference,
            /// returns the earliest instant that it can represent; `checked_sub` returns `None`
            /// there.
            #[inline]
            fn sub(self, duration: core::time::Duration) -> Self {
                let before = $crate::line::Direction::Before;
                Self { $value: $crate::$($scale)::+::saturating_sum(self.$value, duration, before) }
            }
        }

        impl core::ops::SubAssign<core::time::Duration> for $Instant {
            #[inline]
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

/// Implements the API of [`std::time::Instant`] for a type with one field `ticks`. `$Read` is the
/// type whose functions read the ticks.
macro_rules! impl_instant {
    ($Instant:ident, $Read:ident) => {
        crate::instants::ops::impl_sums!(
            $Instant { ticks },
            system,
            concat!("let a = tach_core::", stringify!($Instant), "::now();")
        );

        impl $Instant {
            /// Returns the time from this instant to now.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let start = tach_core::", stringify!($Instant), "::now();")]
            /// println!("{:?}", start.elapsed());
            /// ```
            #[must_use]
            #[inline]
            pub fn elapsed(&self) -> core::time::Duration {
                $crate::system::elapsed::<$crate::system::$Read>(self.ticks)
            }

            /// Returns the Unix time at this instant, converted now.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let start = tach_core::", stringify!($Instant), "::now();")]
            /// println!("started at {}", start.unix_time());
            /// ```
            #[must_use]
            #[inline]
            pub fn unix_time(&self) -> $crate::unix_time::UnixTime {
                $crate::unix_time::UnixTime::from_nanos($crate::system::REALTIME.ns_at(self.ticks))
            }
        }

        /// Instants are in the order of their ticks, as signed numbers.
        impl Ord for $Instant {
            #[inline]
            fn cmp(&self, other: &Self) -> core::cmp::Ordering {
                let [this, other] = [self.ticks, other.ticks].map($crate::line::shifted_tick);
                this.cmp(&other)
            }
        }

        impl PartialOrd for $Instant {
            #[inline]
            fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
                Some(self.cmp(other))
            }
        }

        impl core::fmt::Debug for $Instant {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                let ticks = i64::from_ne_bytes(self.ticks.to_ne_bytes());
                f.debug_struct(stringify!($Instant)).field("ticks", &ticks).finish()
            }
        }
    };
}

pub(crate) use {impl_instant, impl_sums};
