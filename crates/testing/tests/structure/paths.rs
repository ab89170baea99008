//! The paths that code names.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Hands every path of at least two words to `visit`; a tree of `use` as each of its paths. Items for tests only are left out.
pub fn paths(tokens: TokenStream, visit: &mut impl FnMut(&[String])) {
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
