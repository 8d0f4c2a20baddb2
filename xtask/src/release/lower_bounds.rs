//! The oldest versions of dependencies that the manifests allow.

use std::path::PathBuf;

use crate::files;
use crate::run::{cargo, root, run, target};
use crate::workspace::{self, Package};

/// Checks the published libraries with every direct dependency at the lowest version that its
/// requirement allows. Dependencies that only other platforms need are resolved, but not compiled.
/// (Nobody chooses old versions for a program.)
pub(crate) fn check() -> Result<(), String> {
    let sources = locked()?;
    let mut check = cargo(&["check", "--locked", "--workspace", "--all-features"]);
    run(check.current_dir(sources).arg("--target-dir").arg(folder().join("target")))
}

fn folder() -> PathBuf {
    target().join("lower-bounds")
}

/// Copies the packages, and locks the lowest versions. Returns the copy's folder.
///
/// The copies have no dev-dependencies, whose bounds nobody but this workspace meets.
pub(super) fn locked() -> Result<PathBuf, String> {
    let sources = folder().join("packages");
    files::fresh_folder(&sources)?;
    let mut members = Vec::new();
    for package in workspace::published()?.into_iter().filter(Package::has_library) {
        let to = sources.join(package.name());
        files::copy_folder(&package.folder().join("src"), &to.join("src"))?;
        let manifest = files::read(&package.folder().join("Cargo.toml"))?;
        files::write(&to.join("Cargo.toml"), &without_tests(&manifest))?;
        members.push(package.name().to_owned());
    }
    let manifest = with_members(&files::read(&root().join("Cargo.toml"))?, &members);
    files::write(&sources.join("Cargo.toml"), &manifest)?;
    // The option is unstable, and this variable allows it. It is not set for the compiler, because
    // build scripts look for it.
    let lock = ["-Z", "direct-minimal-versions", "generate-lockfile"];
    run(cargo(&lock).current_dir(&sources).env("RUSTC_BOOTSTRAP", "1"))?;
    Ok(sources)
}

/// Returns a package's manifest without dev-dependencies and test targets.
fn without_tests(manifest: &str) -> String {
    let mut is_kept = true;
    let mut kept = String::new();
    for line in manifest.split_inclusive('\n') {
        if line.starts_with('[') {
            is_kept = !line.contains("dev-dependencies]") && !line.starts_with("[[");
        }
        if is_kept {
            kept.push_str(line);
        }
    }
    kept
}

/// Returns the workspace's manifest with these members and no others.
fn with_members(manifest: &str, members: &[String]) -> String {
    let members = format!("members = {members:?}\n");
    let mut kept = String::new();
    let mut is_list = false;
    for line in manifest.split_inclusive('\n') {
        is_list |= line.starts_with("members = [") || line.starts_with("exclude = [");
        if !is_list {
            kept.push_str(line);
        }
        is_list &= !line.trim_end().ends_with(']');
        if line.trim_end() == "[workspace]" {
            kept.push_str(&members);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_no_tests_and_their_dependencies() {
        let manifest = "[package]\nname = \"a\"\n[dependencies]\nb = \"1\"\n\
            [target.'cfg(unix)'.dev-dependencies]\nc = \"1\"\n[target.'cfg(unix)'.dependencies]\n\
            d = \"1\"\n[dev-dependencies]\ne = \"1\"\n[[test]]\nname = \"f\"\n[lints]\n\
            workspace = true\n";
        let expected = "[package]\nname = \"a\"\n[dependencies]\nb = \"1\"\n\
            [target.'cfg(unix)'.dependencies]\nd = \"1\"\n[lints]\nworkspace = true\n";
        assert_eq!(without_tests(manifest), expected);
    }

    #[test]
    fn a_copy_has_the_published_members_alone() {
        let manifest = "[workspace]\nresolver = \"3\"\nmembers = [\n    \"a\",\n    \"b\",\n]\n\
            exclude = [\"c\"]\n\n[workspace.dependencies]\nd = { features = [\"e\"] }\n";
        let expected = "[workspace]\nmembers = [\"a\"]\nresolver = \"3\"\n\n\
            [workspace.dependencies]\nd = { features = [\"e\"] }\n";
        assert_eq!(with_members(manifest, &["a".to_owned()]), expected);
    }
}
