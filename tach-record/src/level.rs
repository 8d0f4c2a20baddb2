//! The level of a record, from any front end.

use log::LevelFilter;

/// A level in one byte, for a record's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level(u8);

impl Level {
    /// slog's level above `Error`, which `log` lacks. Filters treat it as `Error`.
    pub const CRITICAL: Self = Self::from_byte(0);
    /// The level of records to which no filter applies.
    pub const INFO: Self = Self::of(log::Level::Info);
    const TRACE: Self = Self::of(log::Level::Trace);
    /// The level of warnings.
    pub const WARN: Self = Self::of(log::Level::Warn);

    /// Returns the level of a record of `log`.
    pub const fn of(level: log::Level) -> Self {
        Self(level as u8)
    }

    pub(crate) const fn as_byte(self) -> u8 {
        self.0
    }

    pub(crate) const fn from_byte(byte: u8) -> Self {
        Self(byte)
    }

    /// Returns the name in capitals.
    pub const fn name(self) -> &'static str {
        match self.0 {
            0 => "CRITICAL",
            1 => "ERROR",
            2 => "WARN",
            3 => "INFO",
            4 => "DEBUG",
            _ => "TRACE",
        }
    }

    /// Returns the level of `log`, for filters.
    pub const fn of_log(self) -> log::Level {
        match self.0 {
            0 | 1 => log::Level::Error,
            2 => log::Level::Warn,
            3 => log::Level::Info,
            4 => log::Level::Debug,
            _ => log::Level::Trace,
        }
    }

    /// Returns the number by which a [`LevelFilter`] compares: that of [`of_log`](Self::of_log).
    #[inline]
    pub const fn rank(self) -> u8 {
        // Match on the byte: a match on the level would compile to a table of jumps.
        match self.0 {
            0 => 1,
            byte if byte > Self::TRACE.0 => Self::TRACE.0,
            byte => byte,
        }
    }

    /// Returns whether a filter lets records of the level pass.
    #[inline]
    pub fn passes(self, filter: LevelFilter) -> bool {
        self.rank() <= filter as u8
    }
}

impl From<log::Level> for Level {
    #[inline]
    fn from(level: log::Level) -> Self {
        Self::of(level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_keep_their_names_and_their_order() {
        for level in log::Level::iter() {
            let ours = Level::from(level);
            assert_eq!(ours.name(), level.as_str());
            assert_eq!(ours.of_log(), level);
            assert_eq!(Level::from_byte(ours.as_byte()), ours);
            assert_eq!(ours.rank(), level as u8);
            for filter in LevelFilter::iter() {
                assert_eq!(ours.passes(filter), level <= filter, "{level} {filter}");
            }
        }
        assert_eq!(Level::WARN.name(), "WARN");
        // A damaged file may have any byte.
        for byte in 0..=u8::MAX {
            let level = Level::from_byte(byte);
            assert_eq!(level.rank(), level.of_log() as u8, "{byte}");
        }
    }
}
