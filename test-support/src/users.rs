//! Other users, for tests that run as root.

use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, process};

/// The id of a user, and of a group, that owns nothing but what a test gives it.
pub const STRANGER: u32 = 65_534;
/// The id of a service's user, and of its group.
pub const SERVICE: u32 = 65_533;

/// Returns whether the test may act as other users. If not, prints that it did not run.
#[must_use]
pub fn can_be_others(test: &str) -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        eprintln!("NOT RUN: {test} needs root, to act as other users");
    }
    is_root && can_be_started(test)
}

/// Returns whether another user could start a copy of this program. If not, prints that the test
/// did not run.
fn can_be_started(test: &str) -> bool {
    // An emulator starts the program itself: see `this_program`.
    let is_emulated = env::var_os("TACH_RUNNER").is_some();
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let program = env::current_exe().unwrap_or_default();
    let libraries = maps.lines().filter_map(|line| line.find('/').map(|at| &line[at..]));
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "for file; do test -r \"$file\" || exit 1; done", "sh"]);
    shell.args(libraries.filter(|path| Path::new(path) != program));
    let are_readable = shell.uid(STRANGER).current_dir("/").status();
    let can_be = !is_emulated && are_readable.is_ok_and(|status| status.success());
    if !can_be {
        eprintln!("NOT RUN: {test} needs a program and libraries that other users may start");
    }
    can_be
}

/// A copy of the running test program that other users may start, removed when dropped.
#[derive(Debug)]
pub struct Copy(PathBuf);

impl Copy {
    /// Copies this program. If `is_setuid`, whoever starts the copy has root's rights.
    ///
    /// # Panics
    ///
    /// Panics if the copy can't be made.
    #[must_use]
    pub fn new(name: &str, is_setuid: bool) -> Self {
        let folder = env::temp_dir().join(format!("tach-copy-{name}-{}", process::id()));
        fs::create_dir_all(&folder).expect("a folder for temporary files");
        let copy = Self(folder);
        let program = env::current_exe().expect("this program has a path");
        // Another process copies it. A child that a test beside this one starts would have this
        // process's descriptor, open for writing, and the kernel would not run the copy.
        let copied = Command::new("cp").arg(program).arg(copy.path()).status();
        assert!(copied.is_ok_and(|status| status.success()), "this program can't be copied");
        set_mode(&copy.0, 0o755);
        set_mode(&copy.path(), if is_setuid { 0o4755 } else { 0o755 });
        copy
    }

    fn path(&self) -> PathBuf {
        self.0.join("test")
    }

    /// Returns a command that starts the program as that user. The caller adds the arguments.
    #[must_use]
    pub fn started_by(&self, user: u32) -> Command {
        let mut command = Command::new(self.path());
        command.uid(user).gid(user).current_dir("/");
        command
    }

    /// Returns a command that runs the ignored test `name` as that user.
    #[must_use]
    pub fn test_as(&self, user: u32, name: &str) -> Command {
        let mut command = self.started_by(user);
        command.args(["--exact", name, "--ignored", "--nocapture"]);
        command
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _best_effort = fs::remove_dir_all(&self.0);
    }
}

/// Sets the mode of a file.
///
/// # Panics
///
/// Panics if that fails.
pub fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode can be set");
}

/// Gives a file, or a link itself, to a user and the group of the same number.
///
/// # Panics
///
/// Panics if that fails.
pub fn give(path: &Path, user: u32) {
    let given = if path.is_symlink() {
        std::os::unix::fs::lchown(path, Some(user), Some(user))
    } else {
        chown(path, Some(user), Some(user))
    };
    given.expect("root gives files away");
}
