//! The names of old files.

use core::time::Duration;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use tach_core::{Offset, UnixTime};

/// The longest name of a file that is rotated. Most file systems allow 255 bytes, and the name of
/// an old file while it is compressed is longer.
pub(crate) const LONGEST: usize = 255 - ".20261123T143000.123456+0100.999999999.gz.part".len();
/// The most digits of a number in a name.
const MOST_DIGITS: usize = 9;

/// The names that a [`Rotation`](crate::Rotation) gives to old files: here those of `app.log`.
///
/// The time or the day is that of the file's first record. If an earlier process wrote the file, it
/// is the time of that process's last write. If the clock was set back, it is that of the file
/// before, so the names sort in the order of the rotations. Of several files with one time or day,
/// the second one has the count `.1`, the third one `.2`. A compressed file ends in `.gz`.
///
/// Programs that search logs recognize old files by their names:
///
/// | reader | names |
/// |---|---|
/// | logtail2, pygtail | `Numbers`, or `Dates` with one file a day; with `Rotation::delay_gzip` if files are compressed |
/// | a pattern such as `*.log` | `DatesBeforeExtension` |
/// | people | any: all but `Numbers` sort by time |
///
/// # Examples
///
/// ```
/// use tach_sinks::{Names, Rotation};
///
/// let rotation = Rotation::new().max_bytes(100 * 1024 * 1024).keep(10).names(Names::Numbers);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Names {
    /// The time: `app.log.20261128T141830.404664Z`, or with an offset if the rotation counts days
    /// by local time.
    #[default]
    Times,
    /// The day: `app.log-20261128`, and the hour of an hourly rotation: `app.log-2026112814`. These
    /// are logrotate's names with `dateext`.
    Dates,
    /// The day, and the hour of an hourly rotation, before the extension: `app-2026-11-28.log`,
    /// `app-2026-11-28T14.log`.
    DatesBeforeExtension,
    /// A number: `app.log.1` is the youngest, and at each rotation the others get the next number.
    /// These are logrotate's names without `dateext`.
    Numbers,
}

/// What the name of an old file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Old {
    /// The order of the files, the oldest first: the time, and the number of the file among those
    /// of that time.
    pub(crate) rank: (UnixTime, u32),
    pub(crate) is_compressed: bool,
}

impl Names {
    /// Returns what a name contains beside the count: the time, or the day.
    pub(crate) fn stamp(self, time: UnixTime, offset: Option<Offset>, is_hourly: bool) -> String {
        let shift =
            Duration::from_secs(offset.map_or(0, |it| it.as_minutes().unsigned_abs().into()) * 60);
        let local = if offset.is_some_and(|offset| offset.as_minutes() < 0) {
            time.saturating_sub(shift)
        } else {
            time.saturating_add(shift)
        };
        let local = format!("{local:.6}");
        let day = &local[..if is_hourly { "2026-11-28T14".len() } else { "2026-11-28".len() }];
        match self {
            // Windows forbids colons in names.
            Self::Times => {
                let zone = offset.map_or_else(|| "Z".to_owned(), |offset| offset.to_string());
                local.replace('Z', &zone).replace(':', "").replacen('-', "", 2)
            }
            Self::Dates => day.replace(['-', 'T'], ""),
            Self::DatesBeforeExtension => day.to_owned(),
            Self::Numbers => String::new(),
        }
    }

    /// Returns the name of an old file: the `count`-th with this stamp, from 0. With
    /// [`Numbers`](Self::Numbers), `count` is the number.
    pub(crate) fn make(self, log: &OsStr, stamp: &str, count: u32) -> OsString {
        let (mut name, end) = self.around(log);
        name.push(stamp);
        match (self, count) {
            (Self::Numbers, _) => name.push(count.to_string()),
            (_, 0) => {}
            _ => name.push(format!(".{count}")),
        }
        name.push(end);
        name
    }

    /// Reads the name of an old file of the log: exactly one that [`make`](Self::make) returns,
    /// with or without `.gz`. Returns `None` for any other name.
    pub(crate) fn read(self, name: &OsStr, log: &OsStr) -> Option<Old> {
        let name = name.as_encoded_bytes();
        let read = |name, is_compressed| {
            let rank = self.rank(name, log)?;
            Some(Old { rank, is_compressed })
        };
        // Try the whole name first: the log's own extension may be `gz`.
        read(name, false).or_else(|| read(name.strip_suffix(b".gz")?, true))
    }

    fn rank(self, name: &[u8], log: &OsStr) -> Option<(UnixTime, u32)> {
        let (start, end) = self.around(log);
        let name = name.strip_prefix(start.as_encoded_bytes())?;
        let name = name.strip_suffix(end.as_encoded_bytes())?;
        let name = core::str::from_utf8(name).ok()?;
        if let Self::Numbers = self {
            return Some((UnixTime::EPOCH, u32::MAX - number(name)?));
        }
        let counted =
            name.rsplit_once('.').and_then(|(stamp, count)| Some((stamp, number(count)?)));
        let (stamp, count) = counted.unwrap_or((name, 0));
        Some((self.time(stamp)?, count))
    }

    /// Returns the time in a stamp. Days count as if they were in UTC.
    fn time(self, stamp: &str) -> Option<UnixTime> {
        // A zero in a pattern stands for any digit.
        let patterns: &[_] = match self {
            Self::Times => &[
                "00000000T000000.000000Z",
                "00000000T000000.000000+0000",
                "00000000T000000.000000-0000",
            ],
            Self::Dates => &["00000000", "0000000000"],
            Self::DatesBeforeExtension => &["0000-00-00", "0000-00-00T00"],
            Self::Numbers => &[],
        };
        if !patterns.iter().any(|pattern| is_like(stamp, pattern)) {
            return None;
        }
        let (stamp, zone) = match stamp.split_at_checked("00000000T000000.000000".len()) {
            Some((stamp, zone)) if zone.len() > 1 => {
                (stamp, format!("{}:{}", &zone[..3], &zone[3..]))
            }
            _ => (stamp, "Z".to_owned()),
        };
        let mut digits = stamp.bytes().filter(u8::is_ascii_digit).map(char::from);
        let filled = |pattern: char| match pattern {
            '0' => digits.next().unwrap_or('0'),
            other => other,
        };
        let local: String = "0000-00-00T00:00:00.000000".chars().map(filled).collect();
        (local + &zone).parse().ok()
    }

    /// Returns the parts of a name before and after the stamp and the count.
    fn around(self, log: &OsStr) -> (OsString, OsString) {
        let (stem, join, extension) = match self {
            Self::Times | Self::Numbers => (log, ".", None),
            Self::Dates => (log, "-", None),
            Self::DatesBeforeExtension => {
                let log = Path::new(log);
                (log.file_stem().unwrap_or(log.as_os_str()), "-", log.extension())
            }
        };
        let end = extension.map_or_else(OsString::new, |it| with_end(".".as_ref(), it));
        (with_end(stem, join.as_ref()), end)
    }
}

/// Reads a positive number as [`Names::make`] writes it.
fn number(text: &str) -> Option<u32> {
    let is_number = text.len() <= MOST_DIGITS
        && text.bytes().all(|byte| byte.is_ascii_digit())
        && !text.starts_with('0');
    if is_number { text.parse().ok() } else { None }
}

/// Returns whether a text equals the pattern, whose zeros stand for any digits.
fn is_like(text: &str, pattern: &str) -> bool {
    let is_like = |(byte, kind): (u8, u8)| match kind {
        b'0' => byte.is_ascii_digit(),
        _ => byte == kind,
    };
    text.len() == pattern.len() && text.bytes().zip(pattern.bytes()).all(is_like)
}

/// Returns the name of the compressed file.
pub(crate) fn compressed(name: &OsStr) -> OsString {
    with_end(name, ".gz".as_ref())
}

fn with_end(name: &OsStr, end: &OsStr) -> OsString {
    let mut name = name.to_owned();
    name.push(end);
    name
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: [Names; 4] =
        [Names::Times, Names::Dates, Names::DatesBeforeExtension, Names::Numbers];

    #[test]
    fn a_name_has_the_time_or_the_day_in_utc_or_at_an_offset() {
        let log = "app.log".as_ref();
        let cases = [
            (
                "2026-10-25T00:30:00.000012Z",
                None,
                ["app.log.20261025T003000.000012Z", "app.log-2026102500", "app-2026-10-25T00.log"],
            ),
            (
                "2026-10-25T00:30:00Z",
                Some("+02:00"),
                [
                    "app.log.20261025T023000.000000+0200",
                    "app.log-2026102502",
                    "app-2026-10-25T02.log",
                ],
            ),
            (
                "2026-10-25T01:30:00Z",
                Some("+01:00"),
                [
                    "app.log.20261025T023000.000000+0100",
                    "app.log-2026102502",
                    "app-2026-10-25T02.log",
                ],
            ),
            (
                "2026-11-27T04:00:00.5Z",
                Some("-05:00"),
                [
                    "app.log.20261126T230000.500000-0500",
                    "app.log-2026112623",
                    "app-2026-11-26T23.log",
                ],
            ),
            (
                "2026-11-26T18:30:00Z",
                Some("+05:30"),
                [
                    "app.log.20261127T000000.000000+0530",
                    "app.log-2026112700",
                    "app-2026-11-27T00.log",
                ],
            ),
        ];
        for (time, offset, expected) in cases {
            let time: UnixTime = time.parse().unwrap();
            for (names, expected) in ALL.into_iter().zip(expected) {
                let stamp = names.stamp(time, offset.map(|it| it.parse().unwrap()), true);
                let name = names.make(log, &stamp, 0);
                assert_eq!(name, expected);
                let old = names.read(&name, log).unwrap();
                assert!(!old.is_compressed && old.rank.1 == 0, "{expected}");
                assert!(names != Names::Times || old.rank.0 == time, "{expected}");
            }
        }
        let day = |names: Names, log: &str, count| {
            names.make(
                log.as_ref(),
                &names.stamp("2026-11-28T14:18:30Z".parse().unwrap(), None, false),
                count,
            )
        };
        assert_eq!(day(Names::Dates, "app.log", 0), "app.log-20261128");
        assert_eq!(day(Names::Dates, "app.log", 2), "app.log-20261128.2");
        assert_eq!(day(Names::DatesBeforeExtension, "app.log", 1), "app-2026-11-28.1.log");
        assert_eq!(day(Names::DatesBeforeExtension, "app", 1), "app-2026-11-28.1");
        assert_eq!(day(Names::DatesBeforeExtension, ".log", 0), ".log-2026-11-28");
        assert_eq!(day(Names::Numbers, "app.log", 12), "app.log.12");
        assert_eq!(day(Names::Times, "app.log", 3), "app.log.20261128T141830.000000Z.3");
    }

    #[test]
    fn other_names_are_those_of_no_old_file() {
        let others = [
            "app.log",
            "app.log.",
            "app.log-",
            "app-.log",
            "app.log.0",
            "app.log.01",
            "app.log.+1",
            "app.log.1.1",
            "app.log.4294967296",
            "app.log.1.gz.part",
            "app.log.20261127T000000.000000",
            "app.log.20261127T000000.000000z",
            "app.log.20261127T000000.000000+05:30",
            "app.log.20261127T000000.000000+053",
            "app.log.20261127T000000.00000Z",
            "app.log.20261327T000000.000000Z",
            "app.log.2026112\u{e9}T00000.000000Z",
            "app.log.20261127T000000.000000Z.gz.gz",
            "app.log.20261127T000000.000000Z.0",
            "app.log-2026112",
            "app.log-20261327",
            "app.log-2026112724",
            "app.log-20261127.0",
            "app.log-20261127.01",
            "app.log-20261127-1",
            "app-2026-11-27",
            "app-2026-11-31.log",
            "app-2026-11-27.0.log",
            "app-2026-11-27T1.log",
            "app-2026-11-27.log.1",
            "b.log.20261127T000000.000000Z",
        ];
        for (names, other) in ALL.into_iter().flat_map(|it| others.map(|other| (it, other))) {
            assert_eq!(names.read(other.as_ref(), "app.log".as_ref()), None, "{names:?} {other}");
        }
    }

    proptest! {
        /// Whatever a log's name is, the names of its old files can be read back, and the name of
        /// another log's old file is not taken for one of them.
        #[test]
        fn a_name_that_was_given_is_read(
            log in "[a-z.-]{0,3}[0-9.-]{0,3}[a-z]\\.?(log|gz|1|2026-11-28)?",
            nanos in 0..5_000_000_000_000_000_000_u64,
            minutes in proptest::option::of(-12 * 60..14 * 60_i32),
            count in 0..100_u32,
            is_hourly: bool,
        ) {
            let log: &OsStr = log.as_ref();
            let offset = minutes.map(|it| {
                let sign = if it < 0 { '-' } else { '+' };
                format!("{sign}{:02}:{:02}", it.abs() / 60, it.abs() % 60).parse().unwrap()
            });
            let time = UnixTime::from_nanos(nanos + 86_400_000_000_000);
            for names in ALL {
                let make = |time, count| {
                    names.make(log, &names.stamp(time, offset, is_hourly), count)
                };
                let count = count + u32::from(names == Names::Numbers);
                let name = make(time, count);
                let old = names.read(&name, log);
                prop_assert!(old.is_some_and(|it| !it.is_compressed), "{names:?} {name:?}");
                let gzip = names.read(&compressed(&name), log);
                prop_assert_eq!(gzip.map(|it| it.rank), old.map(|it| it.rank));
                prop_assert!(gzip.is_some_and(|it| it.is_compressed), "{names:?} {name:?}");
                prop_assert_eq!(names.read(&with_end(&compressed(&name), ".part".as_ref()), log), None);
                prop_assert!(name.len() + ".gz.part".len() <= log.len() + 255 - LONGEST);
                // The younger file is the one with the lower number or the later time.
                let rank = |name: &OsStr| names.read(name, log).unwrap().rank;
                let next = if names == Names::Numbers { make(time, count + 1) } else { name.clone() };
                let young = if names == Names::Numbers { name.clone() } else { make(time, count + 1) };
                prop_assert!(rank(&next) < rank(&young));
                if names != Names::Numbers {
                    let day = UnixTime::from_nanos(time.as_nanos() + 86_400_000_000_000);
                    prop_assert!(rank(&young) < rank(&make(day, 0)));
                }
            }
        }
    }
}
