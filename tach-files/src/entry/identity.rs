//! The numbers of a volume and of a file on it, on Windows.

use std::fs::File;
use std::os::windows::fs::OpenOptionsExt as _;
use std::path::Path;

/// `FILE_FLAG_BACKUP_SEMANTICS` and `FILE_FLAG_OPEN_REPARSE_POINT`: folders and links are opened
/// themselves.
const ANYTHING: u32 = 0x0200_0000 | 0x0020_0000;

pub(super) fn of(file: &File) -> Option<(u64, u64)> {
    let found = winapi_util::file::information(file).ok()?;
    // ReFS has longer numbers, and says so by this one.
    let index = Some(found.file_index()).filter(|index| *index != u64::MAX)?;
    Some((found.volume_serial_number(), index))
}

/// Returns `None` also if the system refuses the question.
pub(super) fn at(path: &Path) -> Option<(u64, u64)> {
    // Without any access: whoever has the file open can't forbid that.
    of(&File::options().access_mode(0).custom_flags(ANYTHING).open(path).ok()?)
}
