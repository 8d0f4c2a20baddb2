//! The mode and the owner of a new file.

use crate::entry::Entry;

/// The mode and the owner of a new file. Only Unix has them.
///
/// # Examples
///
/// ```
/// use tach_files::Access;
///
/// // For the owner and the group, less the umask.
/// let usual = Access::at_most(0o640);
/// // For the owner alone, whatever the umask.
/// let private = Access::exactly(0o600);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    pub(crate) mode: u32,
    /// Whether the umask does not apply.
    pub(crate) is_exact: bool,
    /// The ids of the user and of the group, if they are not the process's.
    pub(crate) owner: Option<(u32, u32)>,
}

impl Access {
    /// Creates the access of a file with this mode, less the umask, that belongs to the process's
    /// user.
    ///
    /// # Examples
    ///
    /// See [`Access`].
    #[must_use]
    pub const fn at_most(mode: u32) -> Self {
        Self { mode: mode & 0o777, is_exact: false, owner: None }
    }

    /// Creates the access of a file with this mode that belongs to the process's user.
    ///
    /// # Examples
    ///
    /// See [`Access`].
    #[must_use]
    pub const fn exactly(mode: u32) -> Self {
        Self { mode: mode & 0o777, is_exact: true, owner: None }
    }

    /// Creates the access of a file with the mode and the owner of another one.
    ///
    /// If the process may not give a file to that owner, the new file belongs to the process's
    /// user, and its mode grants nobody more than the other file's did.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_files::{Access, Entry};
    ///
    /// # let path = std::env::temp_dir().join(format!("tach-files-of-{}", std::process::id()));
    /// let file = std::fs::File::create(&path)?;
    /// let same = Access::of(&Entry::of(&file)?);
    /// # std::fs::remove_file(path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub const fn of(entry: &Entry) -> Self {
        Self { mode: entry.mode, is_exact: true, owner: Some((entry.user, entry.group)) }
    }

    /// Returns the mode of a file that can't have this access's group: each user who is not the
    /// owner gets the rights that both the group and the others have.
    #[cfg_attr(not(any(unix, test)), expect(dead_code, reason = "a file has a mode on Unix alone"))]
    pub(crate) const fn narrowed(mode: u32) -> u32 {
        let both = mode >> 3 & mode & 0o7;
        mode & 0o700 | both << 3 | both
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_its_group_grants_nobody_more() {
        for (mode, narrowed) in
            [(0o640, 0o600), (0o644, 0o644), (0o604, 0o600), (0o664, 0o644), (0o777, 0o777)]
        {
            assert_eq!(Access::narrowed(mode), narrowed, "{mode:o}");
        }
    }
}
