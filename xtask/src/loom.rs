//! Loom's models, and whether they notice when any one memory ordering is weaker.
#![expect(clippy::print_stdout, reason = "says what became of each ordering")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::{cargo, root};

/// Sources that are compiled as a package of their own, to be broken, with the models that stand in them.
struct Package {
    /// Their folder.
    folder: &'static str,
    /// The file of it that needs no other; otherwise the folder is a crate's.
    alone: Option<&'static str>,
    /// The files whose orderings the models answer for.
    answered_for: &'static [&'static str],
    /// What is as weak as it can be but must be one exchange: a file, what stands in it, and the same in two
    /// steps.
    splits: &'static [(&'static str, &'static str, &'static str)],
}

const PACKAGES: &[Package] = &[
    Package {
        folder: "tach-core/src",
        alone: None,
        answered_for: &[
            "sync/reading.rs",
            "sync/versioned.rs",
            "sync/succession.rs",
            "sync/history.rs",
        ],
        splits: &[
            (
                "sync/maximum.rs",
                "self.0.fetch_max(tick, Ordering::Relaxed).max(tick)",
                "{ let highest = self.get().max(tick); self.0.store(highest, Ordering::Relaxed); highest }",
            ),
            (
                "sync/horizon.rs",
                "self.0.fetch_or(CLOSED, Ordering::Relaxed) & !CLOSED",
                "{ let word = self.0.load(Ordering::Relaxed); self.0.store(word | CLOSED, Ordering::Relaxed); word & !CLOSED }",
            ),
            (
                "sync/floor.rs",
                "self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, raise)",
                "{
                    let floor = self.0.load(Ordering::Relaxed);
                    self.0.store(raise(floor).unwrap_or(floor), Ordering::Relaxed);
                    Ok::<u64, u64>(floor)
                }",
            ),
        ],
    },
    Package {
        folder: "tach-pipeline/src/queue",
        alone: Some("ring"),
        answered_for: &["ring.rs"],
        splits: &[],
    },
];

/// The models need no more than this, so each weakening is compiled in a moment.
const MANIFEST: &str = r#"
[package]
name = "copy"
version = "0.0.0"
edition = "2024"

[dependencies]
cfg-if = "1"
loom = "0.7"

[workspace]
"#;

/// Runs the models, then each with one ordering weakened, which one of them must notice.
pub(crate) fn check() -> Result<(), String> {
    let failures: Vec<String> = PACKAGES.iter().filter_map(|one| one.check().err()).collect();
    if failures.is_empty() { Ok(()) } else { Err(failures.join("; ")) }
}

impl Package {
    fn check(&self) -> Result<(), String> {
        self.copy()?;
        let failed = failed_models()?;
        if !failed.is_empty() {
            return Err(format!("the models don't hold: {}", failed.join(", ")));
        }
        println!("{}: the models hold", self.folder);
        let mut missed = 0;
        for name in self.answered_for {
            let original = read_source(name)?;
            let weakenings = weakenings(&original);
            if weakenings.is_empty() {
                return Err(format!("{name} has no ordering to weaken, so it proves nothing"));
            }
            for weaker in weakenings {
                let place = format!("{name}:{}: {}", weaker.line, weaker.change);
                missed += usize::from(!self.is_caught(name, &weaker.text, &place)?);
            }
            write_source(name, &original)?;
        }
        for (name, whole, split) in self.splits {
            let original = read_source(name)?;
            if original.matches(whole).count() != 1 {
                return Err(format!("{name} does not hold this once: {whole}"));
            }
            let place = format!("{name}: an exchange in two steps");
            missed +=
                usize::from(!self.is_caught(name, &original.replace(whole, split), &place)?);
            write_source(name, &original)?;
        }
        let folder = self.folder;
        if missed == 0 { Ok(()) } else { Err(format!("{folder}: {missed} weakenings not caught")) }
    }

    /// Makes the copy. Its lock file is the workspace's, so the models meet the same loom.
    fn copy(&self) -> Result<(), String> {
        let copy = root().join(COPY);
        let (from, to) = (root().join(self.folder), copy.join("src"));
        if to.exists() {
            fs::remove_dir_all(&to).map_err(|error| cannot("remove", &to, &error))?;
        }
        match self.alone {
            None => copy_folder(&from, &to)?,
            Some(module) => {
                fs::create_dir_all(&to).map_err(|error| cannot("make", &to, &error))?;
                let name = format!("{module}.rs");
                copy_file(&from.join(&name), &to.join(&name))?;
                write(&to.join("lib.rs"), &format!("mod {module};\n"))?;
            }
        }
        write(&copy.join("Cargo.toml"), MANIFEST)?;
        copy_file(&root().join("Cargo.lock"), &copy.join("Cargo.lock"))
    }

    /// Whether a model fails with `text` in a source's place. Says so.
    fn is_caught(&self, name: &str, text: &str, place: &str) -> Result<bool, String> {
        write_source(name, text)?;
        let caught = !failed_models()?.is_empty();
        println!("{}/{place}: {}", self.folder, if caught { "caught" } else { "NOT CAUGHT" });
        Ok(caught)
    }
}

/// A copy of sources to be broken, below the workspace's root.
const COPY: &str = "target/loom/copy";

fn source_file(name: &str) -> PathBuf {
    root().join(COPY).join("src").join(name)
}

fn read_source(name: &str) -> Result<String, String> {
    let file = source_file(name);
    fs::read_to_string(&file).map_err(|error| cannot("read", &file, &error))
}

fn write_source(name: &str, text: &str) -> Result<(), String> {
    write(&source_file(name), text)
}

/// Compiles the models and runs them; the names of those that failed.
fn failed_models() -> Result<Vec<String>, String> {
    // Compiling comes apart, so that an error of the compiler is not taken for a failed model.
    let compiled = test().arg("--no-run").status();
    if !compiled.is_ok_and(|status| status.success()) {
        return Err("the models don't compile".into());
    }
    let output = test()
        .args(["loom", "--", "--format", "pretty"])
        .output()
        .map_err(|error| format!("can't run the models: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let (held, failed) = results(&said);
    if output.status.success() == failed.is_empty() && held + failed.len() > 0 {
        return Ok(failed);
    }
    Err(format!("can't tell what became of the models:\n{said}"))
}

fn test() -> Command {
    let mut test = cargo(&["test", "--quiet", "--release", "--lib", "--target-dir", "target/loom"]);
    test.args(["--manifest-path", &format!("{COPY}/Cargo.toml")]);
    // The copy needn't be free of warnings: a fence that is gone leaves its import behind.
    test.env_remove("CARGO_ENCODED_RUSTFLAGS").env("RUSTFLAGS", "--cfg loom -A warnings");
    test
}

/// How many tests held, and the names of those that failed, from what their program said.
fn results(said: &str) -> (usize, Vec<String>) {
    let tests = said.lines().filter_map(|line| line.strip_prefix("test ")?.split_once(" ... "));
    let (held, failed): (Vec<_>, Vec<_>) =
        tests.filter(|(_, result)| *result != "ignored").partition(|(_, result)| *result == "ok");
    (held.len(), failed.into_iter().map(|(name, _)| name.to_owned()).collect())
}

/// A source with one ordering weakened.
struct Weakening {
    line: usize,
    change: String,
    text: String,
}

/// The weakenings of a source, its comments and its tests left out: the tests come last in a file.
fn weakenings(source: &str) -> Vec<Weakening> {
    let is_of_tests =
        |line: &str| line.starts_with("#[cfg(test)]") || line.starts_with("#[cfg(all(test");
    let mut found = Vec::new();
    let mut start = 0;
    let mut lines = source.split_inclusive('\n').enumerate().peekable();
    while let Some((index, line)) = lines.next() {
        // What else is for tests alone is loom's part of the imports.
        let begins_module = lines.peek().is_some_and(|(_, next)| !next.starts_with("use "));
        if is_of_tests(line) && begins_module {
            break;
        }
        if !line.trim_start().starts_with("//") {
            for (column, _) in line.match_indices(PATH) {
                let (before, rest) = source.split_at(start + column);
                found.extend(weaker_at(before, rest).map(|(change, text)| Weakening {
                    line: index + 1,
                    change,
                    text,
                }));
            }
        }
        start += line.len();
    }
    found
}

const PATH: &str = "Ordering::";

/// What is weaker than the ordering that stands between `before` and the end of the source: the
/// change, and the whole source with it.
fn weaker_at(before: &str, rest: &str) -> impl Iterator<Item = (String, String)> {
    let name_and_after = &rest[PATH.len()..];
    let end = name_and_after.find(|c: char| !c.is_alphanumeric()).unwrap_or_default();
    let (name, after) = name_and_after.split_at(end);
    let weaker: &[&str] = match name {
        "Acquire" | "Release" | "SeqCst" => &["Relaxed"],
        // Both halves have to be needed.
        "AcqRel" => &["Acquire", "Release"],
        _ => &[],
    };
    weaker.iter().map(move |weaker| {
        // There is no relaxed fence, so it goes.
        match (before.strip_suffix("fence("), after.strip_prefix(");"), *weaker) {
            (Some(before), Some(after), "Relaxed") => {
                (format!("{name} fence removed"), format!("{before}{after}"))
            }
            _ => (format!("{name} -> {weaker}"), format!("{before}{PATH}{weaker}{after}")),
        }
    })
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), String> {
    fs::create_dir_all(to).map_err(|error| cannot("make", to, &error))?;
    let entries = fs::read_dir(from).map_err(|error| cannot("read", from, &error))?;
    for entry in entries {
        let from = entry.map_err(|error| cannot("read", from, &error))?.path();
        let to = to.join(from.file_name().unwrap_or_default());
        if from.is_dir() { copy_folder(&from, &to)? } else { copy_file(&from, &to)? }
    }
    Ok(())
}

fn copy_file(from: &Path, to: &Path) -> Result<(), String> {
    fs::copy(from, to).map_err(|error| cannot("copy", from, &error))?;
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| cannot("write", path, &error))
}

fn cannot(act: &str, path: &Path, error: &std::io::Error) -> String {
    format!("can't {act} {}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "\
#[cfg(all(test, loom))]
use loom::Ordering;
fn f() {
    // ORDERING: Ordering::Acquire is told of.
    x.exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed);
    fence(Ordering::Release);
}
#[cfg(test)]
fn g() { x.load(Ordering::Acquire) }
";

    #[test]
    fn each_ordering_of_the_code_is_weakened_alone() {
        let found = weakenings(SOURCE);
        let said: Vec<_> = found.iter().map(|one| (one.line, one.change.as_str())).collect();
        let expected =
            [(5, "AcqRel -> Acquire"), (5, "AcqRel -> Release"), (6, "Release fence removed")];
        assert_eq!(said, expected);
        assert_eq!(found[0].text, SOURCE.replace("Ordering::AcqRel", "Ordering::Acquire"));
        assert_eq!(found[2].text, SOURCE.replace("fence(Ordering::Release);", ""));
    }

    #[test]
    fn failed_models_are_told_from_those_that_hold() {
        let said = "running 3 tests\ntest a::b ... FAILED\ntest c ... ok\ntest d ... ignored\n";
        assert_eq!(results(said), (1, vec!["a::b".to_owned()]));
        assert_eq!(results("running 0 tests\n"), (0, Vec::new()));
    }
}
