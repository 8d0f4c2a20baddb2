//! Every public type has its auto traits asserted.
//!
//! The compiler names the types: they are read from rustdoc's JSON, along all re-exports. Whether
//! the test names a type is read from the test's text. An assertion that no target compiles, behind
//! a `cfg`, would pass.

use std::collections::HashMap;

use serde_json::Value;

use crate::files;
use crate::run::{cargo, run, target};
use crate::workspace::{self, Package};

/// The test of each package that names all its public types.
const TEST: &str = "tests/it/auto_traits.rs";

/// Checks that the test of auto traits names every public type of every published package.
pub(crate) fn check() -> Result<(), String> {
    let mut missing = Vec::new();
    for package in workspace::published()?.into_iter().filter(Package::has_library) {
        let test = files::read(&package.folder().join(TEST))?;
        let types = public_types(&package)?;
        if types.is_empty() {
            return Err(format!("{}: rustdoc lists no public type", package.name()));
        }
        let unnamed = types.into_iter().filter(|path| !is_named(&test, &library(&package), path));
        missing.extend(unnamed.map(|path| format!("{} lacks {path}", package.name())));
    }
    if missing.is_empty() { Ok(()) } else { Err(format!("{TEST} of {}", missing.join("; of "))) }
}

/// Returns the name of a package's crate.
fn library(package: &Package) -> String {
    package.name().replace('-', "_")
}

/// Returns the paths of a package's public types, without the crate's name.
fn public_types(package: &Package) -> Result<Vec<String>, String> {
    let mut rustdoc = cargo(&["rustdoc", "--quiet", "--lib", "--all-features", "--package"]);
    rustdoc.args([package.name(), "--", "-Z", "unstable-options", "--output-format", "json"]);
    // The JSON is unstable. Build scripts look for the variable, so that in the folder of the other
    // steps everything would be built again, twice.
    let target = target().join("public-types");
    run(rustdoc.env("RUSTC_BOOTSTRAP", "1").env("CARGO_TARGET_DIR", &target))?;
    let file = target.join("doc").join(format!("{}.json", library(package)));
    let json: Value = serde_json::from_str(&files::read(&file)?)
        .map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(types(&json))
}

/// Returns the paths of the public types in rustdoc's JSON.
fn types(json: &Value) -> Vec<String> {
    let Some(index) = json["index"].as_object() else { return Vec::new() };
    let index: HashMap<_, _> = index.iter().map(|(id, item)| (id.clone(), item)).collect();
    let mut found = Vec::new();
    walk(&index, &json["root"], "", &mut found);
    found.sort();
    found.dedup();
    found
}

/// Adds the types of a module, or the type itself, to `found`. `path` ends with `::` or is empty.
fn walk(index: &HashMap<String, &Value>, id: &Value, path: &str, found: &mut Vec<String>) {
    let Some(item) = index.get(&id.to_string()) else { return };
    let Some((kind, inner)) = item["inner"].as_object().and_then(|inner| inner.iter().next())
    else {
        return;
    };
    let name = item["name"].as_str().unwrap_or_default();
    match kind.as_str() {
        "module" => {
            let is_root = inner["is_crate"] == true;
            let path = if is_root { String::new() } else { format!("{path}{name}::") };
            for id in inner["items"].as_array().into_iter().flatten() {
                walk(index, id, &path, found);
            }
        }
        "use" if inner["is_glob"] == true => {
            let module = index.get(&inner["id"].to_string());
            let items = module.map(|module| &module["inner"]["module"]["items"]);
            for id in items.and_then(Value::as_array).into_iter().flatten() {
                walk(index, id, path, found);
            }
        }
        "use" => {
            let mut target = Vec::new();
            walk(index, &inner["id"], path, &mut target);
            let own = index.get(&inner["id"].to_string()).and_then(|item| item["name"].as_str());
            let (own, exported) = (own.unwrap_or_default(), inner["name"].as_str());
            found.extend(target.into_iter().map(|found| renamed(path, &found, own, exported)));
        }
        "struct" | "enum" | "union" => found.push(format!("{path}{name}")),
        _ => {}
    }
}

/// Returns `found` with the name that a `use` in `path` exports it by. `own` is its own name.
fn renamed(path: &str, found: &str, own: &str, exported: Option<&str>) -> String {
    let after = found.strip_prefix(path).and_then(|rest| rest.strip_prefix(own));
    match (exported, after) {
        (Some(exported), Some(after)) => format!("{path}{exported}{after}"),
        _ => found.to_owned(),
    }
}

/// Returns whether an assertion in a test names the type by this path, with or without the crate's
/// name. Comments, bounds and arguments of types name nothing.
fn is_named(test: &str, library: &str, path: &str) -> bool {
    let code: Vec<_> = test.lines().filter_map(|line| line.split("//").next()).collect();
    let code = code.join("\n");
    let after = code.split("assert_implements!(").skip(1);
    let mut assertions = after.filter_map(|text| text.split_once(");")).map(|(inside, _)| inside);
    assertions.any(|inside| names(inside, library, path))
}

/// Returns whether a list of types names this one.
fn names(list: &str, library: &str, path: &str) -> bool {
    let mut depth = 0;
    let mut outside = |c: char| {
        depth += i32::from(matches!(c, '<' | '[')) - i32::from(matches!(c, '>' | ']'));
        if depth == 0 { c } else { ' ' }
    };
    let list: String = list.chars().map(&mut outside).collect();
    let is_of_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    list.split(|c| !is_of_path(c)).any(|found| {
        let inside = found.strip_prefix(library).and_then(|rest| rest.strip_prefix("::"));
        inside.unwrap_or(found) == path
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_types_are_found_where_they_are_exported() {
        let json = r#"{"root": 0, "index": {
            "0": {"name": "tach", "inner": {"module": {"is_crate": true, "items": [1, 3, 5, 8, 9]}}},
            "1": {"name": "room", "inner": {"module": {"is_crate": false, "items": [2]}}},
            "2": {"name": "A", "inner": {"struct": {}}},
            "3": {"inner": {"use": {"id": 4, "name": "B", "is_glob": false}}},
            "4": {"name": "B", "inner": {"enum": {}}},
            "5": {"inner": {"use": {"id": 6, "name": "private", "is_glob": true}}},
            "6": {"name": "private", "inner": {"module": {"is_crate": false, "items": [7]}}},
            "7": {"name": "C", "inner": {"union": {}}},
            "8": {"name": "f", "inner": {"function": {}}},
            "9": {"inner": {"use": {"id": 10, "name": "D", "is_glob": false}}},
            "10": {"name": "Private", "inner": {"struct": {}}}
        }}"#;
        assert_eq!(types(&serde_json::from_str(json).unwrap()), ["B", "C", "D", "room::A"]);
    }

    #[test]
    fn a_type_is_named_by_its_path() {
        let is_named = |test, path| super::is_named(test, "tach_core", path);
        assert!(is_named("assert_implements!([Send] A, room::B);", "A"));
        assert!(is_named("assert_implements!([Send] A<()>, tach_core::B);", "B"));
        assert!(is_named("assert_implements!([Send] tach_core::room::B);", "room::B"));
        assert!(!is_named("assert_implements!([Send] room::B);", "B"));
        assert!(!is_named("assert_implements!([Send] AB, BA);", "A"));
        assert!(!is_named("assert_implements!([Send] B<A>, C<()>);", "A"));
        assert!(!is_named("assert_implements!([From<A>] B);", "A"));
        assert!(!is_named("assert_implements!([Send]\n    // A,\n    B,\n);", "A"));
        assert!(!is_named("// assert_implements!([Send] A);", "A"));
        assert!(!is_named("use A; assert_implements!([Send] B); A::f();", "A"));
    }
}
