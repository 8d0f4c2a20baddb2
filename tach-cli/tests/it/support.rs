//! The program as a child process, and folders for tests.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::{env, fs, process};

use serde_json::Value;

/// Returns `tach` with arguments, without the variables that change its choices.
pub(crate) fn tach(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tach"));
    for variable in ["TACH_SOURCE", "TACH_ORDER", "NO_COLOR", "CLICOLOR_FORCE"] {
        command.env_remove(variable);
    }
    command.args(arguments).stdin(Stdio::null());
    command
}

/// A finished run.
pub(crate) struct Run {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

pub(crate) fn run(command: &mut Command) -> Run {
    let Output { status, stdout, stderr } = command.output().unwrap();
    Run {
        status: status.code(),
        stdout: String::from_utf8(stdout).unwrap(),
        stderr: String::from_utf8(stderr).unwrap(),
    }
}

impl Run {
    /// Returns the one line of JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}{}", self.stdout, self.stderr))
    }
}

/// A folder that disappears with the value.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("tach-cli-{name}-{}", process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _result = fs::remove_dir_all(&self.0);
    }
}
