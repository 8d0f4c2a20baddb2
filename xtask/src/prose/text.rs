//! The prose of a file: its comments, or its Markdown, without code.

use super::COLUMNS;

/// Lines of prose with their numbers in the file.
pub(super) struct Text {
    numbers: Vec<usize>,
    prose: String,
    long: Vec<usize>,
}

impl Text {
    /// Takes the comments that have a line to themselves, without the code blocks in them.
    pub(super) fn of_rust(source: &str) -> Self {
        let (mut numbers, mut lines, mut long) = (Vec::new(), Vec::new(), Vec::new());
        let mut is_code = false;
        for (index, line) in source.lines().enumerate() {
            let Some(comment) = line.trim_start().strip_prefix("//") else {
                is_code = false;
                continue;
            };
            if line.trim_end().chars().count() > COLUMNS && !line.contains("://") {
                long.push(index + 1);
            }
            let comment = comment.strip_prefix(['/', '!']).unwrap_or(comment);
            if comment.trim().starts_with("```") {
                is_code = !is_code;
            } else if !is_code {
                numbers.push(index + 1);
                lines.push(comment);
            }
        }
        Self { numbers, prose: without_code_spans(&lines.join("\n")), long }
    }

    /// Takes all lines, without the code blocks.
    pub(super) fn of_markdown(source: &str) -> Self {
        let prose = without_code_spans(&without(source, "```", ""));
        Self { numbers: (1..=prose.lines().count()).collect(), prose, long: Vec::new() }
    }

    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.numbers.iter().copied().zip(self.prose.split('\n'))
    }

    pub(super) fn long_lines(&self) -> impl Iterator<Item = usize> {
        self.long.iter().copied()
    }
}

/// Puts one word in place of each `code span`.
fn without_code_spans(text: &str) -> String {
    without(text, "`", " x ")
}

/// Puts `word` in place of everything between a pair of marks, and keeps the line ends, so that the
/// lines keep their numbers.
fn without(text: &str, mark: &str, word: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(mark) {
        let Some((inside, next)) = after.split_once(mark) else { break };
        kept.push_str(before);
        kept.push_str(word);
        kept.extend(inside.matches('\n'));
        rest = next;
    }
    kept.push_str(rest);
    kept
}

/// Counts the runs of ASCII letters and apostrophes.
pub(super) fn words(line: &str) -> usize {
    let is_of_word = |c: char| c.is_ascii_alphabetic() || c == '\'';
    line.split(|c| !is_of_word(c)).filter(|word| !word.is_empty()).count()
}

/// Returns each run of letters, digits and underscores, with the rest of the line after it.
pub(super) fn tokens(line: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = line;
    core::iter::from_fn(move || {
        let start = rest.find(is_of_word)?;
        let word = &rest[start..];
        let end = word.find(|c| !is_of_word(c)).unwrap_or(word.len());
        rest = &word[end..];
        Some((&word[..end], rest))
    })
}

pub(super) fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_their_numbers() {
        let text = Text::of_markdown("one\n```sh\ntwo\n```\nthree `four\nfive` six\nseven\n");
        let lines: Vec<_> = text.lines().filter(|(_, line)| words(line) > 0).collect();
        assert_eq!(lines, [(1, "one"), (5, "three  x "), (6, " six"), (7, "seven")]);
        let text = Text::of_rust("fn f() {}\n//! one\n\n// two\n");
        assert_eq!(text.lines().collect::<Vec<_>>(), [(2, " one"), (4, " two")]);
    }

    #[test]
    fn an_odd_mark_hides_nothing() {
        assert_eq!(without_code_spans("a `b` c ` d"), "a  x  c ` d");
    }

    #[test]
    fn words_are_letters_and_apostrophes() {
        assert_eq!(words("it's 2 a_b, naïve"), 5);
        let tokens: Vec<_> = tokens("a_b, 2c").collect();
        assert_eq!(tokens, [("a_b", ", 2c"), ("2c", "")]);
    }
}
