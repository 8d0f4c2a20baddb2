//! The name of the machine, by the C library.
#![expect(unsafe_code, reason = "asks the C library")]

use super::MACHINE_NAME_BYTES;

pub(crate) fn machine_name(buffer: &mut [u8; MACHINE_NAME_BYTES]) {
    // Leave the last byte zero: `gethostname` may omit the NUL byte of a truncated name.
    // SAFETY: the function writes at most as many bytes as the second argument says.
    let _no_name = unsafe { libc::gethostname(buffer.as_mut_ptr().cast(), buffer.len() - 1) };
}
