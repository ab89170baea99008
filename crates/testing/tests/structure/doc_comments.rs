//! What doc comments begin with.

use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};

use crate::source::sources;

/// Words with which a doc comment leans on its neighbour instead of naming what it documents.
const OPENERS: &[&str] = &[
    "After", "And", "As", "At", "Because", "Before", "Behind", "Between", "Beyond", "But", "By", "For", "From", "In",
    "Instead", "Less", "Longer", "More", "Not", "Of", "On", "Or", "Since", "So", "Then", "To", "Until", "With",
    "Without",
];

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
