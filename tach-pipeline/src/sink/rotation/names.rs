//! The names of old files.

use core::time::Duration;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use tach_core::{Offset, UnixTime};

/// The longest name of a file that is rotated. Most file systems allow 255 bytes, and the name of
/// an old file while it is compressed is longer.
pub(super) const LONGEST: usize = 255 - ".20261123T143000.123456+0100.gz.part".len();

/// Returns the name of a file that was rotated at `time`, in UTC or at an offset. The time is in
/// RFC 3339 without hyphens and colons, since Windows forbids colons in names.
pub(super) fn old(name: &OsStr, time: UnixTime, offset: Option<Offset>) -> OsString {
    let shift =
        Duration::from_secs(offset.map_or(0, |it| it.as_minutes().unsigned_abs().into()) * 60);
    let local = if offset.is_some_and(|offset| offset.as_minutes() < 0) {
        time.saturating_sub(shift)
    } else {
        time.saturating_add(shift)
    };
    let local = format!("{local:.6}").replace(['-', ':'], "");
    let stamp = match offset {
        None => local,
        Some(offset) => local.replace('Z', &offset.to_string().replace(':', "")),
    };
    with_end(name, &format!(".{stamp}"))
}

/// Returns when the log was rotated, if `name` is the name of one of its old files: exactly one
/// that [`old`] returns, with or without `.gz`.
pub(super) fn time_of(name: &OsStr, log: &OsStr) -> Option<UnixTime> {
    let end = name.as_encoded_bytes().strip_prefix(log.as_encoded_bytes())?.strip_prefix(b".")?;
    let end = core::str::from_utf8(end.strip_suffix(b".gz").unwrap_or(end)).ok()?;
    let pattern = "00000000T000000.000000";
    let (time, zone) = end.split_at_checked(pattern.len())?;
    let zone = match zone {
        "Z" => zone.to_owned(),
        _ if is_like(zone, "+0000") || is_like(zone, "-0000") => {
            format!("{}:{}", &zone[..3], &zone[3..])
        }
        _ => return None,
    };
    if !is_like(time, pattern) {
        return None;
    }
    let (date, time) = time.split_at(8);
    let (year, month, day) = (&date[..4], &date[4..6], &date[6..]);
    // `T` comes before the hour.
    let (hour, minute, second) = (&time[..3], &time[3..5], &time[5..]);
    format!("{year}-{month}-{day}{hour}:{minute}:{second}{zone}").parse().ok()
}

/// Returns whether a text equals the pattern, whose zeros stand for any digits.
fn is_like(text: &str, pattern: &str) -> bool {
    let is_like = |(byte, kind): (u8, u8)| match kind {
        b'0' => byte.is_ascii_digit(),
        _ => byte == kind,
    };
    text.len() == pattern.len() && text.bytes().zip(pattern.bytes()).all(is_like)
}

pub(super) fn is_compressed(name: &OsStr) -> bool {
    Path::new(name).extension() == Some("gz".as_ref())
}

/// Returns the name of the compressed file.
pub(super) fn compressed(name: &OsStr) -> OsString {
    with_end(name, ".gz")
}

/// Returns the name of a compressed file while it is incomplete.
pub(super) fn part(compressed: &OsStr) -> OsString {
    with_end(compressed, ".part")
}

fn with_end(name: &OsStr, end: &str) -> OsString {
    let mut name = name.to_owned();
    name.push(end);
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_the_time_in_utc_or_at_an_offset() {
        let log = "app.log".as_ref();
        let cases = [
            ("2026-10-25T00:30:00.000012Z", None, "app.log.20261025T003000.000012Z"),
            ("2026-10-25T00:30:00Z", Some("+02:00"), "app.log.20261025T023000.000000+0200"),
            ("2026-10-25T01:30:00Z", Some("+01:00"), "app.log.20261025T023000.000000+0100"),
            ("2026-11-27T05:00:00.5Z", Some("-05:00"), "app.log.20261127T000000.500000-0500"),
            ("2026-11-26T18:30:00Z", Some("+05:30"), "app.log.20261127T000000.000000+0530"),
        ];
        for (time, offset, expected) in cases {
            let time: UnixTime = time.parse().unwrap();
            let name = old(log, time, offset.map(|offset| offset.parse().unwrap()));
            assert_eq!(name, expected);
            assert_eq!(time_of(&name, log), Some(time), "{expected}");
            assert_eq!(time_of(&compressed(&name), log), Some(time), "{expected}");
            assert_eq!(time_of(&part(&compressed(&name)), log), None, "{expected}");
        }
        let others = [
            "app.log",
            "app.log.",
            "app.log.20261127T000000.000000",
            "app.log.20261127T000000.000000z",
            "app.log.20261127T000000.000000+05:30",
            "app.log.20261127T000000.000000+053",
            "app.log.20261127T000000.00000Z",
            "app.log.20261327T000000.000000Z",
            "app.log.2026112\u{e9}T00000.000000Z",
            "app.log.20261127T000000.000000Z.gz.gz",
            "b.log.20261127T000000.000000Z",
        ];
        for other in others {
            assert_eq!(time_of(other.as_ref(), log), None, "{other}");
        }
    }
}
