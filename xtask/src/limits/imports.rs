//! Which module mentions which, and circles of them.

use std::collections::{BTreeMap, BTreeSet};

use crate::limits::modules::Modules;

/// The imports among the children of one module: for each pair of importer and imported, where.
pub(crate) type Imports = BTreeMap<(usize, usize), BTreeSet<String>>;

/// Returns the imports among the children of each module that has any. If a module deep in one
/// child mentions a module deep in another child, the first child imports the second.
pub(crate) fn imports(modules: &Modules) -> BTreeMap<usize, Imports> {
    let mut found: BTreeMap<usize, Imports> = BTreeMap::new();
    for (from, module) in modules.all.iter().enumerate() {
        for mention in &module.mentions {
            let Some(to) = resolve(modules, from, &mention.path, 0) else { continue };
            let Some((parent, pair)) = fork(modules, from, to.module) else { continue };
            let file = modules.files[mention.file].path.display();
            let place = format!("{file}:{} ({})", mention.line, mention.path.join("::"));
            let imports = found.entry(parent).or_default();
            imports.entry(pair).or_default().insert(place);
        }
    }
    found
}

/// What a path names: a module, or an item in it.
struct Target {
    module: usize,
    is_item: bool,
}

/// Follows a path, and the `use` items that names on the way come from. Returns `None` if it leads
/// out of the crate.
fn resolve(modules: &Modules, from: usize, path: &[String], depth: usize) -> Option<Target> {
    // Give up: modules that import each other's names would be followed without end.
    if depth > 16 {
        return None;
    }
    let (mut module, mut rest) = match path.first()?.as_str() {
        "crate" => (0, &path[1..]),
        "self" => (from, &path[1..]),
        "super" => (modules.all[from].parent, &path[1..]),
        first if modules.all[from].children.contains_key(first) => (from, path),
        _ => return None,
    };
    while let [name, after @ ..] = rest {
        rest = after;
        let here = &modules.all[module];
        if name == "super" {
            module = here.parent;
        } else if let Some(child) = here.children.get(name) {
            module = *child;
        } else if let Some(target) = imported(modules, module, name, depth) {
            if target.is_item {
                return Some(target);
            }
            module = target.module;
        } else {
            return Some(Target { module, is_item: true });
        }
    }
    Some(Target { module, is_item: false })
}

/// Returns what a name in a module stands for, if a `use` imports it.
fn imported(modules: &Modules, module: usize, name: &str, depth: usize) -> Option<Target> {
    let here = &modules.all[module];
    if let Some(path) = here.names.get(name) {
        return resolve(modules, module, path, depth + 1);
    }
    here.globs.iter().find_map(|glob| {
        let target = resolve(modules, module, glob, depth + 1)?;
        let there = &modules.all[target.module];
        match there.children.get(name) {
            Some(child) => Some(Target { module: *child, is_item: false }),
            None => imported(modules, target.module, name, depth + 1),
        }
    })
}

/// Returns the innermost module that contains both, and its two children that they are in.
fn fork(modules: &Modules, from: usize, to: usize) -> Option<(usize, (usize, usize))> {
    let (one, other) = (&modules.all[from].path, &modules.all[to].path);
    let common = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    let child = |path: &[String], parent: usize| {
        path.get(common).map(|name| modules.all[parent].children[name])
    };
    let parent = one[..common].iter().fold(0, |module, name| modules.all[module].children[name]);
    Some((parent, (child(one, parent)?, child(other, parent)?)))
}

/// Returns the circles of imports: sets of modules of which each imports, in some steps, each.
pub(crate) fn circles(imports: &Imports) -> Vec<BTreeSet<usize>> {
    let all: BTreeSet<usize> = imports.keys().map(|(importer, _)| *importer).collect();
    let reached: BTreeMap<usize, BTreeSet<usize>> =
        all.iter().map(|module| (*module, reach(imports, *module))).collect();
    let mut circles: Vec<BTreeSet<usize>> = Vec::new();
    for module in all {
        if !reached[&module].contains(&module) || circles.iter().any(|one| one.contains(&module)) {
            continue;
        }
        let is_back = |other: &usize| reached.get(other).is_some_and(|of| of.contains(&module));
        circles.push(reached[&module].iter().copied().filter(is_back).collect());
    }
    circles
}

/// Returns all modules that a module imports, directly or through others.
fn reach(imports: &Imports, module: usize) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut next = vec![module];
    while let Some(module) = next.pop() {
        let imported = imports.range((module, 0)..=(module, usize::MAX)).map(|((_, to), _)| *to);
        next.extend(imported.filter(|to| reached.insert(*to)));
    }
    reached
}
