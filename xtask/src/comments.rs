//! A sample of the comments, for somebody who has not seen the code: can each be understood at the
//! first reading, and does it say why?

use std::path::Path;

use crate::files;
use crate::run::root;
use crate::workspace;

const COUNT: usize = 60;
/// How many lines of code are shown after a comment.
const CODE: usize = 4;

struct Comment {
    place: String,
    lines: Vec<String>,
}

/// Prints 60 comments of the published packages, with the code below them, by a seed.
#[expect(clippy::print_stdout, reason = "the sample is the task's output")]
pub(crate) fn draw(arguments: &[String]) -> Result<(), String> {
    let seed = arguments.first().map_or("1", String::as_str);
    let mut seed: u64 = seed.parse().map_err(|_| format!("the seed is a number, not {seed}"))?;
    let mut all = Vec::new();
    for package in workspace::published()? {
        add_folder(&package.folder().join("src"), &mut all)?;
    }
    let total = all.len();
    for number in 1..=COUNT.min(total) {
        // Steele and Vigna's SplitMix64: the same comments for the same seed on every machine.
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (seed ^ seed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        let at = usize::try_from((mixed ^ mixed >> 31) % all.len() as u64).unwrap_or(0);
        let Comment { place, lines } = all.swap_remove(at);
        println!("{number}. {place}\n{}\n", lines.join("\n"));
    }
    println!("{COUNT} of {total} comments");
    Ok(())
}

fn add_folder(folder: &Path, all: &mut Vec<Comment>) -> Result<(), String> {
    let mut entries = files::entries(folder)?;
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            add_folder(&entry, all)?;
        } else if entry.extension().is_some_and(|it| it == "rs") {
            add_file(&entry, all)?;
        }
    }
    Ok(())
}

fn add_file(file: &Path, all: &mut Vec<Comment>) -> Result<(), String> {
    let text = files::read(file)?;
    let place = file.strip_prefix(root()).unwrap_or(file).display().to_string();
    let lines: Vec<_> = text.lines().collect();
    all.extend(
        comments(&lines)
            .into_iter()
            .map(|(at, lines)| Comment { place: format!("{place}:{at}"), lines }),
    );
    Ok(())
}

/// Returns the comments that are no documentation, each with the number of its line and the code
/// after it.
fn comments(lines: &[&str]) -> Vec<(usize, Vec<String>)> {
    let is_comment = |line: &str| {
        let text = line.trim_start();
        text.starts_with("//") && !text.starts_with("///") && !text.starts_with("//!")
    };
    let begins = |at: usize| is_comment(lines[at]) && (at == 0 || !is_comment(lines[at - 1]));
    let comment = |at: usize| {
        let length = lines[at..].iter().take_while(|line| is_comment(line)).count();
        let shown = lines[at..].iter().take(length + CODE);
        (at + 1, shown.map(|line| (*line).to_owned()).collect())
    };
    (0..lines.len()).filter(|&at| begins(at)).map(comment).collect()
}

#[cfg(test)]
mod tests {
    use super::comments;

    #[test]
    fn a_comment_is_found_with_the_code_below() {
        let lines =
            ["/// Documentation.", "fn f() {", "    // One,", "    // two.", "    g();", "}"];
        let found = comments(&lines);
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].0, &found[0].1[..3]),
            (3, &["    // One,", "    // two.", "    g();"].map(String::from)[..])
        );
        assert!(comments(&["//! Room.", "", "use a;"]).is_empty());
    }
}
