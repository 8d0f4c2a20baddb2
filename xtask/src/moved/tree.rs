//! The programs as they are, or after their move, in one workspace.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::outcomes::outcomes;
use super::program::{Form, Program};
use super::used::Used;
use crate::files;
use crate::peers::source::{Found, Source};
use crate::run::{self, cargo, root, run};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Before,
    After,
}

pub(super) struct Tree {
    side: Side,
}

/// Files that cargo and the registry add to a package.
const OF_THE_REGISTRY: [&str; 4] =
    [".cargo-ok", ".cargo_vcs_info.json", "Cargo.lock", "Cargo.toml.orig"];

/// A package of the registry that has a library.
const LISTED: &str = "mini-redis";

/// The variable with the folder to which tests write their spans.
const SPANS: &str = "MOVED_SPANS";

impl Tree {
    /// Writes the workspace.
    pub(super) fn new(side: Side, programs: &[&Program]) -> Result<Self, String> {
        let tree = Self { side };
        let members: Vec<_> = programs.iter().map(|program| program.name).collect();
        let manifest = format!(
            "[workspace]\nresolver = \"2\"\nmembers = {members:?}\n\n[profile.dev]\ndebug = false\n"
        );
        files::create_folder(&tree.folder())?;
        files::write_if_new(&tree.folder().join("Cargo.toml"), &manifest)?;
        // Unpack all programs first: the page's commands need a complete workspace.
        for program in programs {
            tree.unpack(program).map_err(|fault| format!("{}: {fault}", program.name))?;
        }
        for program in programs {
            let mut changed = tree.run(program, program.repairs);
            if side == Side::After {
                changed = changed.and_then(|()| tree.change(program));
            }
            changed.map_err(|fault| format!("{}: {fault}", program.name))?;
        }
        tree.lock()?;
        Ok(tree)
    }

    /// Uses the versions that this repository names. Without the file, names the newest ones.
    fn lock(&self) -> Result<(), String> {
        let known = packages().join(self.side.name()).with_extension("lock");
        let used = self.folder().join("Cargo.lock");
        if known.exists() {
            return files::copy_file(&known, &used);
        }
        println!("writes {}", known.display());
        run(cargo(&["generate-lockfile"]).current_dir(self.folder()))?;
        files::copy_file(&used, &known)
    }

    fn folder(&self) -> PathBuf {
        run::target().join("moved").join(self.side.name())
    }

    fn unpack(&self, program: &Program) -> Result<(), String> {
        let sources = sources(program)?;
        let to = self.folder().join(program.name);
        match program.form {
            Form::Whole => copy(&sources, &to),
            Form::Parts(parts) => {
                copy(&packages().join(program.name), &to)?;
                for part in parts {
                    let text = part.take(&files::read(&sources.join(part.from))?)?;
                    files::write_if_new(&to.join(part.to), &text)?;
                }
                let manifest = to.join("Cargo.toml");
                let text = files::read(&manifest)?.replace("../../..", &root().to_string_lossy());
                files::write(&manifest, &text)
            }
        }
    }

    /// Runs commands that change a manifest.
    fn run(&self, program: &Program, commands: &[&str]) -> Result<(), String> {
        for command in commands {
            let words: Vec<_> = command.split(' ').skip(1).collect();
            let mut command = cargo(&words);
            let ours = words.iter().map(|word| root().join(word)).find(|folder| folder.is_dir());
            if let Some(folder) = ours {
                command.arg("--path").arg(folder);
            }
            run(command.current_dir(self.folder().join(program.name)))?;
        }
        Ok(())
    }

    /// Applies the page's commands and replacements.
    fn change(&self, program: &Program) -> Result<(), String> {
        self.run(program, program.commands)?;
        let folder = self.folder().join(program.name);
        for change in program.changes {
            let file = folder.join(change.file);
            files::write(&file, &change.apply(&files::read(&file)?)?)?;
        }
        Ok(())
    }

    /// Builds a program, runs its tests and uses it.
    pub(super) fn used(&self, program: &Program) -> Result<Used, String> {
        let spans = run::target().join("moved/spans");
        files::fresh_folder(&spans)?;
        let mut used = Used::default();
        if let Some(session) = program.session {
            run(self.cargo(program, "build").args(program.targets))?;
            used = session(&run::target().join("debug"))?;
        }
        if program.tests > 0 {
            used.tests = self.tested(program, &spans)?;
        }
        let mut written = files::entries(&spans)?;
        written.sort();
        for file in written {
            used.spans.extend(files::read(&file)?.lines().map(str::to_owned));
        }
        Ok(used)
    }

    /// Runs a program's tests and returns their outcomes.
    fn tested(&self, program: &Program, spans: &Path) -> Result<BTreeMap<String, String>, String> {
        // Compile first, so that an error of the compiler does not count as a failed test.
        run(self.cargo(program, "test").args(program.targets).arg("--no-run"))?;
        let mut test = self.cargo(program, "test");
        // Run the tests after a failed one too.
        test.args(program.targets).arg("--no-fail-fast").env(SPANS, spans);
        let output = test.output().map_err(|error| format!("can't start cargo: {error}"))?;
        let printed = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            println!("{printed}");
        }
        Ok(outcomes(&printed))
    }

    fn cargo(&self, program: &Program, command: &str) -> Command {
        let manifest = self.folder().join(program.name).join("Cargo.toml");
        let mut cargo = cargo(&[command, "--locked", "--manifest-path"]);
        cargo.arg(manifest).env("CARGO_TARGET_DIR", run::target());
        cargo
    }
}

impl Side {
    const fn name(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::After => "after",
        }
    }
}

/// Returns the folder of what this repository has.
fn packages() -> PathBuf {
    root().join("xtask/moved")
}

/// Returns the folder of a package that cargo has downloaded, and checked by `Cargo.lock`.
fn sources(program: &Program) -> Result<PathBuf, String> {
    // Cargo lists no package without a library. Find its folder beside a package that is listed.
    match Source::Registry(LISTED).find(&packages().join("Cargo.toml"))? {
        Found::At(listed) => {
            Ok(listed.with_file_name(format!("{}-{}", program.name, program.version)))
        }
        Found::Nowhere(reason) => Err(reason),
    }
}

/// Copies a package, so that a file that did not change is not compiled again.
fn copy(from: &Path, to: &Path) -> Result<(), String> {
    files::create_folder(to)?;
    for from in files::entries(from)? {
        let name = from.file_name().unwrap_or_default();
        if from.is_dir() {
            copy(&from, &to.join(name))?;
        } else if !OF_THE_REGISTRY.iter().any(|other| *other == name) {
            files::copy_if_new(&from, &to.join(name))?;
        }
    }
    Ok(())
}
