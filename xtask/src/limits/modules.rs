//! The modules of a crate, from the file that declares the others.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use proc_macro2::Delimiter;

use crate::files;
use crate::limits::condition::Condition;
use crate::limits::tokens::{self, Kind, Source, Token};
use crate::limits::uses::{Use, uses};

/// A file of a crate.
#[derive(Debug)]
pub(crate) struct File {
    /// In the crate's folder.
    pub(crate) path: PathBuf,
    pub(crate) lines: usize,
    pub(crate) source: Source,
}

/// The modules of a crate. The first is the crate's root.
#[derive(Debug, Default)]
pub(crate) struct Modules {
    /// The crate's folder.
    folder: PathBuf,
    pub(crate) all: Vec<Module>,
    pub(crate) files: Vec<File>,
}

/// A module. If conditions choose between two files for it, it is both.
#[derive(Debug, Default)]
pub(crate) struct Module {
    /// Empty for the root.
    pub(crate) path: Vec<String>,
    pub(crate) parent: usize,
    pub(crate) children: BTreeMap<String, usize>,
    /// Whether a file holds it, and not braces.
    pub(crate) is_file: bool,
    /// The names that its `use` items import.
    pub(crate) names: BTreeMap<String, Vec<String>>,
    /// The modules of which it imports all names.
    pub(crate) globs: Vec<Vec<String>>,
    /// The paths in its code.
    pub(crate) mentions: Vec<Mention>,
    pub(crate) declarations: Vec<Declaration>,
}

/// A path in the code that begins with `crate`, `self`, `super`, or in a `use`.
#[derive(Debug)]
pub(crate) struct Mention {
    pub(crate) path: Vec<String>,
    pub(crate) file: usize,
    pub(crate) line: usize,
}

/// A module, or a name that a `use` imports from this crate.
#[derive(Debug)]
pub(crate) struct Declaration {
    pub(crate) name: String,
    pub(crate) is_module: bool,
    /// When it is there.
    pub(crate) condition: Condition,
    pub(crate) file: usize,
    pub(crate) line: usize,
}

/// Where tokens stand.
#[derive(Debug, Clone)]
struct Place {
    module: usize,
    file: usize,
    /// The folder of the files of modules that are declared here.
    folder: PathBuf,
    condition: Condition,
}

impl Modules {
    /// Reads the modules below a first file in a crate's folder.
    pub(crate) fn read(folder: &Path, first: &str) -> Result<Self, String> {
        let root = Module { is_file: true, ..Module::default() };
        let folder = folder.to_owned();
        let mut modules = Self { folder, all: vec![root], files: Vec::new() };
        let first = Path::new(first);
        modules.read_file(first, 0, first.parent().unwrap_or(first).to_owned())?;
        Ok(modules)
    }

    /// Returns the last name of a module's path.
    pub(crate) fn name(&self, module: usize) -> &str {
        self.all[module].path.last().map_or("crate", String::as_str)
    }

    fn read_file(&mut self, path: &Path, module: usize, folder: PathBuf) -> Result<(), String> {
        let text = files::read(&self.folder.join(path))?;
        let cannot = |problem| format!("can't read the tokens of {}: {problem}", path.display());
        let source = tokens::read(&text).map_err(cannot)?;
        let file = self.files.len();
        let lines = text.lines().count();
        // The tokens are out of the list while `scan` adds files to it.
        let empty = Source { tokens: Vec::new(), code_lines: source.code_lines };
        self.files.push(File { path: path.to_owned(), lines, source: empty });
        let place = Place { module, file, folder, condition: Condition::always() };
        self.scan(&source.tokens, &place)?;
        self.files[file].source = source;
        Ok(())
    }

    /// Finds modules, names and paths in tokens and in all groups of them, macros' included.
    fn scan(&mut self, tokens: &[Token], place: &Place) -> Result<(), String> {
        let mut attributes: Vec<&[Token]> = Vec::new();
        // The conditions of the earlier branches of a `cfg_if!`, none of which are met here. A
        // branch of one platform replaces no branch of another platform. The branch without a
        // condition replaces all.
        let mut before = Condition::always();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            let rest = &tokens[at..];
            at += 1;
            match (&token.kind, rest) {
                (_, [_, attribute, ..])
                    if token.is_mark('#') && attribute.group(Delimiter::Bracket).is_some() =>
                {
                    attributes.extend(attribute.inner());
                    at += 1;
                }
                (_, [_, name, body, ..]) if token.is_word("mod") && name.word().is_some() => {
                    let name = name.word().unwrap_or_default();
                    self.declare(name, body, &attributes, token.first_line, place)?;
                    attributes.clear();
                    at += 2;
                }
                (_, [_, ..]) if token.is_word("use") => {
                    let end = rest.iter().position(|token| token.is_mark(';'));
                    let end = end.unwrap_or(rest.len());
                    let condition = condition_of(&attributes, place);
                    for one in uses(&rest[1..end]) {
                        self.import(one, &condition, token.first_line, place);
                    }
                    attributes.clear();
                    at += end;
                }
                // The path of a visibility imports nothing.
                (_, [_, group, ..])
                    if token.is_word("pub") && group.group(Delimiter::Parenthesis).is_some() =>
                {
                    at += 1;
                }
                (Kind::Word(word), _) if ["crate", "self", "super"].contains(&word.as_str()) => {
                    let path = path_at(rest);
                    at += 3 * (path.len() - 1);
                    self.mention(path, token.first_line, place);
                }
                (Kind::Group(delimiter, inner), _) => {
                    let own = condition_of(&attributes, place);
                    let is_last = attributes.is_empty() && *delimiter == Delimiter::Brace;
                    let condition = if is_last { before.and(own) } else { own };
                    self.scan(inner, &Place { condition, ..place.clone() })?;
                    if *delimiter == Delimiter::Brace {
                        let is_chain = tokens.get(at).is_some_and(|next| next.is_word("else"));
                        before = if is_chain && !attributes.is_empty() {
                            before.and(Condition::Not(Box::new(condition_of(&attributes, place))))
                        } else {
                            Condition::always()
                        };
                        attributes.clear();
                    }
                }
                (Kind::Mark(';' | ','), _) => attributes.clear(),
                _ => {}
            }
        }
        Ok(())
    }

    /// Adds a module and what it contains.
    fn declare(
        &mut self,
        name: &str,
        body: &Token,
        attributes: &[&[Token]],
        line: usize,
        place: &Place,
    ) -> Result<(), String> {
        let condition = condition_of(attributes, place);
        let parent = place.module;
        let (file, is_module) = (place.file, true);
        let declaration = Declaration {
            name: name.to_owned(),
            is_module,
            condition: condition.clone(),
            file,
            line,
        };
        self.all[parent].declarations.push(declaration);
        let module = self.child(parent, name);
        let folder = place.folder.join(name);
        if let Some(inner) = body.inner() {
            return self.scan(inner, &Place { module, folder, condition, ..place.clone() });
        }
        self.all[module].is_file = true;
        let given = attributes.iter().find_map(|attribute| path_in(attribute));
        let Some(given) = given else {
            return self.read_file(&place.folder.join(format!("{name}.rs")), module, folder);
        };
        // `#[path]` is relative to the folder of the file that contains it.
        let here = self.files[place.file].path.parent().unwrap_or(Path::new("")).to_owned();
        let path = here.join(given);
        let folder = path.with_extension("");
        self.read_file(&path, module, folder)
    }

    fn child(&mut self, parent: usize, name: &str) -> usize {
        let next = self.all.len();
        let module = *self.all[parent].children.entry(name.to_owned()).or_insert(next);
        if module == next {
            let mut path = self.all[parent].path.clone();
            path.push(name.to_owned());
            self.all.push(Module { path, parent, ..Module::default() });
        }
        module
    }

    fn import(&mut self, one: Use, condition: &Condition, line: usize, place: &Place) {
        self.mention(one.path.clone(), line, place);
        let module = &mut self.all[place.module];
        let Some(name) = one.name else {
            module.globs.push(one.path);
            return;
        };
        if ["crate", "self", "super"].contains(&one.path[0].as_str()) {
            let (condition, file, is_module) = (condition.clone(), place.file, false);
            let name = name.clone();
            module.declarations.push(Declaration { name, is_module, condition, file, line });
        }
        module.names.insert(name, one.path);
    }

    fn mention(&mut self, path: Vec<String>, line: usize, place: &Place) {
        let mention = Mention { path, file: place.file, line };
        self.all[place.module].mentions.push(mention);
    }
}

/// Returns the condition of an item with these attributes.
fn condition_of(attributes: &[&[Token]], place: &Place) -> Condition {
    let cfgs = attributes.iter().filter_map(|attribute| match attribute {
        [name, arguments] if name.is_word("cfg") => arguments.inner(),
        _ => None,
    });
    cfgs.fold(place.condition.clone(), |all, cfg| all.and(Condition::read(cfg)))
}

/// Returns the path in a `path = "..."`, also if a condition stands before it.
fn path_in(attribute: &[Token]) -> Option<String> {
    let attribute = match attribute {
        [name, arguments] if name.is_word("cfg_attr") => arguments.inner()?,
        _ => attribute,
    };
    let at = attribute.iter().position(|token| token.is_word("path"))?;
    match &attribute.get(at + 2)?.kind {
        Kind::Literal(text) => Some(text.trim_matches('"').to_owned()),
        _ => None,
    }
}

/// Returns the words of the path that these tokens begin with.
fn path_at(tokens: &[Token]) -> Vec<String> {
    let mut path = Vec::new();
    let mut rest = tokens;
    while let [token, after @ ..] = rest {
        let Some(word) = token.word() else { break };
        path.push(word.to_owned());
        match after {
            [one, two, next @ ..] if one.is_mark(':') && two.is_mark(':') => rest = next,
            _ => break,
        }
    }
    path
}
