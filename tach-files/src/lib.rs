//! Files for logs and dumps, in folders where other users may write too.
//!
//! A program that logs as root into a service's folder shares the folder with the service's user.
//! That user may put a link where the program will create a file, and so have the program write
//! to, compress or delete another file. The types here never follow a link that was put there:
//!
//! - [`Place`] resolves the links of a path once. Later calls open the resolved path, and fail
//!   where a link has taken the place of one of its folders.
//! - [`Folder`] is an open folder. Its methods take names, follow no link, and touch only regular
//!   files.
//! - [`Entry`] is the meaning of a name in a folder: the kind of file, its owner, its links.
//! - [`Access`] is the rights to a new file: its mode, its owner and more.
//! - [`try_lock`] and [`try_lock_shared`] are locks, for processes that use one file.
//! - `PrivateFolder` is a folder that only one user may access, for files that hold secrets (on
//!   Linux).
//!
//! ```
//! use std::io::Write as _;
//!
//! use tach_files::{Access, Place};
//!
//! # let folder = std::env::temp_dir().join(format!("tach-files-{}", std::process::id()));
//! # std::fs::create_dir(&folder)?;
//! # let path = folder.join("app.log");
//! let place = Place::of(&path)?;
//! let folder = place.folder()?;
//! let mut file = folder.append(place.name(), &Access::at_most(0o640))?;
//! writeln!(file, "ready")?;
//! # std::fs::remove_dir_all(path.parent().unwrap())?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # Platform-specific behavior
//!
//! On Unix all of this holds. Elsewhere the paths are opened as they are: on Windows, only
//! administrators create links, unless the developer mode is on.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod access;
mod create;
mod entry;
mod folder;
mod lock;
mod os;
mod place;
#[cfg(target_os = "linux")]
mod private;
mod rights;

pub use self::access::Access;
pub use self::create::{check_create, create, open_special};
pub use self::entry::Entry;
pub use self::folder::Folder;
pub use self::lock::{try_lock, try_lock_shared, unlock};
pub use self::place::{Place, resolve};
#[cfg(target_os = "linux")]
pub use self::private::{PrivateFolder, give_back, reserve};

/// The example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
