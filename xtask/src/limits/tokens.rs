//! Tokens of a source file, without comments and without what only tests compile.

use core::iter;

use proc_macro2::{Delimiter, Spacing, Span, TokenStream, TokenTree};

use crate::limits::condition::Condition;

/// A token and its lines. A group's are those of its two delimiters.
#[derive(Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) first_line: usize,
    pub(crate) last_line: usize,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Word(String),
    Mark(char),
    Literal(String),
    Group(Delimiter, Vec<Token>),
    /// One comment of rustdoc.
    Docs(Docs),
}

#[derive(Debug)]
pub(crate) struct Docs {
    /// Whether it describes what it stands in (`//!`).
    pub(crate) is_inner: bool,
    pub(crate) words: usize,
}

impl Token {
    pub(crate) fn word(&self) -> Option<&str> {
        if let Kind::Word(word) = &self.kind { Some(word) } else { None }
    }

    pub(crate) fn is_word(&self, word: &str) -> bool {
        self.word() == Some(word)
    }

    pub(crate) fn is_mark(&self, mark: char) -> bool {
        matches!(self.kind, Kind::Mark(one) if one == mark)
    }

    /// Returns the tokens between two delimiters of this kind.
    pub(crate) fn group(&self, delimiter: Delimiter) -> Option<&[Token]> {
        self.inner().filter(|_| matches!(self.kind, Kind::Group(of, _) if of == delimiter))
    }

    /// Returns the tokens of a group.
    pub(crate) fn inner(&self) -> Option<&[Token]> {
        if let Kind::Group(_, inner) = &self.kind { Some(inner) } else { None }
    }
}

/// Calls the function with these tokens, and with those of each group among them.
pub(crate) fn each_level<'a>(tokens: &'a [Token], act: &mut impl FnMut(&'a [Token])) {
    act(tokens);
    tokens.iter().filter_map(Token::inner).for_each(|inner| each_level(inner, act));
}

/// A file's tokens, and the number of its code lines.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) tokens: Vec<Token>,
    pub(crate) code_lines: usize,
}

/// Reads a file.
pub(crate) fn read(text: &str) -> Result<Source, String> {
    let stream: TokenStream = text.parse().map_err(|error| format!("{error}"))?;
    let mut tests = vec![false; text.lines().count() + 2];
    let tokens = convert(stream, &mut tests);
    let mut code = vec![false; tests.len()];
    mark_lines(&tokens, &mut code);
    let code_lines = iter::zip(code, tests).filter(|(code, test)| *code && !test).count();
    Ok(Source { tokens, code_lines })
}

fn mark_lines(tokens: &[Token], code: &mut [bool]) {
    for token in tokens {
        match &token.kind {
            Kind::Docs(_) => {}
            Kind::Group(_, inner) => {
                (code[token.first_line], code[token.last_line]) = (true, true);
                mark_lines(inner, code);
            }
            _ => code[token.first_line..=token.last_line].fill(true),
        }
    }
}

/// Converts tokens, and marks the lines of those that it leaves out.
fn convert(stream: TokenStream, tests: &mut [bool]) -> Vec<Token> {
    let trees: Vec<TokenTree> = stream.into_iter().collect();
    let mut tokens = Vec::with_capacity(trees.len());
    let mut at = 0;
    while let Some(tree) = trees.get(at) {
        let Some(attribute) = Attribute::at(&trees[at..]) else {
            tokens.push(convert_tree(tree, tests));
            at += 1;
            continue;
        };
        let next = at + attribute.length;
        match attribute.meaning(tree.span(), tests) {
            Meaning::Test if attribute.is_inner => return tokens,
            Meaning::Test => {
                let end = item_end(&trees, next);
                let last = trees[end - 1].span().end().line;
                tests[tree.span().start().line..=last].fill(true);
                drop_attributes(&mut tokens);
                at = end;
            }
            Meaning::Docs(docs) => {
                tokens.push(token(Kind::Docs(docs), tree.span()));
                at = next;
            }
            Meaning::Other => {
                tokens.extend(trees[at..next].iter().map(|tree| convert_tree(tree, tests)));
                at = next;
            }
        }
    }
    tokens
}

fn convert_tree(tree: &TokenTree, tests: &mut [bool]) -> Token {
    let kind = match tree {
        TokenTree::Ident(word) => Kind::Word(word.to_string()),
        TokenTree::Punct(mark) => Kind::Mark(mark.as_char()),
        TokenTree::Literal(literal) => Kind::Literal(literal.to_string()),
        TokenTree::Group(group) => Kind::Group(group.delimiter(), convert(group.stream(), tests)),
    };
    token(kind, tree.span())
}

fn token(kind: Kind, span: Span) -> Token {
    Token { kind, first_line: span.start().line, last_line: span.end().line }
}

/// An attribute, or a comment of rustdoc, which the lexer makes one.
struct Attribute {
    stream: TokenStream,
    is_inner: bool,
    /// How many trees it takes.
    length: usize,
}

enum Meaning {
    /// What it belongs to is compiled for tests alone.
    Test,
    Docs(Docs),
    Other,
}

impl Attribute {
    fn at(trees: &[TokenTree]) -> Option<Self> {
        let is = |at: usize, mark| matches!(trees.get(at), Some(TokenTree::Punct(one)) if one.as_char() == mark);
        let is_inner = is(1, '!');
        let length = if is_inner { 3 } else { 2 };
        match trees.get(length - 1) {
            Some(TokenTree::Group(group))
                if is(0, '#') && group.delimiter() == Delimiter::Bracket =>
            {
                Some(Self { stream: group.stream(), is_inner, length })
            }
            _ => None,
        }
    }

    fn meaning(&self, mark: Span, tests: &mut [bool]) -> Meaning {
        // An attribute's mark, `#`, is one character. A comment's mark spans the comment.
        if mark.end().line > mark.start().line || mark.end().column > mark.start().column + 1 {
            let text = self.stream.clone().into_iter().last();
            let text = text.map(|text| text.to_string()).unwrap_or_default();
            let words = text.trim_matches('"').split_whitespace().count();
            return Meaning::Docs(Docs { is_inner: self.is_inner, words });
        }
        let tokens = convert(self.stream.clone(), tests);
        let [name, arguments, ..] = &tokens[..] else { return Meaning::Other };
        let condition = arguments.inner().filter(|_| name.is_word("cfg")).map(Condition::read);
        match condition {
            Some(condition) if !condition.holds_without_tests() => Meaning::Test,
            _ => Meaning::Other,
        }
    }
}

/// Removes the attributes and docs at the end, which belong to an item that is left out.
fn drop_attributes(tokens: &mut Vec<Token>) {
    loop {
        match &tokens[..] {
            [.., Token { kind: Kind::Docs(Docs { is_inner: false, .. }), .. }] => {
                tokens.pop();
            }
            [.., mark, group] if mark.is_mark('#') && group.group(Delimiter::Bracket).is_some() => {
                tokens.truncate(tokens.len() - 2);
            }
            _ => return,
        }
    }
}

/// Words that an item begins with, after its visibility.
const ITEMS: &[&str] = &[
    "async",
    "const",
    "enum",
    "extern",
    "fn",
    "impl",
    "let",
    "macro_rules",
    "mod",
    "pub",
    "static",
    "struct",
    "trait",
    "type",
    "union",
    "unsafe",
    "use",
];

/// Returns where the item, field, variant, arm or statement ends that begins here.
fn item_end(trees: &[TokenTree], mut at: usize) -> usize {
    while let Some(attribute) = Attribute::at(&trees[at..]) {
        at += attribute.length;
    }
    let word = |at: usize| match trees.get(at) {
        Some(TokenTree::Ident(word)) => word.to_string(),
        _ => String::new(),
    };
    // How many trees the visibility has.
    let visibility = match (word(at).as_str(), trees.get(at + 1)) {
        ("pub", Some(TokenTree::Group(_))) => 2,
        ("pub", _) => 1,
        _ => 0,
    };
    let first = word(at + visibility);
    let is_item = ITEMS.contains(&first.as_str());
    let is_function = ["async", "const", "extern", "unsafe"].contains(&first.as_str())
        && trees[at..]
            .iter()
            .take(8)
            .any(|tree| matches!(tree, TokenTree::Ident(one) if one == "fn"));
    // These end with a semicolon, also if braces come before.
    let is_statement =
        !is_function && ["const", "let", "static", "type", "use"].contains(&first.as_str());
    while let Some(tree) = trees.get(at) {
        at += 1;
        match tree {
            TokenTree::Punct(mark) if mark.as_char() == ';' => return at,
            TokenTree::Punct(mark)
                if mark.as_char() == ',' && !is_item && mark.spacing() == Spacing::Alone =>
            {
                return at;
            }
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace && !is_statement => {
                return at;
            }
            _ => {}
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code_lines(text: &str) -> usize {
        read(text).unwrap().code_lines
    }

    #[test]
    fn blank_lines_and_comments_are_no_code() {
        assert_eq!(code_lines("//! Docs.\n\n/// Docs.\n// Why.\nfn f() {\n/* a\n b */ }\n"), 2);
        assert_eq!(code_lines("#[doc = \"x\"]\nconst A: &str = \"a // b\n\n\";\n"), 4);
    }

    #[test]
    fn tests_are_no_code() {
        for test in [
            "#[cfg(test)]\nmod tests {\n    fn a() {}\n}",
            "/// Docs.\n#[cfg(all(test, unix))]\n#[must_use]\nfn a<A, B>() {\n}",
            "#[cfg(loom)]\nuse a::{\n    b,\n};",
            "#[cfg(any(test, loom, fuzzing))]\npub(crate) const fn a() {}",
            "#[cfg(test)]\nconst A: B = B {\n};",
            "#[cfg(doctest)]\n#[doc = \"x\"]\nstruct Readme;",
        ] {
            let text = format!("{test}\nfn b() {{}}\n");
            assert_eq!(code_lines(&text), 1, "{test}");
        }
        assert_eq!(code_lines("struct A {\n    #[cfg(test)]\n    a: u8,\n    b: u8,\n}\n"), 3);
        assert_eq!(code_lines("#![cfg(test)]\nfn a() {}\n"), 0);
    }

    #[test]
    fn what_is_not_for_tests_alone_is_code() {
        assert_eq!(code_lines("#[cfg(any(test, unix))]\nmod a {\n}\n"), 3);
        assert_eq!(code_lines("#[cfg(not(test))]\nfn a() {}\n"), 2);
    }
}
