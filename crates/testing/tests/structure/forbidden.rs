//! What some files may not name: the parser of arguments, and whatever makes output depend on more than input.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use quiclab_testing::files::repository;

use crate::{
    paths::paths,
    source::{Source, crates, sources},
};

/// What a pure crate may not name. `crates/pure-clippy.toml` refuses single functions, in tests as well: clocks, sockets,
/// `thread::spawn`, variables of the environment. These are the modules and types around them, which it does not refuse.
const IMPURE: &[&str] = &[
    "std::fs",
    "std::net::TcpListener",
    "std::net::TcpStream",
    "std::net::UdpSocket",
    "std::os::unix::net",
    "std::process",
    "std::thread",
    "std::time::Instant",
    "std::time::SystemTime",
];

/// Files of pure crates that name such a thing today. Only ever remove one.
const IMPURE_FILES: &[(&str, &str)] = &[
    ("crates/trace/src/column.rs", "std::fs"),
    ("crates/trace/src/partial.rs", "std::fs"),
    ("crates/trace/src/rows.rs", "std::fs"),
    ("crates/trace/src/runs.rs", "std::fs"),
    ("crates/trace/src/table.rs", "std::fs"),
    ("crates/trace/src/writer.rs", "std::fs"),
];

/// Shows the command line's own help, so it has to know it.
const SHOWS_HELP: &str = "verbs/help.rs";

/// Whether the file holds nothing but tests.
fn is_for_tests(path: &Path) -> bool {
    path.iter().any(|part| part == "tests" || part == "tests.rs")
}

/// Files of these crates that name one of `refused`, each with the one that it names.
fn that_name<'a>(sources: &[Source], crates: &[PathBuf], refused: &[&'a str]) -> BTreeSet<(String, &'a str)> {
    let mut found = BTreeSet::new();
    let folders: Vec<_> = crates.iter().map(|krate| krate.join("src")).collect();
    let is_asked = |path: &Path| folders.iter().any(|folder| path.starts_with(folder)) && !is_for_tests(path);
    for source in sources.iter().filter(|source| is_asked(&source.path)) {
        paths(source.tokens.clone(), &mut |words| {
            let path = words.join("::");
            let starts_with =
                |name: &str| path.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"));
            if let Some(name) = refused.iter().find(|name| starts_with(name)) {
                found.insert((source.path.display().to_string(), *name));
            }
        });
    }
    found
}

/// Compares with a list of exceptions: none may be missing, and none may be there for nothing.
fn compare(found: &BTreeSet<(String, &str)>, exceptions: &BTreeSet<(String, &str)>, list: &str, why: &str) {
    let found_now = found.difference(exceptions).map(|(path, name)| format!("{path} names {name}: {why}"));
    let no_more = exceptions
        .difference(found)
        .map(|(path, name)| format!("{path} does not name {name} any more: remove it from {list} in {}", file!()));
    let wrong: Vec<_> = found_now.chain(no_more).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn only_the_command_line_knows_the_parser_of_arguments() {
    let mut found = that_name(&sources(false), &crates(), &["clap", "clap_complete", "clap_mangen"]);
    let command = "crates/quiclab/src/";
    found.retain(|(path, _)| {
        let below = path.strip_prefix(command).unwrap_or("");
        !(below.starts_with("cli/") || below == "cli.rs" || below == "main.rs")
    });
    assert!(
        found.is_empty(),
        "{found:?}: what a verb does takes values of its own types, so that a test or another verb can call it; put what reads \
         arguments into crates/quiclab/src/cli"
    );
}

#[test]
fn verbs_take_plain_values() {
    let found = that_name(&sources(false), &crates(), &["crate::cli"]);
    let below = found.iter().filter_map(|(path, _)| path.strip_prefix("crates/quiclab/src/"));
    let named: Vec<_> = below.filter(|path| path.starts_with("verbs/") || path.starts_with("settings/")).collect();
    assert!(named.contains(&SHOWS_HELP), "{named:?}: is the search for them broken?");
    let wrong: Vec<_> = named.iter().filter(|path| **path != SHOWS_HELP).collect();
    assert!(
        wrong.is_empty(),
        "{wrong:?}: they use crate::cli, but verbs and settings take plain values; let main.rs or crates/quiclab/src/cli take \
         arguments apart"
    );
}

#[test]
fn pure_crates_depend_on_their_input_alone() {
    let is_pure = |krate: &PathBuf| {
        fs::read_link(repository().join(krate).join("clippy.toml"))
            .is_ok_and(|to| to.file_name().is_some_and(|name| name == "pure-clippy.toml"))
    };
    let pure: Vec<_> = crates().into_iter().filter(is_pure).collect();
    assert!(pure.len() > 10, "{pure:?}");
    let exceptions = IMPURE_FILES.iter().map(|(path, name)| ((*path).to_owned(), *name)).collect();
    compare(
        &that_name(&sources(false), &pure, IMPURE),
        &exceptions,
        "IMPURE_FILES",
        "its crate has a link to crates/pure-clippy.toml, so its output depends on its input alone, on any machine; let \
         the caller read files, look at clocks and start threads, and hand over what came out",
    );
}
