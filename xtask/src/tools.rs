//! Tools from the registry, in one fixed version each.

use std::path::PathBuf;
use std::process::Command;

use crate::cache;
use crate::run::{cargo, program, run};

/// A cargo subcommand.
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
}

/// Runs cargo for each package and combination of features, and without what users don't have.
pub(crate) const HACK: Tool = Tool { name: "cargo-hack", version: "0.6.46" };

/// Compiles a tool faster than its own profile, which would take longer than all its runs in CI.
const QUICK_BUILD: [(&str, &str); 4] = [
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1"),
    ("CARGO_PROFILE_RELEASE_LTO", "off"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
    ("CARGO_PROFILE_RELEASE_DEBUG", "none"),
];

impl Tool {
    /// Creates a command of the tool, in the workspace's folder. Installs the tool if it is
    /// missing.
    pub(crate) fn command(&self, arguments: &[&str]) -> Result<Command, String> {
        let folder = folder(&format!("{}-{}", self.name, self.version))?;
        let file =
            folder.join("bin").join(self.name).with_extension(std::env::consts::EXE_EXTENSION);
        if !file.exists() {
            let mut install = cargo(&["install", "--locked", "--quiet", self.name]);
            install.args(["--version", &format!("={}", self.version), "--root"]).arg(&folder);
            run(install.envs(QUICK_BUILD).env_remove("CARGO_TARGET_DIR"))?;
        }
        Ok(program(&file.to_string_lossy(), arguments))
    }
}

/// Returns a folder below the one that keeps the tools: `$TACH_TOOLS_HOME`, or one of the user's
/// caches.
pub(crate) fn folder(name: &str) -> Result<PathBuf, String> {
    Ok(cache::folder("TACH_TOOLS_HOME", "tach-tools")?.join(name))
}
