//! Advisory locks, by which processes that use one file agree.
//!
//! A lock belongs to the open file and ends when it is closed. Where a file system or a platform
//! has no such locks, each call succeeds.

use std::fs::File;

use crate::os::{self, Lock};

/// Takes a shared lock, beside other shared locks. Does not wait. Returns `false` if the file has
/// an exclusive lock.
///
/// # Platform-specific behavior
///
/// By `flock` on Unix. Elsewhere there is no lock.
///
/// # Examples
///
/// ```
/// # let path = std::env::temp_dir().join(format!("tach-files-lock-{}", std::process::id()));
/// let file = std::fs::File::create(&path)?;
/// assert!(tach_files::try_lock_shared(&file));
/// # drop(file);
/// # std::fs::remove_file(path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use]
pub fn try_lock_shared(file: &File) -> bool {
    os::lock(file, Lock::Shared)
}

/// Takes an exclusive lock. Does not wait. Returns `false` if the file has a lock through another
/// open file.
///
/// # Platform-specific behavior
///
/// By `flock` on Unix. Elsewhere there is no lock.
///
/// # Examples
///
/// ```
/// use std::fs::File;
///
/// # let path = std::env::temp_dir().join(format!("tach-files-lock-x-{}", std::process::id()));
/// let (file, again) = (File::create(&path)?, File::create(&path)?);
/// assert!(tach_files::try_lock_shared(&file));
/// # #[cfg(unix)]
/// assert!(!tach_files::try_lock(&again));
/// tach_files::unlock(&file);
/// assert!(tach_files::try_lock(&again));
/// # drop((file, again));
/// # std::fs::remove_file(path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use]
pub fn try_lock(file: &File) -> bool {
    os::lock(file, Lock::Exclusive)
}

/// Ends a lock before the file is closed. A forked child has the same open file, so that closing it
/// in one process does not end the lock.
///
/// # Examples
///
/// See [`try_lock`].
pub fn unlock(file: &File) {
    let _nothing_waits = os::lock(file, Lock::None);
}
