//! Reads and writes at a place of a file.

use std::fs::File;
use std::io;

/// Returns the length of the part that was read, which is less at the end of the file.
///
/// # Errors
///
/// If the file can't be read.
pub(super) fn read_at(file: &File, to: &mut [u8], at: u64) -> io::Result<usize> {
    let mut done = 0;
    while let Some(rest) = to.get_mut(done..).filter(|rest| !rest.is_empty()) {
        let at = at + done as u64;
        #[cfg(unix)]
        let read = std::os::unix::fs::FileExt::read_at(file, rest, at);
        #[cfg(windows)]
        let read = std::os::windows::fs::FileExt::seek_read(file, rest, at);
        match read {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

/// # Errors
///
/// If that fails. A part may have been written.
pub(super) fn write_all_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    let mut done = 0;
    while let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty()) {
        let at = at + done as u64;
        #[cfg(unix)]
        let written = std::os::unix::fs::FileExt::write_at(file, rest, at);
        #[cfg(windows)]
        let written = std::os::windows::fs::FileExt::seek_write(file, rest, at);
        match written {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
