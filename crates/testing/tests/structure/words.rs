//! Words of identifiers.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use proc_macro2::{TokenStream, TokenTree};
use quiclab_testing::files::repository;

use crate::source::sources;

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

/// Words that name nothing when they stand alone, and the crates that still have them. Only ever remove a crate.
const VAGUE: &[(&str, &str)] = &[
    ("Seen", "content interop metrics quiclab record scan sim testbed"),
    ("beside", "experiment interop report testbed trace trials wire"),
    ("heard", "agent testbed"),
    ("looks", "agent experiment pages quiclab report supplies"),
    ("said", "agent experiment interop metrics perf quiclab record report scan supplies testbed testing"),
    ("told", "experiment quiclab record scan sim supplies testbed"),
    ("usual", "agent experiment metrics quiclab report scan testbed trials units wire"),
];

/// The identifier, and the words of a constant, such as `LISTEN` and `TIMEOUT` of `LISTEN_TIMEOUT`.
fn words_of(identifier: &str) -> impl Iterator<Item = &str> {
    let parts = identifier.split('_').filter(|part| part.len() > 1 && *part == part.to_uppercase());
    [identifier].into_iter().chain(parts)
}

#[test]
fn identifiers_are_words_that_a_newcomer_can_know() {
    let words = private_words();
    let mut found = BTreeSet::new();
    for source in sources(true) {
        identifiers(source.tokens, &mut |word| {
            if let Some(instead) = words_of(&word).find_map(|part| words.get(part)) {
                found.insert(format!("{}: {word}, instead of {instead}", source.path.display()));
            }
        });
    }
    let found: Vec<_> = found.into_iter().collect();
    assert!(found.is_empty(), "words of the table in CONTRIBUTING.md:\n{}", found.join("\n"));
}

#[test]
fn vague_words_stay_out_of_the_crates_that_have_none() {
    let mut found: BTreeMap<(&str, String), BTreeSet<String>> = BTreeMap::new();
    for source in sources(true) {
        let krate = source.path.iter().nth(1).unwrap().to_string_lossy().into_owned();
        identifiers(source.tokens, &mut |word| {
            // `seen` is a good name for what has been seen, and `Seen` none for a type.
            let is_vague = |vague: &str, part: &str| vague == part || vague != "Seen" && vague == part.to_lowercase();
            for (vague, _) in VAGUE.iter().filter(|(vague, _)| words_of(&word).any(|part| is_vague(vague, part))) {
                found.entry((vague, krate.clone())).or_default().insert(source.path.display().to_string());
            }
        });
    }
    for (vague, crates) in VAGUE {
        for krate in crates.split(' ') {
            let is_left = found.remove(&(*vague, krate.to_owned())).is_some();
            assert!(is_left, "{krate} has no `{vague}` any more: remove it from VAGUE in {}", file!());
        }
    }
    let found: Vec<_> = found.into_iter().map(|((vague, _), paths)| format!("{vague}: {paths:?}")).collect();
    assert!(found.is_empty(), "name what the thing is:\n{}", found.join("\n"));
}
