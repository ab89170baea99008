//! Rules for all Markdown files of the repository: the width of lines, and links that lead somewhere.

use quiclab_testing::{files::repository, has_program};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Columns of a line; tables, code and lines that cannot be broken may be wider.
const WIDTH: usize = 100;

#[test]
fn no_line_of_prose_is_wider_than_100_columns() {
    let mut wide = Vec::new();
    for page in pages() {
        for (number, line) in prose(&page.text) {
            let breakable = line.trim_start().trim_start_matches("- ").split_whitespace().count() > 1;
            let table = line.trim_start().starts_with('|');
            let heading = line.starts_with('#');
            let image = line.starts_with("![");
            if line.chars().count() > WIDTH && breakable && !table && !heading && !image {
                wide.push(format!("{}:{number}: {} columns", page.name(), line.chars().count()));
            }
        }
    }
    assert!(wide.is_empty(), "wrap these lines at {WIDTH} columns:\n{}", wide.join("\n"));
}

#[test]
fn every_relative_link_leads_to_a_file_and_to_a_heading() {
    let pages = pages();
    let (mut broken, mut seen) = (Vec::new(), 0);
    for page in &pages {
        for (number, target) in links(&page.text) {
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            if file.contains("://") || file.starts_with("mailto:") {
                continue;
            }
            seen += 1;
            let path = if file.is_empty() { page.path.clone() } else { page.path.parent().unwrap().join(file) };
            let Ok(path) = path.canonicalize() else {
                broken.push(format!("{}:{number}: {target}: no such file", page.name()));
                continue;
            };
            let headings = pages.iter().find(|page| page.path == path).map(|page| anchors(&page.text));
            if !anchor.is_empty() && headings.is_some_and(|headings| !headings.iter().any(|heading| heading == anchor))
            {
                broken.push(format!("{}:{number}: {target}: no such heading", page.name()));
            }
        }
    }
    assert!(seen > 100, "only {seen} links found: is the search for links broken?");
    assert!(broken.is_empty(), "links that lead nowhere:\n{}", broken.join("\n"));
}

#[test]
fn contributors_are_told_which_tests_make_test_leaves_out() {
    let config = fs::read_to_string(repository().join(".config/nextest.toml")).unwrap();
    let (_, filter) = config.split_once("default-filter = \"\"\"").unwrap();
    let filter = filter.split("\"\"\"").next().unwrap();
    let skipped: BTreeSet<&str> = filter
        .split("test(/^")
        .skip(1)
        .chain(filter.split("| test(=").skip(1))
        .flat_map(|rest| rest.split("::").next().unwrap().trim_matches(['(', ')']).split('|'))
        .collect();
    let page = fs::read_to_string(repository().join("CONTRIBUTING.md")).unwrap();
    let (_, page) = page.split_once("### What make test leaves out").unwrap();
    let (page, _) = page.split_once("\n## ").unwrap();
    let table = page.lines().filter(|line| line.starts_with('|')).map(|row| row.split('|').nth(1).unwrap());
    let listed: BTreeSet<&str> = table.skip(2).flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    assert!(skipped.len() > 20, "{skipped:?}");
    assert_eq!(skipped, listed, ".config/nextest.toml has the one, the table of CONTRIBUTING.md the other");
}

#[test]
fn the_index_of_the_documentation_lists_every_page() {
    let docs = repository().join("docs");
    let index = fs::read_to_string(docs.join("README.md")).unwrap();
    let listed: Vec<PathBuf> =
        links(&index).into_iter().filter_map(|(_, target)| docs.join(target).canonicalize().ok()).collect();
    for page in pages().iter().filter(|page| page.path.starts_with(&docs)) {
        let is_index = page.path == docs.join("README.md");
        assert!(is_index || listed.contains(&page.path), "docs/README.md has no link to {}", page.name());
    }
}

/// `make site` checks the built pages as well, but needs mdBook.
#[test]
fn the_source_of_the_site_has_every_page_and_file_that_it_links_to() {
    if !has_program("python3", "python3") {
        return;
    }
    let out = tempfile::tempdir().unwrap();
    let status = Command::new(repository().join("packaging/site.py")).arg(out.path()).status().unwrap();
    assert!(status.success(), "packaging/site.py: {status}");
    // mdBook makes a dash of the two hyphens of an option, and quotes that no shell takes, unless it is told not to.
    let book = fs::read_to_string(out.path().join("book.toml")).unwrap();
    let html = book.split("[output.html]").nth(1).and_then(|rest| rest.split("\n[").next()).unwrap();
    assert!(html.lines().any(|line| line == "smart-punctuation = false"), "{book}");
    let source = out.path().join("src").canonicalize().unwrap();
    let (mut broken, mut seen) = (Vec::new(), 0);
    for page in pages_below(&source) {
        for (number, target) in links(&page.text) {
            let (file, _) = target.split_once('#').unwrap_or((&target, ""));
            if file.is_empty() || file.contains("://") || file.starts_with("mailto:") {
                continue;
            }
            seen += 1;
            let there = page.path.parent().unwrap().join(file).canonicalize();
            if !there.is_ok_and(|path| path.starts_with(&source) && path.is_file()) {
                broken.push(format!("{}:{number}: {target}", page.path.strip_prefix(&source).unwrap().display()));
            }
        }
    }
    assert!(seen > 300, "only {seen} links found");
    assert!(broken.is_empty(), "links that lead out of the site:\n{}", broken.join("\n"));
}

struct Page {
    path: PathBuf,
    text: String,
}

impl Page {
    fn name(&self) -> String {
        self.path.strip_prefix(repository()).unwrap().display().to_string()
    }
}

/// Every Markdown file of the repository, in order of path.
fn pages() -> Vec<Page> {
    pages_below(&repository())
}

fn pages_below(top: &Path) -> Vec<Page> {
    let mut pages = Vec::new();
    let mut folders = vec![top.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            let kind = entry.file_type().unwrap();
            let made = matches!(name.as_str(), "target" | "node_modules" | "results" | "wheel-data")
                && !["docs/results", "src/results"].iter().any(|pages| entry.path().ends_with(pages));
            if kind.is_dir() && !made && !name.starts_with('.') {
                folders.push(entry.path());
            } else if kind.is_file() && name.ends_with(".md") {
                pages.push(Page { text: fs::read_to_string(entry.path()).unwrap(), path: entry.path() });
            }
        }
    }
    pages.sort_by(|one, other| one.path.cmp(&other.path));
    assert!(pages.len() > 20, "only {} Markdown files found", pages.len());
    pages
}

/// Lines with their numbers, without code: neither fenced nor, after an empty line, indented by four columns and more.
fn prose(text: &str) -> Vec<(usize, &str)> {
    let (mut fenced, mut indented, mut after_blank) = (false, false, true);
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        indented = line.starts_with("    ") && (after_blank || indented);
        after_blank = line.is_empty();
        if !fenced && !indented {
            lines.push((number, line));
        }
    }
    lines
}

/// Targets of `[text](target)` in prose, outside of code spans, with the number of their line.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut links = Vec::new();
    for (number, line) in prose(text) {
        let outside: String = line.split('`').step_by(2).collect::<Vec<_>>().join("code");
        for part in outside.split("](").skip(1) {
            if let Some((target, _)) = part.split_once(')') {
                links.push((number, target.to_owned()));
            }
        }
    }
    links
}

/// The anchors of a page's headings, as GitHub makes them: lower case, spaces become dashes, punctuation is dropped.
fn anchors(text: &str) -> Vec<String> {
    let headings = prose(text).into_iter().filter(|(_, line)| line.starts_with('#'));
    let slug = |heading: &str| -> String {
        let kept = heading.trim_start_matches('#').trim().chars();
        let kept = kept.filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
    };
    headings.map(|(_, heading)| slug(heading)).collect()
}
