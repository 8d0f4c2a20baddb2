//! Reads at a place of a file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Returns the length of the part that was read, which is less at the end of the file.
///
/// # Errors
///
/// If the file can't be read.
pub(super) fn read_at(file: &File, to: &mut [u8], at: u64) -> io::Result<usize> {
    let mut done = 0;
    while let Some(rest) = to.get_mut(done..).filter(|rest| !rest.is_empty()) {
        let at = at + done as u64;
        match FileExt::read_at(file, rest, at) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}
