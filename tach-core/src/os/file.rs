//! The start of a small file, without the standard library.
#![expect(unsafe_code, reason = "calls open, read and close")]

use core::ffi::{CStr, c_int};
use core::str;

/// Returns the bytes of one read, at most as many as the buffer holds, or `None` if the file can't
/// be read.
///
/// The kernel generates the content of its files anew for each read, and returns it whole: a second
/// read could join two versions.
pub(super) fn read<'a>(path: &CStr, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
    let file = open(path)?;
    // SAFETY: the pointer is valid for `buffer.len()` bytes.
    let length = unsafe { libc::read(file, buffer.as_mut_ptr().cast(), buffer.len()) };
    // SAFETY: the descriptor was opened above, and no other code has it.
    unsafe {
        libc::close(file);
    }
    buffer.get(..usize::try_from(length).ok()?)
}

/// Returns a file's first line without the blanks around it. Returns `None` if it can't be read, is
/// blank, is not UTF-8, or exceeds the buffer, since half a word can mean another.
pub(super) fn read_line<'a>(path: &CStr, buffer: &'a mut [u8]) -> Option<&'a str> {
    let room = buffer.len();
    let bytes = read(path, buffer)?;
    let (line, ended) = match bytes.iter().position(|&byte| byte == b'\n') {
        Some(end) => (&bytes[..end], true),
        None => (bytes, bytes.len() < room),
    };
    let line = str::from_utf8(line.trim_ascii()).ok()?;
    (ended && !line.is_empty()).then_some(line)
}

fn open(path: &CStr) -> Option<c_int> {
    // SAFETY: the path ends with a NUL byte.
    let file = unsafe { libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    (file >= 0).then_some(file)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{MISSING, fixture};
    use super::*;

    #[test]
    fn a_file_is_read_to_its_end_or_the_buffers() {
        for (content, expected) in [("", ""), ("abc", "abc"), ("abcd", "abcd"), ("abcde", "abcd")] {
            let (_file, path) = fixture(content.as_bytes());
            assert_eq!(read(&path, &mut [0; 4]), Some(expected.as_bytes()), "{content:?}");
        }
    }

    #[test]
    fn a_line_is_whole_or_none() {
        let cases: [(&[u8], Option<&str>); 11] = [
            (b"tsc\n", Some("tsc")),
            (b"tsc", Some("tsc")),
            (b" tsc \n", Some("tsc")),
            (b"tsc\nhpet\n", Some("tsc")),
            (b"tsc\n\xff\xfe\xfd", Some("tsc")),
            (b"", None),
            (b"\n", None),
            (b" \ntsc\n", None),
            (b"\xff\xfe\n", None),
            (b"tsc tsc-early\n", None),
            (b"12345678", None),
        ];
        for (content, expected) in cases {
            let (_file, path) = fixture(content);
            assert_eq!(read_line(&path, &mut [0; 8]), expected, "{content:?}");
        }
        for unreadable in [MISSING, c"/"] {
            assert_eq!(read_line(unreadable, &mut [0; 8]), None, "{unreadable:?}");
        }
    }
}
