//! The interface of each published package, compared with a recorded list.
//!
//! `xtask/api/NAME.txt` lists every item, those of the hidden modules `adapter` too, by which
//! published packages use each other: a requirement such as `^0.1.0` accepts each release that
//! calls itself compatible. So a line that a release has and the next one lacks is a breaking
//! change, in either kind of module.

mod auto_traits;

use std::path::{Path, PathBuf};

use crate::files;
use crate::run::{cargo, output, program, root, run, target};
use crate::workspace::{self, Package};

/// The test of each package that names all its public types.
const TEST: &str = "tests/it/auto_traits.rs";

/// Set for this program when cargo runs it as rustdoc.
const AS_RUSTDOC: &str = "TACH_XTASK_AS_RUSTDOC";

/// What becomes of the recorded lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lists {
    Compared,
    Written,
}

/// A line of a list.
pub(super) struct Item(String);

impl Item {
    /// Returns the path of a struct, an enum or a union, without the crate's name.
    fn type_path(&self, library: &str) -> Option<&str> {
        // Attributes such as `#[non_exhaustive]` come first.
        let (_attributes, item) = self.0.split_once("pub ")?;
        let (kind, item) = item.split_once(' ')?;
        if !["struct", "enum", "union"].contains(&kind) {
            return None;
        }
        let path = item.strip_prefix(library)?.strip_prefix("::")?;
        path.split(['<', '(', ' ']).next()
    }
}

/// Compares the interface of every published package with its list, or writes the list. Checks that
/// the test of auto traits names every public type, and that a version says whether it breaks users
/// of the last release.
pub(crate) fn check(lists: Lists) -> Result<(), String> {
    let mut faults = Vec::new();
    for package in workspace::published()?.into_iter().filter(Package::has_library) {
        let library = package.name().replace('-', "_");
        let items = items(&package, &library)?;
        let test = files::read(&package.folder().join(TEST))?;
        let unnamed = auto_traits::unnamed(&items, &library, &test);
        faults.extend(
            unnamed.iter().map(|path| format!("{TEST} of {} lacks {path}", package.name())),
        );
        let list: String = items.iter().flat_map(|item| [&*item.0, "\n"]).collect();
        let path = path_of(&package);
        if lists == Lists::Written {
            files::write(&root().join(&path), &list)?;
        } else if let Some(changes) = changes(&files::read(&root().join(&path))?, &list) {
            let remedy = "run `cargo xtask api --write` if that is meant";
            faults.push(format!("{} changed; {remedy}:\n{changes}", path.display()));
        }
        faults.extend(broken(&package, &list)?);
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

fn path_of(package: &Package) -> PathBuf {
    Path::new("xtask/api").join(package.name()).with_extension("txt")
}

/// Returns the items of a package's library, as rustdoc sees them.
fn items(package: &Package, library: &str) -> Result<Vec<Item>, String> {
    let mut rustdoc = cargo(&["rustdoc", "--quiet", "--lib", "--all-features", "--package"]);
    rustdoc.args([package.name(), "--", "-Z", "unstable-options", "--output-format", "json"]);
    rustdoc.arg("--document-hidden-items");
    let this = std::env::current_exe().map_err(|error| format!("no path of xtask: {error}"))?;
    run(rustdoc.env("RUSTDOC", this).env(AS_RUSTDOC, "1"))?;
    let file = target().join("doc").join(library).with_extension("json");
    let api = public_api::Builder::from_rustdoc_json(&file)
        .omit_auto_derived_impls(true)
        .omit_auto_trait_impls(true)
        .omit_blanket_impls(true)
        .build()
        .map_err(|error| {
            let remedy = "for another Rust, take the version of public-api that reads its JSON";
            format!("{}: {error}; {remedy}", file.display())
        })?;
    let items: Vec<_> = api.items().map(|item| Item(item.to_string())).collect();
    if items.is_empty() { Err(format!("{library} has no item")) } else { Ok(items) }
}

/// Runs rustdoc if cargo started this program in its place, and returns whether it succeeded.
///
/// The JSON is unstable. The variable that allows it is set for rustdoc alone, because build
/// scripts look for it: set for cargo, it would have all dependencies built again.
pub(crate) fn rustdoc() -> Option<bool> {
    std::env::var_os(AS_RUSTDOC)?;
    let mut rustdoc = std::process::Command::new("rustdoc");
    let status = rustdoc.args(std::env::args_os().skip(1)).env("RUSTC_BOOTSTRAP", "1").status();
    Some(status.is_ok_and(|status| status.success()))
}

/// Returns the lines that only one of two lists has, or `None` if they are equal.
fn changes(old: &str, new: &str) -> Option<String> {
    let without = |list: &str, lines: &str, sign: &str| -> Vec<String> {
        let lines: Vec<_> = lines.lines().collect();
        let only = list.lines().filter(|line| !lines.contains(line));
        only.map(|line| format!("  {sign}{line}")).collect()
    };
    let all = [without(old, new, "-"), without(new, old, "+")].concat();
    (old != new).then(|| all.join("\n"))
}

/// Returns the fault of a version that is compatible with the last release by its number, though
/// lines of that release's list are gone.
fn broken(package: &Package, new: &str) -> Result<Option<String>, String> {
    let tags = format!("{}-v*", package.name());
    let tags = output(&mut program("git", &["tag", "--list", &tags, "--sort=-version:refname"]))?;
    let Some(tag) = tags.lines().next() else {
        // A clone without tags has nothing to compare with.
        let changelog = files::read(&package.folder().join("CHANGELOG.md"))?;
        let is_released = changelog.lines().any(|line| line.starts_with("## ["));
        let fault = || format!("{}: a version is released, but no tag is here", package.name());
        return Ok(is_released.then(fault));
    };
    let list = format!("{tag}:{}", path_of(package).display());
    let old = output(&mut program("git", &["show", &list]))?;
    let released = tag.rsplit_once("-v").map_or("", |(_, version)| version);
    let version = package.field("version").as_str().unwrap_or_default();
    let gone: Vec<_> = old.lines().filter(|old| !new.lines().any(|new| new == *old)).collect();
    let is_fault = !gone.is_empty() && series(version) == series(released);
    let fault =
        || format!("{} {version} breaks users of {tag}: {}", package.name(), gone.join("\n"));
    Ok(is_fault.then(fault))
}

/// Returns the part of a version that a breaking release raises.
fn series(version: &str) -> &str {
    let parts = if version.starts_with("0.") { 2 } else { 1 };
    let end = version.match_indices('.').nth(parts - 1).map_or(version.len(), |(at, _)| at);
    &version[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_a_struct_or_an_enum_or_a_union() {
        for (item, expected) in [
            ("pub struct a::B", Some("B")),
            ("#[non_exhaustive] pub enum a::room::B<'a>", Some("room::B")),
            ("pub struct a::B(pub u8)", Some("B")),
            ("pub union a::B", Some("B")),
            ("pub fn a::b(a::B)", None),
            ("pub a::B::field: u8", None),
            ("pub struct ab::B", None),
        ] {
            assert_eq!(Item(item.to_owned()).type_path("a"), expected, "{item}");
        }
    }

    #[test]
    fn lists_differ_in_lines_or_in_their_order() {
        assert_eq!(changes("a\nb\n", "a\nb\n"), None);
        assert_eq!(changes("a\nb\n", "b\nc\n").as_deref(), Some("  -a\n  +c"));
        assert_eq!(changes("a\nb\n", "b\na\n").as_deref(), Some(""));
    }

    #[test]
    fn a_breaking_release_raises_the_first_number_that_is_not_zero() {
        assert_eq!(series("0.1.9"), "0.1");
        assert_eq!(series("0.2.0-rc.1"), "0.2");
        assert_eq!(series("1.2.3"), "1");
        assert_eq!(series("10.2.3"), "10");
    }
}
