//! The size of the published packages against `limits.toml`.
//!
//! A limit fails if more is counted, and also if what is counted is more than 2 % below it: so
//! limits follow the code down. `--write` lowers those, and never raises one. A limit above its
//! aim, and each raise, names an ADR, or says until when.
//!
//! Counted are the files that `mod` reaches from `src/lib.rs` and `src/main.rs`. Items that only
//! `test`, `loom`, `fuzzing` or `doctest` compile are left out, and so are the files that they
//! declare.
//!
//! - *Code lines*: lines with at least one token that is no comment and no rustdoc. A text over
//!   several lines counts all of them.
//! - *Public items*: functions, methods, constants, types, traits, modules and exported macros that
//!   say `pub`, whether a user can reach them or not. (`unreachable_pub` warns of those that none
//!   can.) Fields, variants, a trait's methods and `pub use` are none.
//! - *`cfg`s*: each `cfg`, `cfg!`, `cfg_attr` and `cfg_if!` outside of `counter`, `os` and `sync`.
//!   *Conditions* are the different ones among them; the order of `all`'s and `any`'s arguments
//!   makes no difference.
//! - *Stubs*: pairs of modules that one file declares under conditions that exclude each other,
//!   however they are named and written, or of imports of one name under such conditions. Outside
//!   of `counter`, `os` and `sync`.
//! - *Circles*: modules with one parent that import each other. A module imports another if a path
//!   in it, or in a module in it, leads there, also through a `use` in a third. Modules directly
//!   below the root are rooms.
//! - *Upward imports*: pairs of rooms of which one imports another that stands above it in
//!   ARCHITECTURE.md's map, which lists all rooms of the crates that have a map.
//! - *Words*: what blanks part. Those of an item's rustdoc include its examples, and no files that
//!   it includes.
#![expect(clippy::print_stdout, reason = "the counts are the task's output")]

pub(crate) mod allowed;
mod condition;
mod count;
mod imports;
mod items;
mod map;
mod modules;
mod stubs;
mod tokens;
mod uses;
mod verdict;

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;

use crate::files;
use crate::limits::allowed::{Allowed, grouped};
use crate::limits::count::{ADR_WORDS, ALL_CODE_LINES, CODE_LINES, STUBS, count, count_crate};
use crate::limits::verdict::{Count, Fault, check_lines, compare};
use crate::run::{program, root};
use crate::workspace::{Package, published};

/// The crates whose rooms stand in ARCHITECTURE.md's map.
const MAPPED: [&str; 4] = ["tach-core", "tach-pipeline", "tach-record", "tach-spans"];

const FILE: &str = "limits.toml";

/// Compares what is counted with the limits, after it has lowered them in the file if `is_written`.
pub(crate) fn check(is_written: bool) -> Result<(), String> {
    let counts = counts()?;
    let path = root().join(FILE);
    let text = files::read(&path)?;
    let mut faults = faults(&text, &counts)?;
    if is_written {
        let lowered = lowered(&text, &faults);
        files::write(&path, &lowered)?;
        faults = self::faults(&lowered, &counts)?;
    }
    print!("{}", summary(&counts));
    if faults.is_empty() {
        return Ok(());
    }
    let texts: Vec<_> = faults.iter().map(|fault| format!("  {}", fault.text)).collect();
    let lower = faults.iter().filter(|fault| fault.lower.is_some()).count();
    let hint = match lower {
        0 => String::new(),
        _ => format!("\n`cargo xtask limits --write` lowers {lower} of them"),
    };
    Err(format!("{} limits don't hold:\n{}{hint}", faults.len(), texts.join("\n")))
}

/// Returns a line for each package and one for all, with what follows the code.
fn summary(counts: &[Count]) -> String {
    let mut of: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for count in counts.iter().filter(|count| count.measure.follows && count.number > 0) {
        let number = format!("{} {}", grouped(count.number), count.measure.what);
        of.entry(&count.of).or_default().push(number);
    }
    let lines = of.iter().map(|(of, numbers)| format!("{of:15} {}\n", numbers.join(", ")));
    lines.collect::<Vec<_>>().concat()
}

/// Counts all published packages and all ADRs.
fn counts() -> Result<Vec<Count>, String> {
    let map = files::read(&root().join("ARCHITECTURE.md"))?;
    let packages = published()?;
    let of_crates = thread::scope(|scope| {
        let count = |package: &Package| {
            let name = package.name();
            let rooms = map::rooms(&map, &format!("{name}/src/"));
            let rooms = MAPPED.contains(&name).then_some(&rooms[..]);
            count_crate(name, &package.folder(), rooms)
        };
        let threads: Vec<_> =
            packages.iter().map(|package| scope.spawn(move || count(package))).collect();
        let ended = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err("counting panicked".into())));
        ended.collect::<Result<Vec<_>, _>>()
    })?;
    let mut counts: Vec<Count> = of_crates.into_iter().flatten().collect();
    let sum = |section| {
        let of = counts.iter().filter(|count| count.measure.section == section);
        of.map(|count| count.number).sum()
    };
    let all = count(&ALL_CODE_LINES, "all", sum(CODE_LINES.section), Vec::new());
    let total = sum(STUBS.section);
    let (stubs, mut counts): (Vec<_>, Vec<_>) =
        counts.drain(..).partition(|count| count.measure.section == STUBS.section);
    let places = stubs.into_iter().flat_map(|count| count.places).collect();
    counts.extend([all, count(&STUBS, "all", total, places)]);
    counts.extend(adrs(&root().join("docs/adr"))?);
    Ok(counts)
}

fn adrs(folder: &Path) -> Result<Vec<Count>, String> {
    let mut counts = Vec::new();
    for path in files::entries(folder)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with(|first: char| first.is_ascii_digit()) {
            let words = files::read(&path)?.split_whitespace().count();
            counts.push(count(&ADR_WORDS, &name, words, Vec::new()));
        }
    }
    Ok(counts)
}

fn faults(text: &str, counts: &[Count]) -> Result<Vec<Fault>, String> {
    let read = |text: &str| Allowed::read(text).map_err(|problem| format!("{FILE}: {problem}"));
    let allowed = read(text)?;
    // Compare with the commit at which the branch began. If the change is committed already, HEAD
    // has the same file, and its first parent has the previous one.
    let base = program("git", &["merge-base", "HEAD", "origin/main"]).output();
    let base = base.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let old = [&*base.unwrap_or_default(), "HEAD", "HEAD^"].iter().find_map(|commit| {
        let mut show = program("git", &["show", &format!("{commit}:{FILE}")]);
        let old = String::from_utf8(show.output().ok()?.stdout).ok()?;
        Some(old).filter(|old| !old.is_empty() && old != text)
    });
    let old = old.map(|old| read(&old)).transpose()?;
    let has_adr = |number: &str| {
        let start = format!("{number:0>4}-");
        counts.iter().any(|count| count.of.starts_with(&start))
    };
    let mut faults = check_lines(&allowed, old.as_ref(), counts, has_adr);
    faults.extend(counts.iter().filter_map(|count| compare(count, &allowed)));
    Ok(faults)
}

/// Returns the text with the lines of limits that can be lower.
fn lowered(text: &str, faults: &[Fault]) -> String {
    let new: BTreeMap<usize, &Option<String>> = faults
        .iter()
        .filter_map(|fault| Some((fault.lower.as_ref()?.0, &fault.lower.as_ref()?.1)))
        .collect();
    let lines = (1..).zip(text.lines()).filter_map(|(number, line)| match new.get(&number) {
        Some(new) => new.as_deref(),
        None => Some(line),
    });
    lines.flat_map(|line| [line, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::limits::count::CFGS;
    use crate::run::target;

    #[test]
    fn what_is_printed_is_what_limits_follow() {
        let one = |measure, of, number| count(measure, of, number, Vec::new());
        let counts = [
            one(&CODE_LINES, "b", 1234),
            one(&STUBS, "b", 0),
            one(&STUBS, "a", 2),
            one(&CFGS, "b", 3),
        ];
        let lines = [
            "a               2 modules in place of others\n",
            "b               1_234 code lines\n",
        ];
        assert_eq!(summary(&counts), lines.concat());
    }

    #[test]
    fn the_words_of_each_adr_are_counted() {
        let folder = target().join("limits-tests/adr");
        files::fresh_folder(&folder).unwrap();
        files::write(&folder.join("0001-a.md"), "# 1. A\n\nTwo  words.\n").unwrap();
        files::write(&folder.join("README.md"), "All of them.\n").unwrap();
        let counts = adrs(&folder).unwrap();
        let counts: Vec<_> = counts.iter().map(|count| (&*count.of, count.number)).collect();
        assert_eq!(counts, [("0001-a.md", 5)]);
    }

    #[test]
    fn limits_are_lowered_and_removed_and_the_rest_stays() {
        let lower = |line: usize, text: Option<&str>| Fault {
            text: String::new(),
            lower: Some((line, text.map(str::to_owned))),
        };
        let faults = [lower(3, Some("b = 1")), lower(4, None)];
        assert_eq!(
            lowered("# A\n[a]\nb = 2\nc = 3\n\nd = 4\n", &faults),
            "# A\n[a]\nb = 1\n\nd = 4\n"
        );
    }
}
