//! Text that can't drive the terminal that shows it.

use tach_log::Value;

/// The ends of the codes of this program's own styles and of clap's, without the escape and the
/// bracket.
const STYLES: [&str; 7] = ["0m", "1m", "2m", "4m", "31m", "32m", "33m"];

/// Returns `text` for a terminal: control characters, which may come from a file or a path, are
/// escaped as in a log, except line ends and the colours of this program.
pub(super) fn harmless(text: &str) -> String {
    let lines: Vec<_> = text.split('\n').map(line).collect();
    lines.join("\n")
}

/// Like [`harmless`], for a text that is one line: line ends are escaped too.
pub(super) fn line(text: &str) -> String {
    by_parts(text, escaped, str::to_owned)
}

/// Returns `text` without the colours of this program. Everything else stays.
pub(super) fn plain(text: &str) -> String {
    by_parts(text, str::to_owned, |_| String::new())
}

/// Replaces the codes of this program's styles, and the parts between.
fn by_parts(
    text: &str,
    between: impl Fn(&str) -> String,
    style_code: impl Fn(&str) -> String,
) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\x1b[") {
        let (before, code) = rest.split_at(at);
        let style = STYLES.iter().find(|style| code[2..].starts_with(**style));
        let length = 2 + style.map_or(0, |style| style.len());
        let (code, after) = code.split_at(length);
        replaced += &between(before);
        replaced += &if style.is_some() { style_code(code) } else { between(code) };
        rest = after;
    }
    replaced + &between(rest)
}

fn escaped(text: &str) -> String {
    Value::Str(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::{bad, faint, good, heading, warning};

    #[test]
    fn only_line_ends_and_own_colours_reach_a_terminal() {
        for (text, shown) in [
            ("two\nlines", "two\nlines"),
            ("\u{1b}]0;title\u{7}", "\\u001b]0;title\\u0007"),
            // Text that nobody sees, and a cleared screen.
            ("\u{1b}[8mhidden\u{1b}[0m", "\\u001b[8mhidden\u{1b}[0m"),
            ("\u{1b}[2J\u{1b}[", "\\u001b[2J\\u001b["),
            ("\u{1b}[1;31m", "\\u001b[1;31m"),
            ("back\rforth\t\u{9b}31m", "back\\rforth\\t\\u009b31m"),
            ("\u{202e}gnp.exe", "\\u202egnp.exe"),
        ] {
            assert_eq!(harmless(text), shown);
        }
        for text in ["\u{1b}]0;title\u{7}", "\u{1b}[8m\u{1b}[2J", "two\nlines\r"] {
            assert_eq!(plain(text), text);
        }
        for style in [heading("x"), faint("x"), good("x"), warning("x"), bad("x")] {
            let styled = format!("a {style} b");
            assert_eq!(harmless(&styled), styled);
            assert_eq!(plain(&styled), "a x b");
        }
    }
}
