//! The names that a `use` imports.

use crate::limits::tokens::Token;

/// A name and the path that it stands for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Use {
    /// `None` for all names of a module.
    pub(crate) name: Option<String>,
    pub(crate) path: Vec<String>,
}

/// Returns what the tokens between `use` and the semicolon import.
pub(crate) fn uses(tree: &[Token]) -> Vec<Use> {
    let mut found = Vec::new();
    branch(&[], tree, &mut found);
    found
}

fn branch(before: &[String], tree: &[Token], found: &mut Vec<Use>) {
    let mut path = before.to_vec();
    let mut name = None;
    let mut tokens = tree.iter();
    while let Some(token) = tokens.next() {
        if let Some(inner) = token.inner() {
            let branches = inner.split(|token| token.is_mark(','));
            branches.filter(|tree| !tree.is_empty()).for_each(|tree| branch(&path, tree, found));
            return;
        }
        match token.word() {
            Some("as") => name = tokens.next().and_then(Token::word).map(str::to_owned),
            // `a::{self}` imports `a`.
            Some("self") if !path.is_empty() => {}
            Some(word) => path.push(word.to_owned()),
            None if token.is_mark('*') => {
                found.push(Use { name: None, path });
                return;
            }
            None => {}
        }
    }
    let name = name.or_else(|| path.last().cloned());
    found.extend(name.map(|name| Use { name: Some(name), path }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::tokens::read;

    #[test]
    fn each_branch_of_a_tree_is_a_path() {
        let tree = read("crate::{a::{self, B as C}, d::*, super::e}").unwrap().tokens;
        let found: Vec<_> = uses(&tree)
            .into_iter()
            .map(|one| format!("{} = {}", one.name.as_deref().unwrap_or("*"), one.path.join("::")))
            .collect();
        assert_eq!(
            found,
            ["a = crate::a", "C = crate::a::B", "* = crate::d", "e = crate::super::e"]
        );
    }
}
