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

#[test]
fn identifiers_are_words_that_a_newcomer_can_know() {
    let words = private_words();
    let mut found = BTreeSet::new();
    for source in sources(true) {
        identifiers(source.tokens, &mut |word| {
            // A constant has several words, such as `LISTEN_TIMEOUT`.
            let parts = [&*word]
                .into_iter()
                .chain(word.split('_').filter(|part| part.len() > 1 && *part == part.to_uppercase()));
            if let Some(instead) = parts.into_iter().find_map(|part| words.get(part)) {
                found.insert(format!("{}: {word}, instead of {instead}", source.path.display()));
            }
        });
    }
    let found: Vec<_> = found.into_iter().collect();
    assert!(found.is_empty(), "words of the table in CONTRIBUTING.md:\n{}", found.join("\n"));
}
