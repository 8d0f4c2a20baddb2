//! Folders that keep downloads and builds from one run to the next.

use std::env;
use std::path::PathBuf;

use crate::run::root;

/// Returns the folder that `variable` names or, if it is not set, the folder `name` among the
/// user's caches.
pub(crate) fn folder(variable: &str, name: &str) -> Result<PathBuf, String> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set(variable)
        .or_else(|| Some(set("XDG_CACHE_HOME")?.join(name)))
        .or_else(|| Some(set("HOME")?.join(".cache").join(name)))
        // Commands run in the root, so a relative path starts there.
        .map(|home| root().join(home))
        .ok_or_else(|| format!("no folder to keep downloads in: set {variable}"))
}
