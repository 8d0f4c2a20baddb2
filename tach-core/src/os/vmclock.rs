//! The hypervisor's statement on the counter: the `vmclock` device of Linux guests.
//!
//! The layout is `struct vmclock_abi` in `include/uapi/linux/vmclock-abi.h`, little-endian on every
//! architecture. Like the driver (`drivers/ptp/ptp_vmclock.c`), this file accepts only version 1,
//! and only a structure that extends to the field after `flags`.

use core::ffi::CStr;

use super::file::read;

const DEVICE: &CStr = c"/dev/vmclock0";

/// The size that the driver requires of the structure: `offsetof(struct vmclock_abi, pad)`.
const BYTES: usize = 32;
const MAGIC: [u8; 4] = *b"VCLK";
const VERSION: u16 = 1;

/// Returns a number that changes, and never repeats, when the counter has been disrupted: the guest
/// was moved to another host, or restored from a snapshot.
pub(crate) fn disruption_marker() -> Option<u64> {
    parse(read(DEVICE, &mut [0; BYTES])?)
}

/// Reads the marker from the structure. Returns `None` if a field is missing or has an unknown
/// value.
fn parse(bytes: &[u8]) -> Option<u64> {
    let magic: [u8; 4] = field(bytes, 0)?;
    let size = u32::from_le_bytes(field(bytes, 4)?);
    let version = u16::from_le_bytes(field(bytes, 8)?);
    // Skips `counter_id` (at 10) and `time_type` (at 11): they describe a time that tach does not
    // use.
    let seq_count = u32::from_le_bytes(field(bytes, 12)?);
    let disruption_marker = u64::from_le_bytes(field(bytes, 16)?);
    let _flags: [u8; 8] = field(bytes, 24)?;
    // The number is odd while the hypervisor writes. The driver should never return such a copy: it
    // waits for an even number first.
    let whole = seq_count % 2 == 0;
    let known = magic == MAGIC && version == VERSION && usize::try_from(size).ok()? >= BYTES;
    (known && whole).then_some(disruption_marker)
}

fn field<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A structure in a page of 4 KiB: version 1, the TSC, UTC, `seq_count` 6, the marker 0x1122.
    const GOOD: [u8; BYTES] = [
        0x56, 0x43, 0x4c, 0x4b, 0x00, 0x10, 0x00, 0x00, // magic, size
        0x01, 0x00, 0x01, 0x00, 0x06, 0x00, 0x00, 0x00, // version, counter, time, seq_count
        0x22, 0x11, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, // disruption_marker
        0x80, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, // flags
    ];

    #[test]
    fn the_marker_is_read_from_a_structure_that_is_known_and_whole() {
        assert_eq!(u32::from_le_bytes(MAGIC), 0x4b4c_4356, "the header's number");
        let cases = [
            (16, 0x22, Some(0x1122)),
            (16, 0x23, Some(0x1123)),
            (23, 0xff, Some(0xff00_0000_0000_1122)),
            (10, 0xff, Some(0x1122)),
            (15, 0xff, Some(0x1122)),
            (12, 0x07, None),
            (0, b'v', None),
            (8, 0x02, None),
            (9, 0x01, None),
            (5, 0x00, None),
        ];
        for (offset, byte, expected) in cases {
            let mut bytes = GOOD;
            bytes[offset] = byte;
            assert_eq!(parse(&bytes), expected, "{byte:#x} at {offset}");
        }
    }

    #[test]
    fn a_part_of_the_structure_says_nothing() {
        for length in 0..BYTES {
            assert_eq!(parse(&GOOD[..length]), None, "{length} bytes");
        }
        assert_eq!(parse(&[GOOD, [0xff; BYTES]].concat()), Some(0x1122));
    }
}
