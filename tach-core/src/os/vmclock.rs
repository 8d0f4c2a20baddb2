//! The hypervisor's word on the counter: the `vmclock` device of Linux guests.
//!
//! The layout is `struct vmclock_abi` in `include/uapi/linux/vmclock-abi.h`, little-endian on every
//! architecture. The driver (`drivers/ptp/ptp_vmclock.c`) takes version 1 only, and no region that
//! ends before the field that follows `flags`; neither does this file.

use core::ffi::CStr;

use super::file::read;

const DEVICE: &CStr = c"/dev/vmclock0";

/// As far as the driver requires the structure to reach: `offsetof(struct vmclock_abi, pad)`.
const BYTES: usize = 32;
const MAGIC: [u8; 4] = *b"VCLK";
const VERSION: u16 = 1;

/// How often a structure that is being updated is looked at. The driver itself waits up to 100 ms
/// for the end of an update, so that more than one attempt is rarely needed.
const ATTEMPTS: usize = 3;

/// What a reading of the structure says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// The value of `disruption_marker`.
    Marker(u64),
    /// The hypervisor is writing: `seq_count` is odd.
    Updating,
    /// This is not the structure, or not a version of it that is known.
    Unknown,
}

/// Changes to another value, none of which repeats, when the counter has been disrupted: the guest
/// was moved to another host, or restored from a snapshot.
pub(crate) fn disruption_marker() -> Option<u64> {
    marker(DEVICE)
}

fn marker(path: &CStr) -> Option<u64> {
    for _ in 0..ATTEMPTS {
        match parse(read(path, &mut [0; BYTES])?) {
            Reading::Marker(marker) => return Some(marker),
            Reading::Updating => {}
            Reading::Unknown => return None,
        }
    }
    None
}

fn parse(bytes: &[u8]) -> Reading {
    fields(bytes).unwrap_or(Reading::Unknown)
}

/// `None` where a field is missing or has an unknown value.
fn fields(bytes: &[u8]) -> Option<Reading> {
    let magic: [u8; 4] = field(bytes, 0)?;
    let size = u32::from_le_bytes(field(bytes, 4)?);
    let version = u16::from_le_bytes(field(bytes, 8)?);
    // `counter_id` at 10 and `time_type` at 11 say how to tell the time, which is not wanted here.
    let seq_count = u32::from_le_bytes(field(bytes, 12)?);
    let disruption_marker = u64::from_le_bytes(field(bytes, 16)?);
    let _flags: [u8; 8] = field(bytes, 24)?;
    if magic != MAGIC || version != VERSION || usize::try_from(size).ok()? < BYTES {
        return None;
    }
    // The driver copies until `seq_count` is the same even number before and after, so one look at
    // the copy is enough; it is odd only in what did not come from the driver.
    let updating = seq_count % 2 == 1;
    Some(if updating { Reading::Updating } else { Reading::Marker(disruption_marker) })
}

fn field<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Fixture, missing};
    use super::*;

    /// A structure in a page of 4 KiB: version 1, the TSC, UTC, `seq_count` 6, the marker 0x1122.
    const GOOD: [u8; BYTES] = [
        0x56, 0x43, 0x4c, 0x4b, 0x00, 0x10, 0x00, 0x00, // magic, size
        0x01, 0x00, 0x01, 0x00, 0x06, 0x00, 0x00, 0x00, // version, counter, time, seq_count
        0x22, 0x11, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, // disruption_marker
        0x80, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, // flags
    ];

    fn with(offset: usize, byte: u8) -> [u8; BYTES] {
        let mut bytes = GOOD;
        bytes[offset] = byte;
        bytes
    }

    #[test]
    fn the_magic_is_the_headers_number() {
        assert_eq!(u32::from_le_bytes(MAGIC), 0x4b4c_4356);
    }

    #[test]
    fn the_marker_is_read() {
        let cases = [
            (GOOD, Reading::Marker(0x1122)),
            (with(16, 0x23), Reading::Marker(0x1123)),
            (with(23, 0xff), Reading::Marker(0xff00_0000_0000_1122)),
            (with(10, 0xff), Reading::Marker(0x1122)),
            (with(15, 0xff), Reading::Marker(0x1122)),
            (with(12, 0x07), Reading::Updating),
            (with(0, b'v'), Reading::Unknown),
            (with(8, 0x02), Reading::Unknown),
            (with(9, 0x01), Reading::Unknown),
            (with(5, 0x00), Reading::Unknown),
        ];
        for (bytes, expected) in cases {
            assert_eq!(parse(&bytes), expected, "{bytes:x?}");
        }
    }

    #[test]
    fn a_part_of_the_structure_says_nothing() {
        for length in 0..BYTES {
            assert_eq!(parse(&GOOD[..length]), Reading::Unknown, "{length} bytes");
        }
        assert_eq!(parse(&[GOOD, [0xff; BYTES]].concat()), Reading::Marker(0x1122));
    }

    #[test]
    fn a_device_tells_its_marker_and_each_change_of_it() {
        let device = Fixture::new(&[&GOOD[..], &[0; 4096 - BYTES]].concat());
        assert_eq!(marker(device.path()), Some(0x1122));
        device.write(&with(16, 0x23));
        assert_eq!(marker(device.path()), Some(0x1123));
    }

    #[test]
    fn what_is_no_such_device_tells_nothing() {
        let odd = with(12, 1);
        let long = [b'x'; 4096];
        let cases: [&[u8]; 5] = [b"", b"VCLK", &GOOD[..BYTES - 1], &odd, &long];
        for content in cases {
            let device = Fixture::new(content);
            assert_eq!(marker(device.path()), None, "{content:?}");
        }
        assert_eq!(marker(missing()), None);
    }
}
