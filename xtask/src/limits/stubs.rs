//! Modules that stand in place of others.

use crate::limits::modules::{Declaration, Modules};

/// Returns a line for each module that stands in place of another: a module declares two modules,
/// or imports one name twice, under conditions of which at most one holds. A declaration counts in
/// one pair only, at best with its namesake, and modules count before imports.
pub(crate) fn stubs(modules: &Modules, counts: impl Fn(usize) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for module in &modules.all {
        let counted = module.declarations.iter().filter(|one| counts(one.file));
        let (mut declared, mut imported): (Vec<_>, Vec<_>) = counted.partition(|one| one.is_module);
        let mut pairs = pairs(&mut declared, |one, other| one.name == other.name);
        pairs.extend(self::pairs(&mut declared, |_, _| true));
        pairs.extend(pairs_of_imports(&mut imported, &pairs));
        for (one, other) in pairs {
            let path = modules.files[one.file].path.display();
            let (name, line) = (&one.name, other.line);
            found.push(format!("{path}:{}: {name} or, at line {line}, {}", one.line, other.name));
        }
    }
    found
}

type Pair<'a> = (&'a Declaration, &'a Declaration);

/// Takes out pairs of declarations whose conditions exclude each other.
fn pairs<'a>(
    left: &mut Vec<&'a Declaration>,
    belong: impl Fn(&Declaration, &Declaration) -> bool,
) -> Vec<Pair<'a>> {
    let mut pairs = Vec::new();
    let mut at = 0;
    while at < left.len() {
        let is_other = |other: &&Declaration| {
            belong(left[at], other) && left[at].condition.excludes(&other.condition)
        };
        let other = left[at..].iter().position(is_other);
        match other {
            Some(other) => {
                let other = left.remove(at + other);
                pairs.push((left.remove(at), other));
            }
            None => at += 1,
        }
    }
    pairs
}

/// Pairs imports of one name, of which those with the conditions of a pair belong to that pair.
fn pairs_of_imports<'a>(imported: &mut Vec<&'a Declaration>, known: &[Pair<'a>]) -> Vec<Pair<'a>> {
    let mut found: Vec<Pair<'a>> = Vec::new();
    for pair in pairs(imported, |one, other| one.name == other.name) {
        let is_same = |(one, other): &Pair<'_>| {
            let conditions = [&one.condition, &other.condition];
            conditions.contains(&&pair.0.condition) || conditions.contains(&&pair.1.condition)
        };
        if !known.iter().any(is_same) && !found.iter().any(is_same) {
            found.push(pair);
        }
    }
    found
}
