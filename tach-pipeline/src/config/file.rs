//! The keys of a file and of its rotation.

use core::time::Duration;
use std::path::PathBuf;

use serde::Deserialize;

use super::read::{self, Check, Checked, at_most_one, set, turn_on};
use crate::sink::{Rotation, Sink, SyncPolicy, kind};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a file, such as `path`")]
pub(super) struct FileKeys {
    path: PathBuf,
    #[serde(default)]
    keep_open: bool,
    #[serde(default, deserialize_with = "read::mode")]
    mode: Option<u32>,
    sync: Option<SyncPolicy>,
    rotate: Option<Checked<RotationKeys>>,
}

#[derive(Default, Deserialize)]
#[serde(
    default,
    deny_unknown_fields,
    expecting = "a table with the keys of a rotation, such as `daily = true`"
)]
#[expect(clippy::struct_excessive_bools, reason = "each is the name of a method")]
struct RotationKeys {
    #[serde(deserialize_with = "read::number")]
    max_bytes: Option<u64>,
    daily: bool,
    hourly: bool,
    local_time: bool,
    at_start: bool,
    #[serde(deserialize_with = "read::number")]
    keep: Option<usize>,
    #[serde(deserialize_with = "read::number")]
    keep_bytes: Option<u64>,
    #[serde(deserialize_with = "read::duration")]
    keep_for: Option<Duration>,
    #[cfg(feature = "gzip")]
    gzip: bool,
}

impl FileKeys {
    pub(super) fn sink(self) -> Sink<kind::File> {
        let sink = turn_on(Sink::file(self.path), self.keep_open, Sink::keep_open);
        let sink = set(sink, self.mode, Sink::mode);
        let sink = set(sink, self.sync, Sink::sync);
        set(sink, self.rotate, |sink, Checked(keys)| sink.rotate(keys.rotation()))
    }
}

impl Check for RotationKeys {
    fn check(&self) -> Result<(), String> {
        at_most_one(&[("daily", self.daily), ("hourly", self.hourly)])
    }
}

impl RotationKeys {
    fn rotation(self) -> Rotation {
        let to = set(Rotation::new(), self.max_bytes, Rotation::max_bytes);
        let to = turn_on(to, self.daily, Rotation::daily);
        let to = turn_on(to, self.hourly, Rotation::hourly);
        let to = turn_on(to, self.local_time, Rotation::local_time);
        let to = turn_on(to, self.at_start, Rotation::at_start);
        let to = set(to, self.keep, Rotation::keep);
        let to = set(to, self.keep_bytes, Rotation::keep_bytes);
        let to = set(to, self.keep_for, Rotation::keep_for);
        #[cfg(feature = "gzip")]
        let to = turn_on(to, self.gzip, Rotation::gzip);
        to
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_is_a_method() {
        let week = Duration::from_secs(7 * 24 * 60 * 60);
        let cases = [
            (
                "daily = true\nmax_bytes = 100_000\nkeep = 14",
                Rotation::new().daily().max_bytes(100_000).keep(14),
            ),
            (
                "hourly = true\nkeep_bytes = 1_000_000\nkeep_for = '7days'",
                Rotation::new().hourly().keep_bytes(1_000_000).keep_for(week),
            ),
            ("at_start = true\ndaily = false", Rotation::new().at_start()),
            ("daily = true\nlocal_time = true", Rotation::new().daily().local_time()),
            #[cfg(feature = "gzip")]
            ("daily = true\ngzip = true", Rotation::new().daily().gzip()),
        ];
        for (text, expected) in cases {
            let keys: RotationKeys = toml::from_str(text).unwrap();
            assert_eq!(keys.rotation(), expected, "{text}");
        }
    }
}
