//! The code of the crates as a whole: its words, its doc comments, and which files use each other.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quiclab_testing::files::repository;

/// Words with which a doc comment leans on its neighbour instead of naming what it documents.
const OPENERS: &[&str] = &[
    "After", "And", "As", "At", "Because", "Before", "Behind", "Between", "Beyond", "But", "By", "For", "From", "In",
    "Instead", "Less", "Longer", "More", "Not", "Of", "On", "Or", "Since", "So", "Then", "To", "Until", "With",
    "Without",
];

/// Most files of a crate that use each other in a circle; 6 for a crate that is not listed. Only ever lower one of these.
const LARGEST_CIRCLES: &[(&str, usize)] = &[("report", 56)];
const LARGEST_CIRCLE: usize = 6;

/// One file of a crate.
struct Source {
    /// Its path below the repository.
    path: PathBuf,
    tokens: TokenStream,
}

/// Files of the crates: those of `src`, or also those of `tests`.
fn sources(with_tests: bool) -> Vec<Source> {
    let crates = repository().join("crates");
    let mut folders: Vec<_> = fs::read_dir(&crates).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    let mut sources = Vec::new();
    for folder in folders {
        let parts: &[&str] = if with_tests { &["src", "tests"] } else { &["src"] };
        let mut waiting: Vec<_> = parts.iter().map(|part| folder.join(part)).collect();
        while let Some(path) = waiting.pop() {
            // Stacks that tests link to are not part of the crates.
            if path.is_symlink() {
                continue;
            }
            if path.is_dir() {
                waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let tokens = text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                sources.push(Source { path: path.strip_prefix(repository()).unwrap().to_owned(), tokens });
            }
        }
    }
    assert!(sources.len() > 500, "{} files: is the search for them broken?", sources.len());
    sources
}

/// Hands every identifier to `visit`, with `!` behind it where it is a macro that is called.
fn identifiers(tokens: TokenStream, visit: &mut impl FnMut(String)) {
    let mut trees = tokens.into_iter().peekable();
    while let Some(tree) = trees.next() {
        match tree {
            TokenTree::Group(group) => identifiers(group.stream(), visit),
            TokenTree::Ident(word) => {
                let calls = matches!(trees.peek(), Some(TokenTree::Punct(punct)) if punct.as_char() == '!');
                visit(if calls { format!("{word}!") } else { word.to_string() });
            }
            _ => {}
        }
    }
}

/// The first lines of doc comments.
fn doc_comments(tokens: TokenStream, visit: &mut impl FnMut(String)) {
    let mut is_inside = false;
    let mut trees = tokens.into_iter().peekable();
    while let Some(tree) = trees.next() {
        match tree {
            // `#[doc = "..."]`, which is what a doc comment is; `#![doc = "..."]` is that of a file.
            TokenTree::Punct(hash) if hash.as_char() == '#' => {
                let Some(TokenTree::Group(group)) = trees.peek() else { continue };
                let line = doc_line(group.stream());
                trees.next();
                if let Some(line) = line.as_ref().filter(|_| !is_inside) {
                    visit(line.clone());
                }
                is_inside = line.is_some();
            }
            TokenTree::Group(group) => {
                is_inside = false;
                doc_comments(group.stream(), visit);
            }
            _ => is_inside = false,
        }
    }
}

fn doc_line(attribute: TokenStream) -> Option<String> {
    match &attribute.into_iter().collect::<Vec<_>>()[..] {
        [TokenTree::Ident(doc), TokenTree::Punct(_), TokenTree::Literal(text)] if doc == "doc" => {
            Some(text.to_string().trim_matches(|sign| "r#\" ".contains(sign)).to_owned())
        }
        _ => None,
    }
}

/// Private words and those of the field, from the table in CONTRIBUTING.md.
fn private_words() -> BTreeMap<String, String> {
    let text = fs::read_to_string(repository().join("CONTRIBUTING.md")).unwrap();
    let (_, table) = text.split_once("### Words").expect("a section on words");
    let rows = table.lines().take_while(|line| !line.starts_with('#')).filter(|line| line.starts_with("| `"));
    let cells = |row: &str| -> Option<(String, String)> {
        let mut cells = row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned());
        Some((cells.next()?, cells.next()?))
    };
    let mut words = BTreeMap::new();
    for (private, instead) in rows.filter_map(cells) {
        for word in private.split(", ") {
            words.insert(word.trim_matches('`').to_owned(), instead.clone());
        }
    }
    assert!(words.len() > 20, "{words:?}");
    words
}

#[test]
fn identifiers_are_words_that_a_newcomer_can_know() {
    let words = private_words();
    let mut found = BTreeSet::new();
    for source in sources(true) {
        identifiers(source.tokens, &mut |word| {
            if let Some(instead) = words.get(&word) {
                found.insert(format!("{}: {word}, instead of {instead}", source.path.display()));
            }
        });
    }
    let found: Vec<_> = found.into_iter().collect();
    assert!(found.is_empty(), "words of the table in CONTRIBUTING.md:\n{}", found.join("\n"));
}

/// Whether the doc comments of a file are texts of `--help`.
fn is_help(path: &Path) -> bool {
    path.starts_with("crates/quiclab/src/cli") || path.ends_with("quiclab/src/cli.rs")
}

#[test]
fn doc_comments_name_what_they_document() {
    let mut found = Vec::new();
    for source in sources(false).into_iter().filter(|source| !is_help(&source.path)) {
        doc_comments(source.tokens, &mut |line| {
            if line.split_whitespace().next().is_some_and(|first| OPENERS.contains(&first.trim_end_matches([',', '.'])))
            {
                found.push(format!("{}: {line}", source.path.display()));
            }
        });
    }
    assert!(found.is_empty(), "begin with what is documented, not with a preposition:\n{}", found.join("\n"));
}

/// The modules of a crate by their paths, such as `handshake::timer`; the crate itself has an empty one.
struct Modules<'a> {
    by_name: BTreeMap<Vec<String>, &'a Source>,
}

impl<'a> Modules<'a> {
    fn of(krate: &Path, sources: &'a [Source]) -> Self {
        let mut by_name = BTreeMap::new();
        for source in sources {
            let Ok(below) = source.path.strip_prefix(krate.join("src")) else { continue };
            let mut name: Vec<_> =
                below.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
            if name.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
                name.pop();
            }
            by_name.insert(name, source);
        }
        Self { by_name }
    }

    /// Which modules the one of that name uses, apart from the crate's own root, which only hands names on.
    fn used_by(&self, name: &[String]) -> BTreeSet<Vec<String>> {
        let mut used = BTreeSet::new();
        let mut add = |path: &[String]| {
            if let Some(module) = self.module_of(name, path).filter(|module| !module.is_empty() && module != name) {
                used.insert(module);
            }
        };
        paths(self.by_name[name].tokens.clone(), &mut add);
        used
    }

    /// The module of what a path begins with; `None` where that is no module of this crate.
    fn module_of(&self, from: &[String], path: &[String]) -> Option<Vec<String>> {
        let (mut module, mut rest) = match path.first()?.as_str() {
            "crate" => (Vec::new(), &path[1..]),
            "self" => (from.to_vec(), &path[1..]),
            "super" => (from.to_vec(), path),
            // A child by its own name.
            child => {
                let is_child = self.by_name.contains_key(&[from, &[child.to_owned()]].concat());
                (is_child.then(|| from.to_vec())?, path)
            }
        };
        while rest.first().is_some_and(|word| word == "super") {
            module.pop();
            rest = &rest[1..];
        }
        for word in rest {
            let longer = [&module[..], std::slice::from_ref(word)].concat();
            if !self.by_name.contains_key(&longer) {
                break;
            }
            module = longer;
        }
        Some(module)
    }
}

/// Hands every path of at least two words to `visit`; a tree of `use` as each of its paths. Items for tests only are left out.
fn paths(tokens: TokenStream, visit: &mut impl FnMut(&[String])) {
    let trees: Vec<_> = tokens.into_iter().collect();
    let mut at = 0;
    while at < trees.len() {
        if is_for_tests(&trees[at..]) {
            // The item ends with its braces or a semicolon.
            at += 2;
            while at < trees.len() && !ends_item(&trees[at]) {
                at += 1;
            }
            at += 1;
            continue;
        }
        match &trees[at] {
            TokenTree::Ident(_) => at += path(&trees[at..], &[], visit),
            TokenTree::Group(group) => {
                paths(group.stream(), visit);
                at += 1;
            }
            _ => at += 1,
        }
    }
}

/// Reads the path at the beginning, behind `before`; returns how many tokens it has.
fn path(trees: &[TokenTree], before: &[String], visit: &mut impl FnMut(&[String])) -> usize {
    let mut words = before.to_vec();
    let mut at = 0;
    loop {
        match trees.get(at) {
            Some(TokenTree::Ident(word)) => words.push(word.to_string()),
            Some(TokenTree::Group(group)) if at > 0 && group.delimiter() == Delimiter::Brace => {
                let inner: Vec<_> = group.stream().into_iter().collect();
                let branches = inner.split(|tree| matches!(tree, TokenTree::Punct(comma) if comma.as_char() == ','));
                // Behind a comma at the end there is none.
                for branch in branches.filter(|branch| !branch.is_empty()) {
                    path(branch, &words, visit);
                }
                return at + 1;
            }
            _ => break,
        }
        at += 1;
        let is_colon = |tree: Option<&TokenTree>| matches!(tree, Some(TokenTree::Punct(one)) if one.as_char() == ':');
        if !(is_colon(trees.get(at)) && is_colon(trees.get(at + 1))) {
            break;
        }
        at += 2;
    }
    if words.len() > 1 {
        visit(&words);
    }
    at.max(1)
}

/// Whether `#[cfg(test)]` stands at the beginning.
fn is_for_tests(trees: &[TokenTree]) -> bool {
    let [TokenTree::Punct(hash), TokenTree::Group(attribute), ..] = trees else { return false };
    hash.as_char() == '#' && attribute.stream().to_string().replace(' ', "") == "cfg(test)"
}

fn ends_item(tree: &TokenTree) -> bool {
    match tree {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Punct(punct) => punct.as_char() == ';',
        _ => false,
    }
}

/// The largest set of modules each of which leads to every other, in order.
fn largest_circle(edges: &BTreeMap<Vec<String>, BTreeSet<Vec<String>>>) -> Vec<Vec<String>> {
    let reached = |start: &Vec<String>| {
        let mut reached = BTreeSet::new();
        let mut waiting: Vec<_> = edges[start].iter().collect();
        while let Some(next) = waiting.pop() {
            if reached.insert(next) {
                waiting.extend(edges.get(next).into_iter().flatten());
            }
        }
        reached
    };
    let all: BTreeMap<_, _> = edges.keys().map(|name| (name, reached(name))).collect();
    let circle = |name: &Vec<String>| -> Vec<Vec<String>> {
        all[name]
            .iter()
            .filter(|other| all.get(**other).is_some_and(|back| back.contains(name)))
            .map(|other| (*other).clone())
            .collect()
    };
    edges.keys().map(circle).max_by_key(Vec::len).unwrap_or_default()
}

#[test]
fn no_circle_of_files_becomes_larger() {
    let sources = sources(false);
    let sources: Vec<_> = sources.into_iter().filter(|source| !source.path.ends_with("tests.rs")).collect();
    let crates: BTreeSet<PathBuf> = sources.iter().map(|source| source.path.iter().take(2).collect()).collect();
    let mut wrong = Vec::new();
    for krate in crates {
        let modules = Modules::of(&krate, &sources);
        let names = modules.by_name.keys().filter(|name| !name.is_empty());
        let edges: BTreeMap<_, _> = names.map(|name| (name.clone(), modules.used_by(name))).collect();
        let circle = largest_circle(&edges);
        let name = krate.file_name().unwrap().to_string_lossy().into_owned();
        let most = LARGEST_CIRCLES.iter().find(|(of, _)| *of == name).map_or(LARGEST_CIRCLE, |(_, most)| *most);
        let is_listed_for_nothing = most > LARGEST_CIRCLE && circle.len() < most;
        if circle.len() > most || is_listed_for_nothing {
            let names: Vec<_> = circle.iter().map(|name| name.join("::")).collect();
            wrong.push(format!("{name}: found {}, expected {most}: {}", circle.len(), names.join(", ")));
        }
    }
    assert!(wrong.is_empty(), "files that use each other in a circle:\n{}", wrong.join("\n"));
}
