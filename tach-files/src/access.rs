//! The rights to a new file.

/// The rights to a new file: the mode, the owner and, on Linux, the access control list and the
/// security label. Only Unix has them.
///
/// # Examples
///
/// ```
/// use tach_files::Access;
///
/// // For the owner and the group, less the umask.
/// let usual = Access::at_most(0o640);
/// // Only for the owner, whatever the umask.
/// let private = Access::exactly(0o600);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    pub(crate) mode: u32,
    /// Whether the umask does not apply.
    pub(crate) is_exact: bool,
    /// The ids of the user and of the group, if they are not the process's.
    pub(crate) owner: Option<(u32, u32)>,
    /// The access control list, in the kernel's format.
    pub(crate) list: Option<Vec<u8>>,
    pub(crate) label: Option<Vec<u8>>,
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
        let mut access = Self::exactly(mode);
        access.is_exact = false;
        access
    }

    /// Creates the access of a file with this mode that belongs to the process's user.
    ///
    /// # Examples
    ///
    /// See [`Access`].
    #[must_use]
    pub const fn exactly(mode: u32) -> Self {
        Self { mode: mode & 0o777, is_exact: true, owner: None, list: None, label: None }
    }
}
