//! The item that a line of code belongs to, by how rustfmt indents.

use std::path::Path;

/// What a line belongs to.
#[derive(Debug, PartialEq, Eq)]
pub struct Place {
    /// The item's name, behind that of its type; `None` for the file as a whole.
    pub item: Option<String>,
    /// Whether it is there for tests only.
    pub is_test: bool,
}

/// Words before what an item is.
const QUALIFIERS: &[&str] = &["pub ", "pub(crate) ", "pub(super) ", "default ", "async ", "unsafe ", "extern \"C\" "];
const ITEMS: &[&str] =
    &["const fn ", "fn ", "struct ", "enum ", "union ", "trait ", "type ", "static ", "const ", "macro_rules! "];

/// What a line of this file belongs to.
pub fn place(path: &Path, lines: &[&str], line: usize) -> Place {
    let is_test = path.iter().any(|part| part == "tests" || part == "tests.rs");
    let text = lines[line].trim_start();
    if text.starts_with("//!") {
        // Of the file, or of the module in it that begins with this comment.
        return Place { item: None, is_test: is_test || around(lines, line, indent(lines[line])).1 };
    }
    let documented = documented(lines, line).filter(|below| indent(lines[*below]) == indent(lines[line]));
    let start = documented.filter(|_| text.starts_with("//")).unwrap_or(line);
    let item = item_name(lines[start]).or_else(|| implemented(lines[start]));
    let part = if text.starts_with("///") { part_name(lines[start]) } else { None };
    let (outer, is_in_tests) = around(lines, start, indent(lines[start]));
    let item = match (item, part, outer) {
        (Some(item), _, Some(outer)) if outer.is_type => Some(format!("{}::{item}", outer.name)),
        (None, Some(part), Some(outer)) => Some(format!("{}::{part}", outer.name)),
        (item, part, outer) => item.or(outer.map(|outer| outer.name)).or(part),
    };
    let is_marked = text_before(lines, start).any(|line| line == "#[cfg(test)]" || line == "#[test]");
    Place { item, is_test: is_test || is_in_tests || is_marked }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Comments and attributes directly above a line.
fn text_before<'a>(lines: &'a [&'a str], line: usize) -> impl Iterator<Item = &'a str> {
    let before = lines[..line].iter().rev().map(|line| line.trim());
    before.take_while(|line| line.starts_with("//") || line.starts_with("#["))
}

/// The line behind a comment and the attributes below it.
fn documented(lines: &[&str], line: usize) -> Option<usize> {
    let behind = |line: &&str| {
        let line = line.trim();
        !line.starts_with("//") && !line.starts_with("#[") && !line.is_empty()
    };
    lines[line..].iter().position(behind).map(|further| line + further)
}

/// The name of the item that begins in this line.
fn item_name(line: &str) -> Option<String> {
    let mut rest = line.trim_start();
    while let Some(behind) = QUALIFIERS.iter().find_map(|word| rest.strip_prefix(word)) {
        rest = behind;
    }
    let rest = ITEMS.iter().find_map(|word| rest.strip_prefix(word))?;
    Some(word(rest)).filter(|name| !name.is_empty() && name != "_")
}

/// The name of a field, a variant or an argument of a macro.
fn part_name(line: &str) -> Option<String> {
    let mut rest = line.trim_start();
    while let Some(behind) = QUALIFIERS.iter().find_map(|word| rest.strip_prefix(word)) {
        rest = behind;
    }
    let name = word(rest);
    let is_part = [":", ",", "(", " {", " = "].iter().any(|sign| rest[name.len()..].starts_with(sign));
    (is_part && !name.is_empty()).then_some(name)
}

fn word(text: &str) -> String {
    text.chars().take_while(|sign| sign.is_alphanumeric() || *sign == '_').collect()
}

struct Outer {
    name: String,
    /// Whether it is a type or its `impl`, whose name stands before those of its parts.
    is_type: bool,
}

/// The innermost item around a line that is indented so far, with that of its type; and whether tests are around it.
fn around(lines: &[&str], line: usize, indented: usize) -> (Option<Outer>, bool) {
    let mut indented = indented;
    let mut found: Option<Outer> = None;
    let mut is_in_tests = false;
    for at in (0..line).rev() {
        let text = lines[at].trim_start();
        if text.is_empty() || indent(lines[at]) >= indented {
            continue;
        }
        // The head of an item ends here, and begins further above with the same indentation.
        let is_end = text.starts_with([')', '}', ']', '>']) || text.starts_with("where");
        indented = indent(lines[at]) + usize::from(is_end);
        if is_end || text.starts_with("//") || text.starts_with("#[") {
            continue;
        }
        if text.starts_with("mod ") || text.starts_with("pub mod ") || text.starts_with("pub(crate) mod ") {
            is_in_tests |= text_before(lines, at).any(|line| line == "#[cfg(test)]");
            continue;
        }
        is_in_tests |= text_before(lines, at).any(|line| line == "#[test]" || line == "#[cfg(test)]");
        if let Some(name) = implemented(text) {
            found = Some(match found {
                Some(Outer { name: inner, .. }) => Outer { name: format!("{name}::{inner}"), is_type: false },
                None => Outer { name, is_type: true },
            });
        } else if let Some(name) = item_name(text) {
            let is_type =
                ["struct ", "enum ", "trait ", "union "].iter().any(|kind| text.contains(kind)) && found.is_none();
            // The innermost function counts, and the type around it.
            found = found.or(Some(Outer { name, is_type }));
        }
    }
    (found, is_in_tests)
}

/// The type of an `impl`.
fn implemented(line: &str) -> Option<String> {
    let rest = line.strip_prefix("unsafe ").unwrap_or(line).strip_prefix("impl")?;
    let of = rest.rsplit_once(" for ").map_or_else(|| behind_parameters(rest), |(_, of)| of);
    let of = of.trim_start_matches(['&', ' ']);
    let path = &of[..of.find(['<', ' ', '{']).unwrap_or(of.len())];
    Some(path.rsplit("::").next().unwrap_or(path).to_owned()).filter(|name| !name.is_empty())
}

/// What stands behind `<...>`, if anything does.
fn behind_parameters(text: &str) -> &str {
    if !text.starts_with('<') {
        return text;
    }
    let mut depth = 0;
    for (at, sign) in text.char_indices() {
        match sign {
            '<' => depth += 1,
            '>' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[at + 1..];
        }
    }
    text
}

#[test]
fn the_item_of_a_line_is_found() {
    const CODE: &str = r#"//! 0 RFC
/// 1 RFC
pub const SIZE: usize = 3;
/// 3 RFC
#[derive(Debug)]
pub struct Head<'a> {
    /// 6 RFC
    pub(crate) form: u8,
}
impl<'a, T: Into<u8>> From<T> for Head<'a> {
    /// 10 RFC
    pub const fn read(
        bytes: &[u8],
    ) -> Self {
        // 14 RFC
        let is_long = {
            Some(bytes) // 16 RFC
        };
    }
}
enum Form {
    /// 21 RFC
    Long(u8),
}
// 24 RFC
fn free() {
    let text = "27 RFC";
}
#[cfg(test)]
mod tests {
    //! 30 RFC
    /// 31 RFC
    #[test]
    fn holds() {
        // 34 RFC
    }
}
"#;
    let lines: Vec<_> = CODE.lines().collect();
    let expected = [
        (0, None, false),
        (1, Some("SIZE"), false),
        (3, Some("Head"), false),
        (6, Some("Head::form"), false),
        (10, Some("Head::read"), false),
        (14, Some("Head::read"), false),
        (16, Some("Head::read"), false),
        (21, Some("Form::Long"), false),
        (24, Some("free"), false),
        (26, Some("free"), false),
        (30, None, true),
        (31, Some("holds"), true),
        (34, Some("holds"), true),
    ];
    for (line, item, is_test) in expected {
        let expected = Place { item: item.map(str::to_owned), is_test };
        assert_eq!(place(Path::new("crates/wire/src/quic.rs"), &lines, line), expected, "{line}: {}", lines[line]);
    }
    assert!(place(Path::new("crates/wire/tests/it/main.rs"), &lines, 14).is_test);
}
