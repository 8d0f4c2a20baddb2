//! Reads and writes at a place of a file.

use std::fs::File;
use std::io;

pub(super) fn read_at(file: &File, to: &mut [u8], at: u64) -> io::Result<usize> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::read_at(file, to, at);
    #[cfg(windows)]
    return std::os::windows::fs::FileExt::seek_read(file, to, at);
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
