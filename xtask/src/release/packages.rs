//! The files and fields that every published package has, and a rehearsal of publishing it.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::{env, fs};

use serde_json::Value;

use crate::files;
use crate::run::{cargo, root, run, target};
use crate::workspace::{self, Package};

/// Each package has copies of these, since a link would not survive a checkout on Windows.
const LICENCES: [&str; 2] = ["LICENSE-MIT", "LICENSE-APACHE"];
/// Fields of the manifest, by their names in `cargo metadata`.
const FIELDS: [&str; 9] = [
    "description",
    "documentation",
    "readme",
    "license",
    "rust_version",
    "authors",
    "keywords",
    "categories",
    "metadata",
];

/// Checks the files and fields of every published package, then packs and compiles each as its
/// users would.
pub(crate) fn check() -> Result<(), String> {
    let packages = workspace::published()?;
    let faults: Vec<_> = packages.iter().flat_map(faults).collect();
    if !faults.is_empty() {
        return Err(faults.join("\n"));
    }
    if packages.iter().any(|package| is_empty(package.field("repository"))) {
        eprintln!("\nNOT READY TO PUBLISH: Cargo.toml has no address of the repository");
    }
    let target = target().join("rehearsal");
    forget_rehearsal(&packages, &target)?;
    // A change need not be committed to be checked.
    let rehearsal = ["publish", "--workspace", "--dry-run", "--allow-dirty", "--target-dir"];
    run(cargo(&rehearsal).arg(target))
}

/// Removes the files of an earlier rehearsal. Cargo takes a package that was unpacked or compiled
/// then for the one that it has just packed, since both have one version.
fn forget_rehearsal(packages: &[Package], target: &Path) -> Result<(), String> {
    remove(target)?;
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let Some(home) = home.or_else(|| Some(env::home_dir()?.join(".cargo"))) else { return Ok(()) };
    let registries = fs::read_dir(home.join("registry/src")).into_iter().flatten().flatten();
    // A rehearsal's registry is a folder, so it has no host before the hyphen.
    let rehearsals = registries.filter(|entry| entry.file_name().as_encoded_bytes()[0] == b'-');
    for rehearsal in rehearsals {
        for package in packages {
            let version = package.field("version").as_str().unwrap_or_default();
            let unpacked = rehearsal.path().join(format!("{}-{version}", package.name()));
            remove(&unpacked)?;
        }
    }
    Ok(())
}

fn remove(folder: &Path) -> Result<(), String> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(format!("can't remove {}: {error}", folder.display()))
        }
        _ => Ok(()),
    }
}

fn faults(package: &Package) -> Vec<String> {
    let missing = FIELDS.iter().filter(|name| is_empty(package.field(name)));
    let mut faults: Vec<_> =
        missing.map(|name| format!("{}: no {name} in Cargo.toml", package.name())).collect();
    let folder = package.folder();
    if package.field("readme") != "README.md" {
        faults.push(format!("{}: its readme is not its own README.md", package.name()));
    }
    if !folder.join("README.md").is_file() {
        faults.push(format!("{}: no README.md", package.name()));
    }
    let version = package.field("version").as_str().unwrap_or_default();
    if !files::read(&folder.join("CHANGELOG.md")).is_ok_and(|text| has_entry(&text, version)) {
        faults.push(format!("{}: its CHANGELOG.md has no entry for {version}", package.name()));
    }
    for name in LICENCES {
        let text = files::read(&folder.join(name));
        if text.is_err() || text != files::read(&root().join(name)) {
            faults.push(format!("{}: its {name} is not a copy of the root's", package.name()));
        }
    }
    if !package.has_library() {
        return faults;
    }
    // The README's example is compiled as a test of the library.
    let library = files::read(&folder.join("src/lib.rs")).unwrap_or_default();
    if !library.contains("include_str!(\"../README.md\")") {
        faults.push(format!("{}: the example in its README is not compiled", package.name()));
    }
    faults
}

/// Returns whether a changelog has a heading for the version, or for what is not released yet.
fn has_entry(changelog: &str, version: &str) -> bool {
    changelog.lines().filter_map(|line| line.strip_prefix("## ")).any(|heading| {
        heading.split_whitespace().any(|word| {
            let word = word.trim_matches(['[', ']']);
            word == version || word == "Unreleased"
        })
    })
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(values) => values.is_empty(),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changelog_names_the_version_or_unreleased_changes() {
        assert!(has_entry("# Changes\n\n## [0.1.0] - 2026-11-23\n", "0.1.0"));
        assert!(has_entry("## Unreleased\n", "0.1.0"));
        for text in ["", "0.1.0\n", "# 0.1.0\n", "## 0.1.00\n"] {
            assert!(!has_entry(text, "0.1.0"), "{text}");
        }
    }

    #[test]
    fn absent_fields_are_found() {
        for text in ["null", "[]", "\"\""] {
            assert!(is_empty(&serde_json::from_str(text).unwrap()), "{text}");
        }
        for text in ["[1]", "\"a\"", "{}"] {
            assert!(!is_empty(&serde_json::from_str(text).unwrap()), "{text}");
        }
    }
}
