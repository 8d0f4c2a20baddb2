//! Each expression in a table of the project's pages is compiled as it stands there.
//!
//! A row without a code block around it is no doctest, so a change of a method's name, or a closure
//! that the back end can't take, would go unseen in it.

mod expressions;
mod log;

use std::fs;
use std::path::{Path, PathBuf};

/// Expressions of another language, or which stand in other projects' sources.
const OTHERS: [&str; 3] = ["performance.now()", "fmt::try_init()", "#[instrument(err)]"];

#[test]
fn each_expression_of_a_table_is_compiled() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let pages = pages(root);
    let mut compiled = String::new();
    for file in files(&root.join("examples"), "rs") {
        let text = fs::read_to_string(file).unwrap();
        compiled.extend(text.lines().filter(|line| !line.trim().starts_with("//")));
    }
    for page in &pages {
        compiled.push_str(&blocks(&page.text));
    }
    let compiled = normal(&compiled);
    let mut missing = Vec::new();
    let mut found = 0;
    for page in &pages {
        for (line, expression) in expressions(&page.text) {
            found += 1;
            if !compiled.contains(&normal(&expression)) {
                missing.push(format!("{}:{line}: {expression}", page.path.display()));
            }
        }
    }
    assert!(missing.is_empty(), "not compiled by examples/:\n{}", missing.join("\n"));
    // As many as there are, or the tables are no longer found.
    assert!(found > 150, "only {found} expressions were found");
}

#[test]
fn an_expression_that_nothing_compiles_is_found() {
    let page = "| a | b |\n|---|---|\n| `old()` | `.level(level)`, `text` |\n";
    let found: Vec<_> = expressions(page).collect();
    assert_eq!(found, [(3, ".level(level)".to_owned())]);
    assert_eq!(normal(&blocks("```rust\nf( 1,\n)\n```\n")), "f(1)");
    assert!(!normal(&blocks("```text\nf(1)\n```\n")).contains("f(1)"));
}

struct Page {
    path: PathBuf,
    text: String,
}

/// Returns the pages that users read: each README and guide, and the documentation of each crate.
fn pages(root: &Path) -> Vec<Page> {
    let mut pages = Vec::new();
    for folder in folders(root) {
        for path in files(&folder.join("docs"), "md").into_iter().chain([folder.join("README.md")])
        {
            if let Ok(text) = fs::read_to_string(&path) {
                pages.push(Page { path, text });
            }
        }
        let path = folder.join("src/lib.rs");
        if let Ok(code) = fs::read_to_string(&path) {
            let comments = code.lines().map(|line| line.strip_prefix("//!").unwrap_or_default());
            let text = comments.map(str::trim_start).collect::<Vec<_>>().join("\n");
            pages.push(Page { path, text });
        }
    }
    pages.retain(|page| !page.path.components().any(|part| part.as_os_str() == "adr"));
    pages
}

/// Returns the project's folder and those of its crates.
fn folders(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    let crates = entries.filter(|path| path.join("Cargo.toml").exists() && path.is_dir());
    crates.chain([root.to_owned()]).collect()
}

/// Returns the files below `folder` that have this extension.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(self::files(&path, extension));
        } else if path.extension().is_some_and(|it| it == extension) {
            files.push(path);
        }
    }
    files
}

/// Returns the code blocks of Rust: an info string of `rust`, or none in a crate's documentation.
fn blocks(page: &str) -> String {
    let mut code = String::new();
    let mut block = None;
    for line in page.lines() {
        match (line.strip_prefix("```"), block) {
            (Some(_), Some(_)) => block = None,
            (Some(info), None) => {
                block = Some(info.is_empty() || info.starts_with("rust") || info == "no_run");
            }
            (None, Some(true)) => code.push_str(line.strip_prefix("# ").unwrap_or(line)),
            (None, _) => {}
        }
    }
    code
}

/// Returns the calls in the tables' columns after the first, which says what the reader has, with
/// the numbers of their lines.
fn expressions(page: &str) -> impl Iterator<Item = (usize, String)> {
    page.lines().zip(1..).filter(|(line, _)| line.starts_with('|')).flat_map(|(line, number)| {
        let row = line.replace("\\|", "\0");
        let columns = row.split('|').skip(2);
        let spans = columns.flat_map(|column| column.split('`').skip(1).step_by(2));
        let calls = spans.filter(|span| span.contains('(') && !OTHERS.contains(span));
        let calls: Vec<_> = calls.map(|span| (number, span.replace('\0', "|"))).collect();
        calls
    })
}

/// Returns the code without spaces and without the commas that rustfmt adds at a line's end.
fn normal(code: &str) -> String {
    let code: String = code.split_whitespace().collect();
    code.replace(",)", ")").replace(",}", "}").replace(",]", "]")
}
