//! Public items, and the words of rustdoc.

use core::mem;

use proc_macro2::Delimiter;

use crate::limits::tokens::{Kind, Token, each_level};

/// Words between `pub` and the word that says what an item is.
const MODIFIERS: [&str; 4] = ["async", "const", "extern", "unsafe"];
const ITEMS: [&str; 9] =
    ["enum", "fn", "macro", "mod", "static", "struct", "trait", "type", "union"];

/// Returns the number of items that say `pub`, methods included, and of exported macros. Fields and
/// `pub use` are no items, and a trait's methods say no `pub`.
pub(crate) fn public_items(tokens: &[Token]) -> usize {
    let mut count = 0;
    each_level(tokens, &mut |tokens| {
        let starts = tokens.iter().enumerate().filter(|(at, token)| match token.word() {
            Some("pub") => is_item(&tokens[at + 1..]),
            Some("macro_export") => true,
            _ => false,
        });
        count += starts.count();
    });
    count
}

fn is_item(after: &[Token]) -> bool {
    let words = after.iter().filter(|token| !matches!(token.kind, Kind::Literal(_)));
    let mut words = words.map_while(Token::word).peekable();
    let is_const = words.peek() == Some(&"const");
    let Some(word) = words.find(|word| !MODIFIERS.contains(word)) else { return false };
    // `const` alone is followed by the name of a constant.
    is_const || ITEMS.contains(&word)
}

/// What a run of doc comments describes, its line, and its words.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Text {
    /// `None` for the file.
    pub(crate) item: Option<String>,
    pub(crate) line: usize,
    pub(crate) words: usize,
}

/// Returns the rustdoc of each item that has any. Words are parted by blanks; examples count, and
/// files that are included don't.
pub(crate) fn texts(tokens: &[Token]) -> Vec<Text> {
    let mut found = Vec::new();
    each_level(tokens, &mut |tokens| {
        // The words about the file or the surrounding item, and the words about the next item.
        let (mut inner, mut outer) = ((0, 0), (0, 0));
        for (at, token) in tokens.iter().enumerate() {
            let is_attribute = |token: &Token| token.group(Delimiter::Bracket).is_some();
            match &token.kind {
                Kind::Docs(docs) => {
                    let (line, words) = if docs.is_inner { &mut inner } else { &mut outer };
                    *words += docs.words;
                    *line = if *line == 0 { token.first_line } else { *line };
                }
                _ if token.is_mark('#') || token.is_mark('!') || is_attribute(token) => {}
                _ => {
                    let (line, words) = mem::take(&mut outer);
                    if words > 0 {
                        found.push(Text { item: Some(name(&tokens[at..])), line, words });
                    }
                }
            }
        }
        if inner.1 > 0 {
            found.push(Text { item: None, line: inner.0, words: inner.1 });
        }
    });
    found
}

/// Returns the name of the item that these tokens begin with.
fn name(tokens: &[Token]) -> String {
    let mut words = tokens.iter().take(16).filter_map(Token::word);
    let is_before = |word: &&str| {
        *word == "pub"
            || *word == "crate"
            || *word == "impl"
            || MODIFIERS.contains(word)
            || ITEMS.contains(word)
    };
    words.find(|word| !is_before(word)).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::tokens::read;

    #[test]
    fn an_item_is_public_if_it_says_so() {
        let count = |text| public_items(&read(text).unwrap().tokens);
        assert_eq!(count("pub fn a() {} pub const unsafe extern \"C\" fn b() {}"), 2);
        assert_eq!(count("impl A { pub const B: u8 = 1; pub async fn c() {} fn d() {} }"), 2);
        assert_eq!(
            count("#[macro_export] macro_rules! a { () => {} } pub mod b { pub type C = u8; }"),
            3
        );
        assert_eq!(count("pub use a::b; pub(crate) fn a() {} pub(super) struct B; mod c {}"), 0);
        assert_eq!(count("struct A { pub b: u8 } struct C(pub u8);"), 0);
    }

    #[test]
    fn the_words_of_an_item_are_added_up() {
        let text = "//! Of the file.\n#![a]\n/// One two.\n#[b(c)]\n///\n/// Three `four`.\npub fn d() {}\n\
            struct E {\n    /// Five.\n    f: u8,\n}\n";
        let found = texts(&read(text).unwrap().tokens);
        let text =
            |item: Option<&str>, line, words| Text { item: item.map(str::to_owned), line, words };
        assert_eq!(found, [text(Some("d"), 3, 4), text(None, 1, 3), text(Some("f"), 9, 1)]);
    }
}
