//! The oldest versions of dependencies that the manifests allow.

use std::path::PathBuf;

use crate::files;
use crate::run::{cargo, output, program, root, run, target};
use crate::tools::HACK;

/// Checks the published packages with every direct dependency at the lowest version that its
/// requirement allows. Dependencies that only other platforms need are resolved, but not compiled.
pub(crate) fn check() -> Result<(), String> {
    let sources = locked()?;
    let mut check = cargo(&["check", "--locked", "--workspace", "--all-features"]);
    run(check.current_dir(sources).arg("--target-dir").arg(folder().join("target")))
}

fn folder() -> PathBuf {
    target().join("lower-bounds")
}

/// Copies the tracked files, and locks the lowest versions. Returns the copy's folder.
///
/// The copy has neither dev-dependencies nor private packages, whose bounds nobody but this
/// workspace meets.
pub(super) fn locked() -> Result<PathBuf, String> {
    let sources = folder().join("packages");
    files::fresh_folder(&sources)?;
    let tracked = output(&mut program("git", &["ls-files", "-z"]))?;
    for name in tracked.split_terminator('\0') {
        let (from, to) = (root().join(name), sources.join(name));
        // A file may be deleted and not yet committed.
        if from.is_file() {
            files::create_folder(to.parent().unwrap_or(&sources))?;
            files::copy_file(&from, &to)?;
        }
    }
    let remove = ["hack", "--workspace", "--remove-dev-deps", "--no-private"];
    run(HACK.command(&remove)?.current_dir(&sources))?;
    // The option is unstable, and this variable allows it. It is not set for the compiler, because
    // build scripts look for it.
    let lock = ["-Z", "direct-minimal-versions", "generate-lockfile"];
    run(cargo(&lock).current_dir(&sources).env("RUSTC_BOOTSTRAP", "1"))?;
    Ok(sources)
}
