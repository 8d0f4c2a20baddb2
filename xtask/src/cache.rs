//! Folders that keep what a task has downloaded and built.

use std::env;
use std::path::PathBuf;

use crate::run::root;

/// The folder that `variable` names, or else the one of that name among the user's caches.
pub(crate) fn folder(variable: &str, name: &str) -> Result<PathBuf, String> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set(variable)
        .or_else(|| Some(set("XDG_CACHE_HOME")?.join(name)))
        .or_else(|| Some(set("HOME")?.join(".cache").join(name)))
        // Relative to the folder that all commands run in.
        .map(|home| root().join(home))
        .ok_or_else(|| format!("no folder to keep downloads in: set {variable}"))
}
