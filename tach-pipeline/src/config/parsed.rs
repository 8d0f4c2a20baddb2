//! Values that stand in a file as texts.

use core::time::Duration;

use tach_core::Offset;

/// A value that was parsed. [`parsed`] implements `Deserialize` for it.
pub(super) struct Parsed<T>(pub(super) T);

/// Implements `Deserialize` for values by the functions that parse their texts.
macro_rules! parsed {
    ($($type:ty = $parse:expr,)+) => {
        $(impl<'de> serde::Deserialize<'de> for $crate::config::parsed::Parsed<$type> {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = String::deserialize(from)?;
                let reason = |reason| format!("{text:?} can't be used: {reason}");
                $parse(&*text).map(Self).map_err(|it| serde::de::Error::custom(reason(it)))
            }
        })+
    };
}
pub(super) use parsed;

parsed! {
    Duration = humantime::parse_duration,
    Offset = str::parse,
}
