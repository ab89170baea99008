//! Code as tokens, without what changes nothing: comments, documentation, layout, and items for tests only.

use std::path::Path;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::FingerprintError;

/// Methods of floating-point numbers whose precision the language leaves open, so that results may differ between versions of the
/// compiler. The functions of `libm` do not.
const OPEN: &[&str] = &[
    "powi", "powf", "exp", "exp2", "exp_m1", "ln", "ln_1p", "log", "log2", "log10", "cbrt", "hypot", "sin", "cos",
    "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "mul_add",
];

/// The tokens of a file as text, one after the other.
///
/// # Errors
/// Where the text is no Rust.
pub fn of(path: &Path, text: &str) -> Result<String, FingerprintError> {
    let mut written = String::new();
    write(parse(path, text)?, &mut written);
    Ok(written)
}

/// Makes sure that a file calls no method of floating-point numbers whose precision is left open.
///
/// # Errors
/// Where it does, or is no Rust.
pub fn refuse_open_precision(path: &Path, text: &str) -> Result<(), FingerprintError> {
    let Some(method) = open_method(parse(path, text)?) else { return Ok(()) };
    Err(FingerprintError::Content {
        path: path.to_owned(),
        what: format!(
            "calls .{method}(), whose last bits may differ between compilers\nhint: use libm::{method}, or multiply"
        ),
    })
}

fn parse(path: &Path, text: &str) -> Result<TokenStream, FingerprintError> {
    text.parse()
        .map_err(|error| FingerprintError::Content { path: path.to_owned(), what: format!("is no Rust: {error}") })
}

fn open_method(stream: TokenStream) -> Option<String> {
    let trees = significant(stream);
    trees.iter().enumerate().find_map(|(position, tree)| match tree {
        TokenTree::Group(group) => open_method(group.stream()),
        TokenTree::Ident(word) if position > 0 && is_punct(&trees[position - 1], '.') => {
            Some(word.to_string()).filter(|word| OPEN.contains(&word.as_str()))
        }
        _ => None,
    })
}

/// Words with which an item can begin, behind its attributes and its visibility.
const ITEMS: &[&str] = &[
    "mod",
    "fn",
    "use",
    "const",
    "static",
    "impl",
    "struct",
    "enum",
    "trait",
    "type",
    "async",
    "unsafe",
    "extern",
    "macro_rules",
];

/// What remains of a stream, as trees. Used for the list of modules too.
pub fn significant(stream: TokenStream) -> Vec<TokenTree> {
    let trees: Vec<_> = stream.into_iter().collect();
    let mut kept = Vec::new();
    let mut at = 0;
    while at < trees.len() {
        at = match attribute(&trees, at) {
            Some((inside, end)) if is_word(inside.first(), "doc") => end,
            Some((inside, end)) if is_for_tests(&inside) => match end_of_item(&trees, end) {
                Some(end) => end,
                None => keep(&trees, at, end, &mut kept),
            },
            Some((_, end)) => keep(&trees, at, end, &mut kept),
            None => keep(&trees, at, at + 1, &mut kept),
        };
    }
    kept
}

fn keep(trees: &[TokenTree], from: usize, to: usize, kept: &mut Vec<TokenTree>) -> usize {
    kept.extend_from_slice(&trees[from..to]);
    to
}

/// What stands in the attribute that begins at `at`, `#[...]` or `#![...]`, and where it ends.
fn attribute(trees: &[TokenTree], at: usize) -> Option<(Vec<TokenTree>, usize)> {
    if !is_punct(trees.get(at)?, '#') {
        return None;
    }
    let place = if is_punct(trees.get(at + 1)?, '!') { at + 2 } else { at + 1 };
    match trees.get(place)? {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => {
            Some((group.stream().into_iter().collect(), place + 1))
        }
        _ => None,
    }
}

/// `cfg(test)`, and nothing more complicated.
fn is_for_tests(attribute: &[TokenTree]) -> bool {
    match attribute {
        [name, TokenTree::Group(group)] if is_word(Some(name), "cfg") => group.stream().to_string() == "test",
        _ => false,
    }
}

/// Where the item ends that begins at `at`: behind its body in braces, or a semicolon. `None` where it is no item but a field or a
/// statement, which counts.
fn end_of_item(trees: &[TokenTree], mut at: usize) -> Option<usize> {
    while let Some((_, end)) = attribute(trees, at) {
        at = end;
    }
    if is_word(trees.get(at), "pub") {
        at += 1;
        if matches!(trees.get(at), Some(TokenTree::Group(_))) {
            at += 1;
        }
    }
    if !ITEMS.iter().any(|word| is_word(trees.get(at), word)) {
        return None;
    }
    let is_end = |tree: &TokenTree| match tree {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        other => is_punct(other, ';'),
    };
    let end = at + trees[at..].iter().position(is_end)? + 1;
    // `use` has a semicolon behind its braces.
    Some(if is_word(trees.get(at), "use") && trees.get(end).is_some_and(|tree| is_punct(tree, ';')) {
        end + 1
    } else {
        end
    })
}

fn write(stream: TokenStream, to: &mut String) {
    for tree in significant(stream) {
        match tree {
            TokenTree::Group(group) => {
                let [open, close] = match group.delimiter() {
                    Delimiter::Parenthesis => ["(", ")"],
                    Delimiter::Brace => ["{", "}"],
                    Delimiter::Bracket => ["[", "]"],
                    Delimiter::None => ["", ""],
                };
                to.push_str(open);
                write(group.stream(), to);
                to.push_str(close);
            }
            TokenTree::Punct(punct) => to.push(punct.as_char()),
            word_or_literal => {
                to.push_str(&word_or_literal.to_string());
                to.push(' ');
            }
        }
    }
}

pub(crate) fn is_punct(tree: &TokenTree, character: char) -> bool {
    matches!(tree, TokenTree::Punct(punct) if punct.as_char() == character)
}

pub(crate) fn is_word(tree: Option<&TokenTree>, word: &str) -> bool {
    matches!(tree, Some(TokenTree::Ident(ident)) if ident == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> String {
        of(Path::new("example.rs"), text).unwrap()
    }

    #[test]
    fn comments_documentation_layout_and_tests_change_nothing() {
        let plain = tokens("pub fn rate(of: u64) -> u64 { of * 8 } struct Empty;");
        for other in [
            "// A comment.\npub fn rate(of: u64) -> u64 {\n    of * 8 /* bits */\n}\nstruct Empty;\n",
            "//! Inner.\n/// Outer.\npub fn rate(of: u64) -> u64 { of * 8 }\n/// Empty.\nstruct Empty;",
            "pub fn rate(of: u64) -> u64 { of * 8 } struct Empty;\n#[cfg(test)]\nmod tests { #[test] fn x() {} }",
            "#[cfg(test)]\nmod tests;\npub fn rate(of: u64) -> u64 { of * 8 } struct Empty;",
            "#[cfg(test)]\n#[allow(dead_code)]\nfn f<const N: usize>(a: [u8; 4]) -> u8 { a[0] } pub fn rate(of: u64) -> u64 { of * 8 } struct Empty;",
            "#[cfg(test)]\npub(crate) use a::{b, c};\npub fn rate(of: u64) -> u64 { of * 8 } struct Empty;",
        ] {
            assert_eq!(tokens(other), plain, "{other}");
        }
    }

    #[test]
    fn every_token_counts() {
        let plain = tokens("#[derive(Debug)] struct A { b: u64 } const C: f64 = 0.4; fn d() { b'x'; \"text\" }");
        for other in [
            "#[derive(Clone)] struct A { b: u64 } const C: f64 = 0.4; fn d() { b'x'; \"text\" }",
            "#[derive(Debug)] struct A { b: u32 } const C: f64 = 0.4; fn d() { b'x'; \"text\" }",
            "#[derive(Debug)] struct A { b: u64 } const C: f64 = 0.5; fn d() { b'x'; \"text\" }",
            "#[derive(Debug)] struct A { b: u64 } const C: f64 = 0.4; fn d() { b'y'; \"text\" }",
            "#[derive(Debug)] struct A { b: u64 } const C: f64 = 0.4; fn d() { b'x'; \"// text\" }",
            "#[derive(Debug)] struct A { b: u64 } const C: f64 = 0.4; fn d() { b'x', \"text\" }",
            "#[derive(Debug)] struct A { b: u64 } const C: f64 = 0.4; fn d() { { b'x' } \"text\" }",
            "#[cfg(not(test))] struct A { b: u64 } const C: f64 = 0.4; fn d() { b'x'; \"text\" }",
        ] {
            assert_ne!(tokens(other), plain, "{other}");
        }
        assert_ne!(tokens("fn f() { a.b.1 }"), tokens("fn f() { a.b .11 }"));
        assert_ne!(tokens("fn f() { ab }"), tokens("fn f() { a b }"));
        // Fields for tests are no items, and what is behind them counts.
        assert_ne!(tokens("struct A { #[cfg(test)] b: u8, c: u8 }"), tokens("struct A { #[cfg(test)] b: u8, c: u16 }"));
    }

    #[test]
    fn methods_of_open_precision_are_refused_and_functions_of_libm_are_not() {
        let check = |text| refuse_open_precision(Path::new("example.rs"), text);
        let error = check("fn f(x: f64) -> f64 { x.powi(3) }").unwrap_err().to_string();
        assert!(error.starts_with("example.rs: calls .powi()"), "{error}");
        check("fn f(x: f64) -> f64 { libm::exp(x) + x.sqrt() }").unwrap();
        check("#[cfg(test)] fn f(x: f64) -> f64 { x.powi(3) }").unwrap();
    }
}
