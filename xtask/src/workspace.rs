//! The packages of the workspace.

use std::path::PathBuf;

use serde_json::Value;

use crate::run::{cargo, output};

/// A package that is published. `cargo metadata` describes it.
pub(crate) struct Package(Value);

impl Package {
    pub(crate) fn name(&self) -> &str {
        self.0["name"].as_str().unwrap_or_default()
    }

    pub(crate) fn folder(&self) -> PathBuf {
        let manifest = PathBuf::from(self.0["manifest_path"].as_str().unwrap_or_default());
        manifest.parent().map(PathBuf::from).unwrap_or_default()
    }

    /// Returns whether the package has a library, and not programs alone.
    pub(crate) fn has_library(&self) -> bool {
        let targets = self.0["targets"].as_array().into_iter().flatten();
        targets.filter_map(|target| target["kind"].as_array()).flatten().any(|kind| kind == "lib")
    }

    /// Returns a field of the manifest by the name that `cargo metadata` gives it.
    pub(crate) fn field(&self, name: &str) -> &Value {
        &self.0[name]
    }
}

/// Returns the members of the workspace whose manifest does not say `publish = false`.
pub(crate) fn published() -> Result<Vec<Package>, String> {
    let metadata =
        output(&mut cargo(&["metadata", "--format-version", "1", "--no-deps", "--offline"]))?;
    packages(&metadata)
}

/// Returns the names of the published packages, each after `--package`.
pub(crate) fn arguments() -> Result<Vec<String>, String> {
    let packages = published()?;
    Ok(packages.iter().flat_map(|one| ["--package".to_owned(), one.name().to_owned()]).collect())
}

fn packages(metadata: &str) -> Result<Vec<Package>, String> {
    let mut metadata: Value = serde_json::from_str(metadata)
        .map_err(|error| format!("the output of cargo metadata: {error}"))?;
    let Value::Array(packages) = metadata["packages"].take() else {
        return Err("cargo metadata lists no packages".into());
    };
    // The list of registries that a package may go to: absent for all, empty for none.
    let is_published = |package: &Value| package["publish"] != Value::Array(Vec::new());
    Ok(packages.into_iter().filter(is_published).map(Package).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_published_unless_it_says_otherwise() {
        let metadata = r#"{"packages": [
            {"name": "a", "publish": null, "manifest_path": "/w/a/Cargo.toml",
             "targets": [{"kind": ["test"]}, {"kind": ["lib"]}]},
            {"name": "b", "publish": [], "manifest_path": "/w/b/Cargo.toml"},
            {"name": "c", "publish": ["crates-io"], "manifest_path": "/w/c/Cargo.toml",
             "targets": [{"kind": ["bin"]}]}
        ]}"#;
        let packages = packages(metadata).unwrap();
        assert_eq!(packages.iter().map(Package::has_library).collect::<Vec<_>>(), [true, false]);
        assert_eq!(packages.iter().map(Package::name).collect::<Vec<_>>(), ["a", "c"]);
        assert_eq!(packages[1].folder(), PathBuf::from("/w/c"));
        assert!(super::packages("{}").is_err());
    }
}
