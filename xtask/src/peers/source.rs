//! The places that peers' files come from.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::cache;
use crate::run::{cargo, output, program};

pub(crate) enum Source {
    /// A crate that the peer's package names as a dependency. The package's `Cargo.lock` holds the
    /// checksum, and cargo downloads it.
    Registry(&'static str),
    /// A folder of a Debian package. apt downloads it and checks its signature.
    Debian { package: &'static str, version: &'static str, folder: &'static str },
}

/// A peer's sources, or why this system has none.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    At(PathBuf),
    Nowhere(String),
}

/// The status of `setup.sh` where there is no such package.
const UNAVAILABLE: i32 = 69;

impl Source {
    /// Downloads the sources, unless that was done before, and returns their folder.
    pub(crate) fn find(&self, manifest: &Path) -> Result<Found, String> {
        match self {
            Self::Registry(name) => {
                let mut metadata = cargo(&["metadata", "--locked", "--format-version", "1"]);
                let metadata = output(metadata.arg("--manifest-path").arg(manifest))?;
                folder_of(name, &metadata).map(Found::At)
            }
            Self::Debian { package, version, folder } => {
                let home = cache::folder("TACH_PEERS_HOME", "tach-peers")?;
                let mut setup = program("bash", &["xtask/peers/setup.sh", package, version]);
                setup.arg(format!("./{folder}/*")).env("TACH_PEERS_HOME", &home);
                match setup.status().map(|status| status.code()) {
                    Ok(Some(0)) => {
                        Ok(Found::At(home.join(format!("{package}-{version}")).join(folder)))
                    }
                    Ok(Some(UNAVAILABLE)) => {
                        Ok(Found::Nowhere(format!("apt has no {package} {version} here")))
                    }
                    Ok(_) => Err(format!("{package} can't be had: see the output above")),
                    Err(error) => Ok(Found::Nowhere(format!("can't start bash: {error}"))),
                }
            }
        }
    }
}

/// Returns the folder of a package that `cargo metadata` describes.
fn folder_of(name: &str, metadata: &str) -> Result<PathBuf, String> {
    let metadata: Value = serde_json::from_str(metadata)
        .map_err(|error| format!("the output of cargo metadata: {error}"))?;
    let mut packages = metadata["packages"].as_array().into_iter().flatten();
    let package = packages.find(|package| {
        // Skip a peer that is compiled itself: it has the same name, but no registry.
        package["name"] == name && package["source"].is_string()
    });
    let manifest = package.and_then(|package| package["manifest_path"].as_str()).map(Path::new);
    let folder = manifest.and_then(Path::parent).map(Path::to_owned);
    folder.ok_or_else(|| format!("cargo metadata lists no package {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_found_by_its_name() {
        let metadata = r#"{"packages": [
            {"name": "a-b", "manifest_path": "/r/a-b-1/Cargo.toml", "source": "r"},
            {"name": "a", "manifest_path": "/target/a/Cargo.toml", "source": null},
            {"name": "a", "manifest_path": "/r/a-2/Cargo.toml", "source": "r"}
        ]}"#;
        assert_eq!(folder_of("a", metadata), Ok(PathBuf::from("/r/a-2")));
        assert!(folder_of("b", metadata).is_err());
        assert!(folder_of("a", "{}").is_err());
    }
}
