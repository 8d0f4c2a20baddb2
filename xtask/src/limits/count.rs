//! What is counted of a crate.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::limits::condition::conditions;
use crate::limits::imports::{Imports, circles, imports};
use crate::limits::items::{Text, public_items, texts};
use crate::limits::modules::{File, Modules};
use crate::limits::stubs::stubs;
use crate::limits::verdict::{Count, Measure};

macro_rules! measures {
    ($($name:ident: $section:literal, $what:literal, $follows:literal;)*) => {
        $(pub(crate) static $name: Measure =
            Measure { section: $section, what: $what, follows: $follows };)*
    };
}
measures! {
    CODE_LINES: "code_lines", "code lines", true;
    ALL_CODE_LINES: "all_code_lines", "code lines in all", true;
    PUBLIC_ITEMS: "public_items", "public items", true;
    STUBS: "stubs", "modules in place of others", true;
    CONDITIONS: "conditions", "different conditions of `cfg`", true;
    ROOMS_IN_CIRCLES: "rooms_in_circles", "rooms that import each other", true;
    MODULES_IN_CIRCLES: "modules_in_circles", "modules of one folder that import each other", true;
    UPWARD_IMPORTS: "upward_imports", "pairs of rooms of which the lower imports the upper", true;
    UNMAPPED_ROOMS: "unmapped_rooms", "rooms that ARCHITECTURE.md's map lacks or invents", true;
    CFGS: "cfgs_per_1000_lines", "`cfg`s", false;
    FILE_LINES: "file_lines", "lines", false;
    RUSTDOC_WORDS: "rustdoc_words", "words of rustdoc", false;
    ADR_WORDS: "adr_words", "words", false;
}

/// The crates of which different conditions are counted.
const CONDITIONAL: [&str; 4] = ["tach-pipeline", "tach-record", "tach-spans", "tach-survive"];
/// The rooms that touch the machine, where conditions belong.
const MACHINE: [&str; 3] = ["counter", "os", "sync"];

/// What is counted of one thing, without a limit per line.
pub(crate) fn count(
    measure: &'static Measure,
    of: &str,
    number: usize,
    places: Vec<String>,
) -> Count {
    Count { measure, of: of.to_owned(), number, code_lines: None, places }
}

/// Counts a crate: all measures but those of the whole project. `map` is the crate's rooms from
/// the lowest, if it has a map.
pub(crate) fn count_crate(
    name: &str,
    folder: &Path,
    map: Option<&[&str]>,
) -> Result<Vec<Count>, String> {
    let firsts = ["src/lib.rs", "src/main.rs"];
    let firsts = firsts.iter().filter(|first| folder.join(first).exists());
    let trees = firsts.map(|first| Modules::read(folder, first)).collect::<Result<Vec<_>, _>>()?;
    // A file that two modules name counts once.
    let files: BTreeMap<_, _> =
        trees.iter().flat_map(|tree| &tree.files).map(|file| (&file.path, file)).collect();
    let files: Vec<&File> = files.into_values().collect();
    let mut counts = sizes(name, &files);
    counts.extend(cfgs(name, &files));
    let stubs: Vec<_> = trees
        .iter()
        .flat_map(|modules| stubs(modules, |file| !is_machine(&modules.files[file])))
        .map(|place| format!("{name}/{place}"))
        .collect();
    counts.push(count(&STUBS, name, stubs.len(), stubs));
    counts.extend(in_circles(name, &trees));
    if let Some(map) = map {
        counts.extend(on_map(name, &trees[0], map));
    }
    Ok(counts)
}

fn is_machine(file: &File) -> bool {
    file.path.with_extension("").iter().any(|part| MACHINE.iter().any(|room| part == *room))
}

fn sizes(name: &str, files: &[&File]) -> Vec<Count> {
    let code_lines = files.iter().map(|file| file.source.code_lines).sum();
    let mut counts = vec![count(&CODE_LINES, name, code_lines, Vec::new())];
    let public = files.iter().map(|file| public_items(&file.source.tokens)).sum();
    counts.push(count(&PUBLIC_ITEMS, name, public, Vec::new()));
    for file in files {
        let path = format!("{name}/{}", file.path.display());
        // Of several items with one name, keep the one with the most words.
        let mut most: BTreeMap<String, Text> = BTreeMap::new();
        for text in texts(&file.source.tokens) {
            let item = text.item.as_ref();
            let of = item.map_or_else(|| path.clone(), |item| format!("{path}: {item}"));
            if most.get(&of).is_none_or(|one| one.words < text.words) {
                most.insert(of, text);
            }
        }
        counts.extend(most.into_iter().map(|(of, text)| {
            let place = vec![format!("{path}:{}", text.line)];
            count(&RUSTDOC_WORDS, &of, text.words, place)
        }));
        counts.push(count(&FILE_LINES, &path, file.lines, Vec::new()));
    }
    counts
}

fn cfgs(name: &str, files: &[&File]) -> Vec<Count> {
    let mut different: BTreeMap<_, Vec<String>> = BTreeMap::new();
    let (mut cfgs, mut code_lines, mut places) = (0, 0, Vec::new());
    for file in files.iter().filter(|file| !is_machine(file)) {
        let path = format!("{name}/{}", file.path.display());
        let found = conditions(&file.source.tokens);
        cfgs += found.len();
        code_lines += file.source.code_lines;
        if !found.is_empty() {
            places.push((found.len(), path.clone()));
        }
        for (condition, line) in found {
            let Some(condition) = condition else { continue };
            different.entry(condition).or_default().push(format!("{path}:{line}"));
        }
    }
    places.sort_by(|one, other| other.cmp(one));
    let places = places.into_iter().take(8).map(|(cfgs, path)| format!("{cfgs} in {path}"));
    let mut counts = vec![count(&CFGS, name, cfgs, places.collect())];
    counts[0].code_lines = Some(code_lines);
    if CONDITIONAL.contains(&name) {
        let mut places: Vec<_> = different.into_iter().collect();
        places.sort_by_key(|(_, places)| places.len());
        let places: Vec<_> = places
            .into_iter()
            .map(|(condition, places)| {
                format!("{condition}: {} times, {}", places.len(), places[0])
            })
            .collect();
        counts.push(count(&CONDITIONS, name, places.len(), places));
    }
    counts
}

fn in_circles(name: &str, trees: &[Modules]) -> Vec<Count> {
    let mut found = [(0, Vec::new()), (0, Vec::new())];
    for modules in trees {
        for (parent, imports) in imports(modules) {
            let (number, places) = &mut found[usize::from(parent != 0)];
            for circle in circles(&imports) {
                *number += circle.len();
                places.extend(edges(name, modules, &imports, &circle));
            }
        }
    }
    let [(rooms, of_rooms), (others, of_others)] = found;
    vec![
        count(&ROOMS_IN_CIRCLES, name, rooms, of_rooms),
        count(&MODULES_IN_CIRCLES, name, others, of_others),
    ]
}

/// Describes the imports within a circle.
fn edges(
    name: &str,
    modules: &Modules,
    imports: &Imports,
    circle: &BTreeSet<usize>,
) -> Vec<String> {
    let inside =
        imports.iter().filter(|((one, other), _)| circle.contains(one) && circle.contains(other));
    inside.map(|(pair, places)| edge(name, modules, *pair, places)).collect()
}

fn edge(
    name: &str,
    modules: &Modules,
    (from, to): (usize, usize),
    places: &BTreeSet<String>,
) -> String {
    let first: Vec<_> = places.iter().take(3).map(|place| format!("{name}/{place}")).collect();
    let more =
        if places.len() > 3 { format!(" and {} more", places.len() - 3) } else { String::new() };
    let path = &modules.all[from].path;
    let to = modules.name(to);
    format!("{} -> {to}: {}{more}", path.join("::"), first.join(", "))
}

/// Compares the rooms with the map, and counts imports of rooms that stand above their importer.
fn on_map(name: &str, modules: &Modules, map: &[&str]) -> [Count; 2] {
    let rooms = modules.all[0].children.iter().filter(|(_, room)| modules.all[**room].is_file);
    let rooms: BTreeSet<&str> = rooms.map(|(name, _)| name.as_str()).collect();
    let listed: BTreeSet<&str> = map.iter().copied().collect();
    let missing = rooms.difference(&listed).map(|room| format!("add {room}"));
    let extra = listed.difference(&rooms).map(|room| format!("remove {room}"));
    let unmapped: Vec<_> = missing.chain(extra).collect();
    let height = |room: usize| map.iter().position(|name| *name == modules.name(room));
    let imports = imports(modules).remove(&0).unwrap_or_default();
    let upward = imports.iter().filter(|((importer, imported), _)| {
        matches!((height(*importer), height(*imported)), (Some(one), Some(other)) if one < other)
    });
    let upward: Vec<_> = upward.map(|(pair, places)| edge(name, modules, *pair, places)).collect();
    [
        count(&UNMAPPED_ROOMS, name, unmapped.len(), unmapped),
        count(&UPWARD_IMPORTS, name, upward.len(), upward),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files;
    use crate::run::target;

    /// Counts a crate of these files, each a path in `src/` and its text.
    fn counted(name: &str, map: Option<&[&str]>, sources: &[(&str, &str)]) -> Vec<Count> {
        let folder = target().join("limits-tests").join(name);
        files::fresh_folder(&folder).unwrap();
        for (path, text) in sources {
            let path = folder.join("src").join(path);
            files::create_folder(path.parent().unwrap()).unwrap();
            files::write(&path, text).unwrap();
        }
        count_crate(name, &folder, map).unwrap()
    }

    fn of<'a>(counts: &'a [Count], measure: &'static Measure) -> &'a Count {
        counts.iter().find(|count| count.measure.section == measure.section).unwrap()
    }

    #[test]
    fn rooms_that_import_each_other_are_a_circle() {
        let counts = counted(
            "rooms",
            None,
            &[
                ("lib.rs", "mod a; mod b; mod c; mod d; pub use crate::c::C;"),
                // The imports are a tree, a path in the code, and a name that the root imports.
                ("a.rs", "use crate::{b::{self, B}, d};\n"),
                ("b.rs", "mod deep;\n"),
                ("b/deep.rs", "fn b() { super::super::a::A::new(); let c: crate::C; }\n"),
                ("c.rs", "use super::a;\n"),
                ("d.rs", "#[cfg(test)] mod tests { use crate::a; }\n"),
            ],
        );
        let circle = of(&counts, &ROOMS_IN_CIRCLES);
        assert_eq!(circle.number, 3);
        assert_eq!(
            circle.places,
            [
                "a -> b: rooms/src/a.rs:1 (crate::b), rooms/src/a.rs:1 (crate::b::B)",
                "b -> a: rooms/src/b/deep.rs:1 (super::super::a::A::new)",
                "b -> c: rooms/src/b/deep.rs:1 (crate::C)",
                "c -> a: rooms/src/c.rs:1 (super::a)",
            ]
        );
        assert_eq!(of(&counts, &MODULES_IN_CIRCLES).number, 0);
    }

    #[test]
    fn imports_downwards_are_no_circle() {
        let counts = counted(
            "downwards",
            Some(&["b", "a"]),
            &[
                ("lib.rs", "mod a; mod b;"),
                ("a.rs", "mod c; use crate::b; use self::c::D;"),
                (
                    "a/c.rs",
                    "use super::E; pub(in crate::a) struct D; macro_rules! d { () => { $crate::b::B } }",
                ),
                ("b.rs", "use b::B; use std::a;"),
            ],
        );
        assert_eq!(of(&counts, &ROOMS_IN_CIRCLES).number, 0);
        assert_eq!(of(&counts, &MODULES_IN_CIRCLES).number, 0);
        assert_eq!(of(&counts, &UPWARD_IMPORTS).number, 0);
        assert_eq!(of(&counts, &UNMAPPED_ROOMS).number, 0);
    }

    #[test]
    fn siblings_that_import_each_other_are_a_circle() {
        let counts = counted(
            "siblings",
            None,
            &[
                ("lib.rs", "mod a;"),
                (
                    "a.rs",
                    "mod b; #[path = \"b/c.rs\"] mod c; mod d { pub(crate) use super::b::*; }",
                ),
                ("a/b.rs", "mod deep; use super::c::C;"),
                ("a/b/deep.rs", ""),
                ("b/c.rs", "use crate::a::d::deep;"),
            ],
        );
        assert_eq!(of(&counts, &ROOMS_IN_CIRCLES).number, 0);
        let circle = of(&counts, &MODULES_IN_CIRCLES);
        assert_eq!((circle.number, circle.places.len()), (2, 2), "{:?}", circle.places);
    }

    #[test]
    fn an_import_of_a_room_above_is_counted_and_the_map_is_whole() {
        let counts = counted(
            "map",
            Some(&["a", "b", "d"]),
            &[
                ("lib.rs", "mod a; mod b; mod c;"),
                ("a.rs", "use crate::b::B;"),
                ("b.rs", ""),
                ("c.rs", "use crate::a::A;"),
            ],
        );
        let upward = of(&counts, &UPWARD_IMPORTS);
        assert_eq!(upward.places, ["a -> b: map/src/a.rs:1 (crate::b::B)"]);
        assert_eq!(of(&counts, &UNMAPPED_ROOMS).places, ["add c", "remove d"]);
    }

    #[test]
    fn two_modules_of_which_one_is_there_are_a_stub_by_any_name() {
        let counts = counted(
            "stubs",
            None,
            &[
                (
                    "lib.rs",
                    "#[cfg(any(a, b))] mod one;
                 #[cfg(all(not(a), not(b)))] mod other;
                 #[cfg(unix)] mod unix;
                 #[cfg(windows)] mod windows;
                 #[cfg(c)] mod c {}
                 mod os;
                 mod below;",
                ),
                ("one.rs", "cfg_if! { if #[cfg(d)] { mod d; } else { mod e; } }"),
                ("one/d.rs", ""),
                ("one/e.rs", ""),
                (
                    "other.rs",
                    "mod f { #[cfg(g)] use self::h as it; #[cfg(not(g))] use self::i as it; }",
                ),
                ("unix.rs", ""),
                ("windows.rs", ""),
                ("os.rs", "#[cfg(a)] mod a {} #[cfg(not(a))] mod b {}"),
                (
                    "below.rs",
                    "#[cfg(a)] use self::a as it; #[cfg(a)] mod a {} #[cfg(not(a))] mod b {} #[cfg(not(a))] use self::b as it;",
                ),
            ],
        );
        let stubs = of(&counts, &STUBS);
        assert_eq!(stubs.number, 4, "{:?}", stubs.places);
        assert_eq!(stubs.places[0], "stubs/src/lib.rs:1: one or, at line 2, other");
    }

    #[test]
    fn conditions_are_counted_outside_of_the_machine_and_of_tests() {
        let counts = counted(
            CONDITIONAL[0],
            None,
            &[
                ("lib.rs", "mod a;\nmod os;\n#[cfg(test)]\nmod tests { #[cfg(x)] fn x() {} }\n"),
                ("a.rs", "#[cfg(all(b, c))]\nfn a() {}\n#[cfg(all(c, b))] fn a() { cfg!(d) }\n"),
                ("os.rs", "#[cfg(unix)]\nfn a() {}\n"),
            ],
        );
        let cfgs = of(&counts, &CFGS);
        assert_eq!((cfgs.number, cfgs.code_lines), (3, Some(5)));
        assert_eq!(of(&counts, &CONDITIONS).number, 2);
        assert_eq!(of(&counts, &CODE_LINES).number, 7);
    }

    #[test]
    fn the_length_of_files_and_of_rustdoc_is_counted() {
        let long =
            "/// One two three.\npub fn a() {}\n\nimpl B {\n    /// One.\n    pub fn a() {}\n}\n";
        let counts = counted("lengths", None, &[("main.rs", "mod a;\n"), ("a.rs", long)]);
        let find = |measure: &'static Measure, of: &str| {
            let mut counts = counts.iter().filter(|count| count.measure.section == measure.section);
            counts.find(|count| count.of == of).map(|count| count.number)
        };
        assert_eq!(find(&FILE_LINES, "lengths/src/a.rs"), Some(7));
        assert_eq!(find(&RUSTDOC_WORDS, "lengths/src/a.rs: a"), Some(3));
        assert_eq!(of(&counts, &PUBLIC_ITEMS).number, 2);
    }
}
