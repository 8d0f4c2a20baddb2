//! The system calls for folders and files.
//!
//! A back end is one file with these items. Its functions follow no link.
//!
//! - `struct Handle`: the system calls behind the methods of [`Folder`](crate::Folder).
//!   `Handle::open(path: &Path, makes: Option<u32>) -> io::Result<Self>` makes missing folders with
//!   the mode `makes`.
//! - `fn read_link(link: &Path, is_last: bool) -> io::Result<PathBuf>`: the path in a link, if the
//!   process may follow it. `is_last` if the link is the last part of its path.
//! - `fn access(file: &File) -> io::Result<Access>`: the rights to a file.
//! - `fn is_own_descriptor(path: &Path) -> bool`: whether a path names a descriptor of this
//!   process.
//! - `fn has_more_rights() -> bool`: whether this process has rights that other users lack.
//! - `fn lock(file: &File, kind: Lock) -> bool`: changes the lock of an open file without waiting.
//!   Returns `false` if another lock forbids that.

use core::fmt;

use cfg_if::cfg_if;

cfg_if! {
    if #[cfg(unix)] {
        mod unix;
        use self::unix as back_end;
    } else {
        mod other;
        use self::other as back_end;
    }
}
pub(crate) use self::back_end::{
    Handle, access, has_more_rights, is_own_descriptor, lock, read_link,
};

/// The lock of an open file.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Lock {
    None,
    Shared,
    Exclusive,
}

/// Users who may write a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(unix), expect(dead_code, reason = "only Unix names them"))]
pub(crate) enum Writers {
    Owner(u32),
    Everybody,
    /// A group, or users that an access control list names.
    Group(u32),
}

impl fmt::Display for Writers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Owner(user) => write!(f, "user {user}, its owner,"),
            Self::Everybody => f.write_str("every user"),
            Self::Group(group) => write!(f, "group {group}, or a user of its access control list,"),
        }
    }
}
