//! What doc comments begin with.

use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};

use crate::source::{Source, sources};

/// Words with which a doc comment leans on its neighbour instead of naming what it documents.
const OPENERS: &[&str] = &[
    "After", "And", "As", "At", "Because", "Before", "Behind", "Between", "Beyond", "But", "By", "For", "From", "In",
    "Instead", "Less", "Longer", "More", "Not", "Of", "On", "Or", "Since", "So", "Then", "To", "Until", "With",
    "Without",
];

/// Words with which a part of a sentence begins whose other part is in the doc comment above it.
const FRAGMENTS: &[&str] = &["Again", "Also", "Here", "Likewise", "None", "Only", "Per", "Same", "That", "Those"];

/// Crates in which doc comments are still such parts. Only ever remove one.
const WITH_FRAGMENTS: &[&str] = &["quiclab"];

/// Words that stand for something in the doc comment above.
const PRONOUNS: &[&str] = &["It", "Its", "Others", "Their", "These", "They", "Whose"];

/// Crates in which doc comments still begin with such words. Only ever remove one.
const WITH_PRONOUNS: &[&str] = &[
    "agent",
    "agent-protocol",
    "content",
    "internet",
    "metrics",
    "path",
    "quiclab",
    "record",
    "sandbox",
    "scan",
    "sim",
    "supplies",
    "testbed",
    "wire",
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

/// Doc comments that begin with one of `words`: the name of the crate, and the place with the first line.
fn beginning_with(words: &[&str]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for Source { path, tokens } in sources(false).into_iter().filter(|source| !is_help(&source.path)) {
        let krate = path.iter().take_while(|part| *part != "src").last().unwrap().to_string_lossy().into_owned();
        doc_comments(tokens, &mut |line| {
            let first = line.split_whitespace().next().unwrap_or_default();
            if words.contains(&first.trim_end_matches([',', '.', ':', ';'])) {
                found.push((krate.clone(), format!("{}: {line}", path.display())));
            }
        });
    }
    found
}

#[test]
fn doc_comments_name_what_they_document() {
    let found: Vec<_> = beginning_with(OPENERS).into_iter().map(|(_, line)| line).collect();
    assert!(found.is_empty(), "begin with what is documented, not with a preposition:\n{}", found.join("\n"));
}

#[test]
fn doc_comments_are_whole_without_the_one_above() {
    assert_only_in(WITH_FRAGMENTS, FRAGMENTS, "WITH_FRAGMENTS");
}

#[test]
fn doc_comments_have_a_noun_before_a_pronoun() {
    assert_only_in(WITH_PRONOUNS, PRONOUNS, "WITH_PRONOUNS");
}

/// Doc comments begin with one of `words` in each of `crates`, the list of this name, and in no other.
fn assert_only_in(crates: &[&str], words: &[&str], name: &str) {
    let (left, found): (Vec<_>, Vec<_>) =
        beginning_with(words).into_iter().partition(|(krate, _)| crates.contains(&krate.as_str()));
    let found: Vec<_> = found.into_iter().map(|(_, line)| line).collect();
    assert!(found.is_empty(), "say what is documented, also to who reads nothing else:\n{}", found.join("\n"));
    for expected in crates {
        let is_left = left.iter().any(|(krate, _)| krate == expected);
        assert!(is_left, "{expected} has no such doc comment any more: remove it from {name} in {}", file!());
    }
}
