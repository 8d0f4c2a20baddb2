//! Published programs that are moved over to tach as tach-pipeline/docs/moving.md says, and
//! compared with themselves before the move.
//!
//! The sources come from the registry, and nothing of them is in the repository: they are unpacked
//! to `target/moved/before` and `target/moved/after`, where the page's replacements are applied to
//! the second copy. Both are built, run their own tests, and are used in the same way. Then their
//! lines, their spans and the ends of their processes are compared.
#![expect(clippy::print_stdout, reason = "prints the results of each program")]

mod axum;
mod basic_http_server;
mod dropshot;
mod inferno;
mod mini_redis;
mod outcomes;
mod page;
mod process;
mod program;
mod tree;
mod used;

use std::time::Instant;

use self::page::Page;
use self::program::Program;
use self::tree::{Side, Tree};
use self::used::Used;

const PROGRAMS: [&Program; 5] = [
    &mini_redis::PROGRAM,
    &basic_http_server::PROGRAM,
    &inferno::PROGRAM,
    &dropshot::PROGRAM,
    &axum::PROGRAM,
];

/// Moves the programs, or those that are named, and compares them.
pub(crate) fn check(names: &[String]) -> Result<(), String> {
    if let Some(unknown) = names.iter().find(|name| PROGRAMS.iter().all(|it| it.name != **name)) {
        let known = PROGRAMS.map(|program| program.name).join(", ");
        return Err(format!("there is no program \"{unknown}\", but {known}"));
    }
    let page = Page::read()?;
    let mut faults: Vec<String> =
        PROGRAMS.iter().flat_map(|program| page.faults(program)).collect();
    // Unpack all programs, even those not asked for, since each side is one workspace.
    let before = Tree::new(Side::Before, &PROGRAMS)?;
    let after = Tree::new(Side::After, &PROGRAMS)?;
    let is_asked = |it: &&&Program| names.is_empty() || names.iter().any(|name| name == it.name);
    for program in PROGRAMS.iter().filter(is_asked) {
        let start = Instant::now();
        let (before, after) = (before.used(program)?, after.used(program)?);
        let found = faults_of(program, &page, &before, &after);
        println!(
            "{}: {} tests, {} lines, {} spans{} in {:.1?}",
            program.name,
            after.tests.len(),
            after.lines().count(),
            after.spans.len(),
            after.end.map(|end| format!(", {end}")).unwrap_or_default(),
            start.elapsed()
        );
        faults.extend(found.into_iter().map(|fault| format!("{}: {fault}", program.name)));
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// Compares a program with itself before the move, and with the page.
fn faults_of(program: &Program, page: &Page, before: &Used, after: &Used) -> Vec<String> {
    let mut faults = before.differences(after, program.same_line);
    if after.tests.len() != program.tests {
        faults.push(format!("{} tests ran, not {}", after.tests.len(), program.tests));
    }
    faults.extend(page.unprinted(program, before, after));
    faults
}

#[cfg(test)]
mod tests {
    use super::{PROGRAMS, Page};

    /// Needs neither the sources nor the builds of the programs.
    #[test]
    fn the_page_has_the_lines_of_every_move() {
        let page = Page::read().unwrap();
        let faults: Vec<_> = PROGRAMS.iter().flat_map(|program| page.faults(program)).collect();
        assert!(faults.is_empty(), "{faults:#?}");
    }
}
