//! The rights to an open file.

use std::fs::File;
use std::io;

use crate::access::Access;
use crate::os;

impl Access {
    /// Reads the access of a file, for a new file that replaces it.
    ///
    /// If the process may not give a file that owner, or that access control list, the new file's
    /// mode grants nobody more than the old file did. A label that can't be set is left to the
    /// system.
    ///
    /// # Errors
    ///
    /// If the rights can't be read.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_files::Access;
    ///
    /// # let path = std::env::temp_dir().join(format!("tach-files-of-{}", std::process::id()));
    /// let file = std::fs::File::create(&path)?;
    /// let same = Access::of(&file)?;
    /// # std::fs::remove_file(path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn of(file: &File) -> io::Result<Self> {
        os::access(file)
    }
}
