//! Loom's models, and whether they notice when lock-free code is weaker than it is.
#![expect(clippy::print_stdout, reason = "prints the result of each weakening")]

mod weaken;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::ci::Tier;
use crate::files;
use crate::run::{cargo, root, target};
use crate::workspace;

/// A module that is compiled alone, to be broken: it needs no other module of its crate but the
/// atomics of `sync`.
///
/// A file with models is such a room, or else the folder `sync` that the file is in.
struct Room {
    /// The folder that the module is in.
    folder: PathBuf,
    module: String,
    /// The files with models, relative to the folder.
    models: Vec<PathBuf>,
}

/// Begins a module of models.
const MODELS: &str = "\nmod loom_";

/// The room `sync` of a crate, for files with models in other rooms.
///
/// Loom has no fence for the compiler alone. Where another thread pays for the processors' fence,
/// the models have one in the call.
const SYNC: &str = "
mod sync {
    pub(crate) mod atomic {
        pub(crate) use loom::sync::atomic::*;
        pub(crate) use loom::sync::atomic::fence as compiler_fence;
    }
}
";

/// The models need no more dependencies than these, so each weakening is compiled in a moment.
const MANIFEST: &str = r#"
[package]
name = "copy"
version = "0.0.0"
edition = "2024"

[dependencies]
cfg-if = "1"
crossbeam-utils = { version = "0.8", default-features = false }
loom = "0.7"

[workspace]
"#;

/// Runs the models of all published packages. In the full tier, then weakens one ordering or
/// exchange at a time, which a model must notice.
pub(crate) fn check(tier: Tier) -> Result<(), String> {
    let mut rooms = Vec::new();
    for package in workspace::published()? {
        let mut with_models = Vec::new();
        find_models(&package.folder().join("src"), &mut with_models)?;
        with_models.sort();
        for file in with_models {
            add(&mut rooms, &file)?;
        }
    }
    if rooms.is_empty() {
        return Err("no published package has a model".into());
    }
    let failures: Vec<String> = rooms.iter().filter_map(|room| room.check(tier).err()).collect();
    if failures.is_empty() { Ok(()) } else { Err(failures.join("; ")) }
}

/// Adds the files with models to `found`.
fn find_models(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), String> {
    for path in files::entries(folder)? {
        if path.is_dir() {
            find_models(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && files::read(&path)?.contains(MODELS)
        {
            found.push(path);
        }
    }
    Ok(())
}

/// Adds a file with models to its room.
fn add(rooms: &mut Vec<Room>, file: &Path) -> Result<(), String> {
    let (folder, module) = room(file).ok_or_else(|| format!("{}: no room", file.display()))?;
    let model = file.strip_prefix(&folder).map_err(|error| error.to_string())?.to_owned();
    match rooms.iter_mut().find(|room| room.folder == folder && room.module == module) {
        Some(room) => room.models.push(model),
        None => rooms.push(Room { folder, module, models: vec![model] }),
    }
    Ok(())
}

/// Returns the folder and the name of the module that a file with models is compiled in.
fn room(file: &Path) -> Option<(PathBuf, String)> {
    let sync = file.ancestors().skip(1).find(|folder| folder.ends_with("sync"));
    let module = sync.unwrap_or(file);
    Some((module.parent()?.to_owned(), module.file_stem()?.to_str()?.to_owned()))
}

impl Room {
    fn check(&self, tier: Tier) -> Result<(), String> {
        let name = self.folder.join(&self.module);
        let name = name.strip_prefix(root()).unwrap_or(&name).display();
        self.copy()?;
        let failed = failed_models()?;
        if !failed.is_empty() {
            return Err(format!("{name}: the models don't hold: {}", failed.join(", ")));
        }
        println!("{name}: the models hold");
        if tier == Tier::Change {
            return Ok(());
        }
        let mut missed = 0;
        for model in &self.models {
            let file = sources().join(model);
            let original = files::read(&file)?;
            let weaker = weaken::all(&original)?;
            let model = model.display();
            if weaker.is_empty() {
                return Err(format!("{model}: nothing to weaken, so its models prove nothing"));
            }
            for one in weaker {
                files::write(&file, &one.text)?;
                let caught = !failed_models()?.is_empty();
                let verdict = if caught { "caught" } else { "NOT CAUGHT" };
                println!("{model}:{}: {}: {verdict}", one.line, one.change);
                missed += usize::from(!caught);
            }
            files::write(&file, &original)?;
        }
        if missed == 0 { Ok(()) } else { Err(format!("{name}: {missed} weakenings not caught")) }
    }

    /// Copies the room into a crate of its own. The lock file is the workspace's, so the models get
    /// the same loom.
    fn copy(&self) -> Result<(), String> {
        let to = sources();
        files::fresh_folder(&to)?;
        let file = format!("{}.rs", self.module);
        files::copy_file(&self.folder.join(&file), &to.join(&file))?;
        let inner = self.folder.join(&self.module);
        if inner.is_dir() {
            files::copy_folder(&inner, &to.join(&self.module))?;
        }
        let sync = if self.module == "sync" { "" } else { SYNC };
        files::write(&to.join("lib.rs"), &format!("mod {};\n{sync}", self.module))?;
        files::write(&copy().join("Cargo.toml"), MANIFEST)?;
        files::copy_file(&root().join("Cargo.lock"), &copy().join("Cargo.lock"))
    }
}

/// Returns the folder of the crate to be broken.
fn copy() -> PathBuf {
    target().join("loom").join("copy")
}

fn sources() -> PathBuf {
    copy().join("src")
}

/// Compiles the models, runs them, and returns the names of those that failed.
fn failed_models() -> Result<Vec<String>, String> {
    // Compile first, so that an error of the compiler does not count as a failed model.
    let compiled = test().arg("--no-run").status();
    if !compiled.is_ok_and(|status| status.success()) {
        return Err("the models don't compile".into());
    }
    let output = test()
        .args(["loom", "--", "--format", "pretty"])
        .output()
        .map_err(|error| format!("can't run the models: {error}"))?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let (held, failed) = results(&printed);
    if output.status.success() == failed.is_empty() && held + failed.len() > 0 {
        return Ok(failed);
    }
    Err(format!("the models' output makes no sense:\n{printed}"))
}

fn test() -> Command {
    let mut test = cargo(&["test", "--quiet", "--release", "--lib", "--target-dir"]);
    test.arg(target().join("loom")).arg("--manifest-path").arg(copy().join("Cargo.toml"));
    // A weaker copy may have warnings: without a fence, its import is unused.
    test.env_remove("CARGO_ENCODED_RUSTFLAGS").env("RUSTFLAGS", "--cfg loom -A warnings");
    test
}

/// Returns how many tests passed and the names of those that failed, from a test program's output.
fn results(printed: &str) -> (usize, Vec<String>) {
    let tests = printed.lines().filter_map(|line| line.strip_prefix("test ")?.split_once(" ... "));
    let (held, failed): (Vec<_>, Vec<_>) =
        tests.filter(|(_, result)| *result != "ignored").partition(|(_, result)| *result == "ok");
    (held.len(), failed.into_iter().map(|(name, _)| name.to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_is_a_file_or_the_folder_sync() {
        let expected = |folder: &str, module: &str| Some((folder.into(), module.to_owned()));
        assert_eq!(room(Path::new("/a/src/queue/ring.rs")), expected("/a/src/queue", "ring"));
        assert_eq!(room(Path::new("/a/src/sync/floor.rs")), expected("/a/src", "sync"));
        assert_eq!(room(Path::new("/a/src/sync/x/y.rs")), expected("/a/src", "sync"));
        assert_eq!(room(Path::new("/a/src/sync.rs")), expected("/a/src", "sync"));
    }

    #[test]
    fn files_share_a_room() {
        let mut rooms = Vec::new();
        for file in ["/a/src/sync/x.rs", "/a/src/sync/y.rs", "/b/src/sync/x.rs"] {
            add(&mut rooms, Path::new(file)).unwrap();
        }
        assert_eq!(rooms.len(), 2);
        assert_eq!(rooms[0].models, [Path::new("sync/x.rs"), Path::new("sync/y.rs")]);
    }

    #[test]
    fn failed_models_are_told_from_those_that_hold() {
        let printed = "running 3 tests\ntest a::b ... FAILED\ntest c ... ok\ntest d ... ignored\n";
        assert_eq!(results(printed), (1, vec!["a::b".to_owned()]));
        assert_eq!(results("running 0 tests\n"), (0, Vec::new()));
    }
}
