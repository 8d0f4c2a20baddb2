//! Words that make prose hard to read, counted per 1,000 words of comments and Markdown.
//!
//! A reader has to go back for the noun that `what` or `that of` stands for, and `tell` has a
//! plainer verb in each place: returns, reports, prints. Other crates of the field do without them,
//! so this one has a limit for each.
#![expect(clippy::print_stdout, reason = "the table is the task's output")]

mod text;

use std::collections::BTreeMap;

use crate::files;
use crate::run::{output, program, root};
use text::Text;

/// The longest line of a comment, unless it holds an address.
const COLUMNS: usize = 100;

/// A kind of phrase and how many there may be in 1,000 words.
struct Limit {
    name: &'static str,
    per_thousand: f64,
}

const LIMITS: [Limit; 4] = [
    Limit { name: "tell", per_thousand: 0.2 },
    Limit { name: "what", per_thousand: 1.0 },
    Limit { name: "that of", per_thousand: 0.5 },
    Limit { name: "of which", per_thousand: 0.5 },
];

/// Returns the index in `LIMITS` of the phrase that begins with `word`, if one does.
fn phrase(word: &str, rest: &str) -> Option<usize> {
    let is_followed_by = |next: &str| {
        let after = rest.strip_prefix(' ').and_then(|rest| {
            rest.get(..next.len())?.eq_ignore_ascii_case(next).then(|| &rest[next.len()..])
        });
        after.is_some_and(|after| !after.starts_with(text::is_of_word))
    };
    match word.to_ascii_lowercase().as_str() {
        "tell" | "tells" | "told" | "telling" => Some(0),
        "what" => Some(1),
        "that" | "those" if is_followed_by("of") => Some(2),
        "of" | "by" | "in" if is_followed_by("which") => Some(3),
        _ => None,
    }
}

/// Counts of a folder, and the places to look at.
#[derive(Debug, Default)]
struct Count {
    words: usize,
    phrases: [usize; LIMITS.len()],
    long_lines: usize,
    places: Vec<String>,
}

impl Count {
    /// Adds a file.
    fn add(&mut self, name: &str, text: &Text) {
        for (number, line) in text.lines() {
            self.words += text::words(line);
            for (word, rest) in text::tokens(line) {
                if let Some(index) = phrase(word, rest) {
                    self.phrases[index] += 1;
                    self.places.push(format!("{name}:{number}: {}", LIMITS[index].name));
                }
            }
        }
        for number in text.long_lines() {
            self.long_lines += 1;
            self.places.push(format!("{name}:{number}: past column {COLUMNS}"));
        }
    }

    fn merge(&mut self, other: &Self) {
        self.words += other.words;
        self.long_lines += other.long_lines;
        for (sum, count) in self.phrases.iter_mut().zip(other.phrases) {
            *sum += count;
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "there are fewer words than 2^52")]
    fn rates(&self) -> [f64; LIMITS.len()] {
        self.phrases.map(|count| 1000.0 * count as f64 / self.words.max(1) as f64)
    }

    /// Returns whether each count is within its limit.
    fn is_good(&self) -> bool {
        let mut rates = self.rates().into_iter().zip(LIMITS);
        rates.all(|(rate, limit)| rate <= limit.per_thousand) && self.long_lines == 0
    }

    fn row(&self, name: &str) -> String {
        let rates = self.rates().map(|rate| format!("{rate:9.1}")).concat();
        format!("{name:16}{:8}{rates}{:9}", self.words, self.long_lines)
    }
}

/// Counts all tracked Rust and Markdown files and prints a row for each folder. If folders or files
/// are named, counts those only and prints the places, too.
pub(crate) fn check(paths: &[String]) -> Result<(), String> {
    let mut list = program("git", &["ls-files", "-z", "--"]);
    if paths.is_empty() {
        list.args(["*.rs", "*.md"]);
    } else {
        list.args(paths);
    }
    let files = output(&mut list)?;
    let mut folders = BTreeMap::<&str, Count>::new();
    for name in files.split_terminator('\0') {
        let path = root().join(name);
        // A file may be deleted and not yet committed.
        if !path.is_file() {
            continue;
        }
        let text = match name.rsplit_once('.') {
            Some((_, "rs")) => Text::of_rust(&files::read(&path)?),
            Some((_, "md")) => Text::of_markdown(&files::read(&path)?),
            _ => continue,
        };
        let folder = name.split_once('/').map_or(".", |(folder, _)| folder);
        folders.entry(folder).or_default().add(name, &text);
    }
    let names = LIMITS.map(|limit| format!("{:>9}", limit.name)).concat();
    println!("{:16}{:>8}{names}{:>9}", "per 1,000 words", "words", "long");
    let mut total = Count::default();
    for (folder, count) in &folders {
        println!("{}", count.row(folder));
        total.merge(count);
    }
    println!("{}", total.row("all"));
    let limits = LIMITS.map(|limit| format!("{:9.1}", limit.per_thousand)).concat();
    println!("{:16}{:8}{limits}{:9}", "limit", "", 0);
    if !paths.is_empty() {
        folders.values().flat_map(|count| &count.places).for_each(|place| println!("{place}"));
    }
    if total.is_good() {
        return Ok(());
    }
    Err("the prose is over a limit; \"cargo xtask prose FOLDER\" lists the places".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(rust: &str) -> Count {
        let mut count = Count::default();
        count.add("a.rs", &Text::of_rust(rust));
        count
    }

    #[test]
    fn each_phrase_is_counted_with_its_place() {
        let found = count(concat!(
            "/// Tells what those of a kind told, in which order.\n",
            "// That of a telling; by whichever; that  of; those offered; retell.\n",
            "let what = 1; // what\n",
        ));
        assert_eq!(found.phrases, [3, 1, 2, 1]);
        assert_eq!(found.words, 10 + 11);
        assert_eq!(found.places[0], "a.rs:1: tell");
        assert_eq!(found.places[1], "a.rs:1: what");
        assert_eq!(found.places[5], "a.rs:2: that of");
    }

    #[test]
    fn code_is_not_prose() {
        let rust = "/// Reads `what` it is.\n/// ```\n/// let what = 1;\n/// ```\n/// But what?\n";
        assert_eq!(count(rust).phrases, [0, 1, 0, 0]);
        // Between two comments no block of code stays open.
        assert_eq!(count("/// ```\nfn f() {}\n// what\n").phrases, [0, 1, 0, 0]);
    }

    #[test]
    fn each_limit_can_be_exceeded() {
        let words = "word ".repeat(1000);
        assert!(count(&format!("//\n/// {words} https://long\n")).is_good());
        for phrase in ["tell", "what and what", "that of", "in which"] {
            let rust = format!("//\n/// {words} https://long {phrase}\n");
            assert!(!count(&rust).is_good(), "{phrase}");
        }
        assert!(!count(&format!("// {words}")).is_good());
    }

    #[test]
    fn a_long_line_is_one_past_the_last_column() {
        let fits = format!("// {}", "ä".repeat(97));
        assert_eq!(count(&fits).long_lines, 0);
        assert_eq!(count(&format!("{fits}.")).long_lines, 1);
        assert_eq!(count(&format!("{fits} https://example.org")).long_lines, 0);
        assert_eq!(count(&format!("let s = \"{fits}{fits}\";")).long_lines, 0);
    }
}
