//! The folder with compilers, emulators and browsers, and the commands that run them.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::cache;
use crate::run::{Priority, program, root, run, script, target};

/// Variables of the caller that are removed: they would choose another compiler, another library
/// for it or another place for tests, or make tests fail that an emulator can't run.
const FOREIGN: &[&str] = &[
    "CARGO_BUILD_RUSTC",
    "CARGO_BUILD_RUSTC_WORKSPACE_WRAPPER",
    "CARGO_BUILD_RUSTC_WRAPPER",
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_BUILD_TARGET",
    "CARGO_ENCODED_RUSTFLAGS",
    "LD_LIBRARY_PATH",
    "NODE_OPTIONS",
    "RUSTC",
    "RUSTC_BOOTSTRAP",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC_WRAPPER",
    "RUSTDOC",
    "RUSTFLAGS",
    "RUSTUP_TOOLCHAIN",
    "TACH_EXPECTED_COUNTER",
    "TACH_TESTS",
    "WASM_BINDGEN_USE_BROWSER",
    "WASM_BINDGEN_USE_DEDICATED_WORKER",
    "WASM_BINDGEN_USE_NODE_EXPERIMENTAL",
    "WASM_BINDGEN_USE_SERVICE_WORKER",
    "WASM_BINDGEN_USE_SHARED_WORKER",
];

/// The folder with everything that the targets need.
pub(crate) struct Home(PathBuf);

/// A compiler in that folder.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Compiler {
    Newest,
    Msrv,
}

impl Home {
    /// Returns `$TACH_CROSS_HOME` or, if it is not set, a folder among the user's caches.
    pub(crate) fn find() -> Result<Self, String> {
        cache::folder("TACH_CROSS_HOME", "tach-cross").map(Self)
    }

    /// Installs into the folder whatever a target still needs.
    pub(crate) fn set_up(&self, target: &str, priority: Priority) -> Result<(), String> {
        let mut setup = script("xtask/cross/setup.sh", priority);
        without_foreign_settings(&mut setup);
        setup
            .arg(target)
            .env_remove("CARGO_TARGET_DIR")
            .env("TACH_CROSS_HOME", &self.0)
            .env("TACH_CROSS_MSRV", value_in("Cargo.toml", "", "rust-version")?)
            .env("TACH_CROSS_WASM_BINDGEN", value_in("Cargo.lock", WASM_BINDGEN, "version")?);
        run(&mut setup).map_err(|_| {
            let logs = self.0.join("log");
            format!("it can't be set up: see the output above and the logs in {}", logs.display())
        })
    }

    /// Returns the path of a program that `setup.sh` made.
    pub(crate) fn bin(&self, name: &str) -> PathBuf {
        self.0.join("bin").join(name)
    }

    /// Returns the path of the browser's settings.
    pub(crate) fn webdriver(&self) -> PathBuf {
        self.0.join("chromium").join("webdriver.json")
    }

    /// Creates a cargo command with this compiler. All targets of one compiler share a build
    /// folder.
    pub(crate) fn cargo(&self, compiler: Compiler, arguments: &[&str]) -> Command {
        let bin = self.0.join(compiler.name()).join("usr/bin");
        let mut path = OsString::from(&bin);
        for more in [Some(self.0.join("mingw/usr/bin").into()), env::var_os("PATH")] {
            path.push(":");
            path.push(more.unwrap_or_default());
        }
        let mut cargo = program(&bin.join("cargo").to_string_lossy(), arguments);
        without_foreign_settings(&mut cargo);
        cargo.env("PATH", path).env("CARGO_TARGET_DIR", compiler.target());
        // Each build is run only a few times, so debug information and optimizations don't pay.
        cargo.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_PROFILE_DEV_LTO", "off");
        cargo.env("CARGO_INCREMENTAL", "0");
        cargo
    }
}

impl Compiler {
    fn name(self) -> &'static str {
        match self {
            Self::Newest => "rust",
            Self::Msrv => "rust-msrv",
        }
    }

    /// Returns the compiler's build folder.
    pub(crate) fn target(self) -> PathBuf {
        target().join("cross").join(self.name())
    }
}

fn without_foreign_settings(command: &mut Command) {
    for name in FOREIGN {
        command.env_remove(name);
    }
}

/// The line of Cargo.lock before the version of the library `wasm-bindgen`. The tool `wasm-bindgen`
/// must have the same version.
const WASM_BINDGEN: &str = "name = \"wasm-bindgen\"\n";

/// Returns the value of the first key of this name after some text, in a file of the workspace.
fn value_in(file: &str, after: &str, key: &str) -> Result<String, String> {
    let text = fs::read_to_string(root().join(file))
        .map_err(|error| format!("can't read {file}: {error}"))?;
    value(&text, after, key).ok_or_else(|| format!("{file} has no {key} after \"{after}\""))
}

fn value(text: &str, after: &str, key: &str) -> Option<String> {
    let (_, rest) = text.split_once(after)?;
    rest.lines().find_map(|line| {
        let value = line.strip_prefix(key)?.trim_start().strip_prefix('=')?;
        Some(value.trim().trim_matches('"').to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::value;

    #[test]
    fn a_value_is_the_first_after_the_text() {
        let text =
            "name = \"a\"\nversion = \"1\"\nname = \"b\"\nversion = \"2\"\nversioned = \"3\"\n";
        assert_eq!(value(text, "", "version").as_deref(), Some("1"));
        assert_eq!(value(text, "name = \"b\"\n", "version").as_deref(), Some("2"));
        assert_eq!(value(text, "name = \"b\"\n", "source"), None);
        assert_eq!(value(text, "name = \"c\"\n", "version"), None);
    }
}
