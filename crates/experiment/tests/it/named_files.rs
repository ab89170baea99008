//! Files that an experiment names and that are something else than a path or a trace: whoever wrote the experiment learns nothing of them.

use std::cell::RefCell;

use crate::common::{stacks, with};
use quiclab_experiment::{Experiment, NamedFile, Overrides};

/// This is in the files, and no message may show it.
const SECRET: &str = "hunter2";

thread_local! {
    static CONTENTS: RefCell<String> = const { RefCell::new(String::new()) };
    static ASKED: RefCell<Vec<(String, Option<String>, u64)>> = const { RefCell::new(Vec::new()) };
}

fn read(file: &NamedFile<'_>) -> Result<String, String> {
    ASKED.with_borrow_mut(|asked| asked.push((file.name.to_owned(), file.below.map(str::to_owned), file.most_bytes)));
    Ok(CONTENTS.with_borrow(String::clone))
}

/// What is said of an experiment whose file has `contents`; empty where it can be planned.
fn message(lines: &str, set: &[(&str, &str)], contents: &str) -> String {
    CONTENTS.with_borrow_mut(|own| contents.clone_into(own));
    let settings = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let overrides = Overrides { settings, ..Overrides::default() };
    let planned = Experiment::parse_with_includes("x.toml", &with(lines), None, read)
        .and_then(|experiment| experiment.plan(&stacks(), &overrides));
    planned.err().map_or_else(String::new, |error| error.to_string())
}

const STACK: &str = "[stack]\nname = \"quiche\"\n";
const HEAD: &str = "title = \"a\"\nsource = \"b\"\nto_server = []\n";

fn include() -> String {
    format!("{STACK}[path]\ninclude = \"paths/a.toml\"")
}

fn trace(kind: &str) -> String {
    let rest = if kind == "delay_trace" { ", length = \"1 s\"" } else { "" };
    format!(
        "{STACK}[path]\nto_client = [{{ stage = \"queue\", discipline = \"drop_tail\", limit = \"9 packets\" }}, \
         {{ stage = \"{kind}\", file = \"a.trace\"{rest} }}]"
    )
}

#[test]
fn a_file_that_is_no_path_is_refused_with_a_place_and_none_of_its_contents() {
    let stage = |text: &str| format!("{HEAD}to_client = [{text}]\n");
    let files = [
        (SECRET.to_owned(), "paths/a.toml:1:8: this is not TOML: "),
        (format!("root:{SECRET}:19000:0:99999:7:::\n"), "paths/a.toml:1:"),
        (format!("PATH=/bin\0TOKEN={SECRET}\0"), "paths/a.toml:1:"),
        (format!("a = \"{SECRET}\n"), "paths/a.toml:1:"),
        (format!("a = {SECRET}\n"), "paths/a.toml:1:"),
        (format!("{SECRET} = 1\n{SECRET} = 2\n"), "paths/a.toml:2:1: "),
        (format!("{SECRET} = 1\n"), "paths/a.toml:1:1: expected one of the keys title, source, to_client, to_server"),
        (format!("title = [\"{SECRET}\"]\n"), "paths/a.toml:1:9: title: expected a string"),
        (format!("title = \"{SECRET}\"\n"), "paths/a.toml:1:1: source: missing; expected a string"),
        (format!("{HEAD}to_client = \"{SECRET}\"\n"), "paths/a.toml:4:13: to_client: expected a list of stages"),
        (stage(&format!("\"{SECRET}\"")), "paths/a.toml:4:14: expected a stage, such as"),
        (stage(&format!("{{ stage = \"{SECRET}\" }}")), "paths/a.toml:4:24: stage: expected one of \"rate\""),
        (stage(&format!("{{ stage = \"loss\", model = \"{SECRET}\" }}")), "paths/a.toml:4:40: model: expected one of "),
        (
            stage(&format!("{{ stage = \"delay\", delay = \"{SECRET}\" }}")),
            "4:41: delay: expected time, less than a day",
        ),
        (stage(&format!("{{ stage = \"delay\", delay = \"1 ms\", {SECRET} = 1 }}")), "expected none but the keys of "),
        (stage(&format!("{{ stage = \"delay\", delay = \"1 ms\", name = \"{SECRET} \" }}")), "name: expected letters"),
        (stage(&format!("{{ stage = \"delay\", delay = \"1 ms\", name = \"{SECRET}\" }}, ").repeat(2)), "another name"),
        (
            stage(&format!("{{ stage = \"rate\", rate = \"1 Mbit/s\", name = \"{SECRET}\" }}")),
            "rate: no queue precedes",
        ),
        (stage(&format!("{{ stage = \"rate_trace\", file = [\"{SECRET}\"] }}")), "file: expected the name of a file"),
        // Its trace is the same text, which is none.
        (stage(&format!("{{ stage = \"rate_trace\", file = \"{SECRET}\" }}")), "file: line 1: expected a whole number"),
    ];
    for (contents, expected) in &files {
        for (lines, set) in [(include(), vec![]), (STACK.to_owned(), vec![("path.include", "paths/a.toml")])] {
            let message = message(&lines, &set, contents);
            assert!(message.contains(expected), "{contents:?}: {message}, expected {expected}");
            assert!(!message.contains(SECRET), "{contents:?}: {message}");
        }
    }
}

#[test]
fn a_file_that_is_no_trace_is_refused_with_a_line_and_none_of_its_contents() {
    // Numbers can be secrets too.
    let rates = [
        (SECRET, "a.trace: line 1: expected a whole number"),
        ("# a\n1\n424242 x\n", "a.trace: line 3: "),
        ("424242\n1\n", "a.trace: line 2: expected no less than the number before"),
        ("99999999424242\n", "a.trace: line 1: expected at most a year"),
        ("0\n", "a.trace: the last line: expected more than 0"),
    ];
    let delays = [
        (SECRET, "a.trace: line 1: expected two whole numbers"),
        ("0 424242 7\n", "a.trace: line 1: expected two whole numbers"),
        ("424242 7\n", "a.trace: line 1: expected the first step at 0 ms"),
        ("0 1\n\n424242 1\n424242 2\n", "a.trace: line 4: expected a later time"),
        ("0 424242424242\n", "a.trace: line 1: expected two whole numbers"),
        ("0 1\n424242 1\n", "length: expected more than the time of the last step"),
        ("# hunter2\n", "a.trace: found no line with two numbers"),
    ];
    for (kind, files) in [("rate_trace", &rates[..]), ("delay_trace", &delays[..])] {
        for (contents, expected) in files {
            let message = message(&trace(kind), &[], contents);
            assert!(message.contains(expected), "{contents:?}: {message}");
            assert!(!message.contains(SECRET) && !message.contains("424242"), "{contents:?}: {message}");
        }
    }
}

#[test]
fn what_a_file_names_is_below_its_folder_and_what_the_user_names_is_anywhere() {
    let contents = format!("{HEAD}to_client = [{{ stage = \"rate_trace\", file = \"b.trace\" }}]\n");
    let asked = |lines: &str, set: &[(&str, &str)]| {
        ASKED.take();
        message(lines, set, &contents);
        ASKED.take().into_iter().map(|(name, below, _)| (name, below)).collect::<Vec<_>>()
    };
    let experiment = || Some(String::new());
    let named = [("paths/a.toml".to_owned(), experiment()), ("paths/b.trace".to_owned(), experiment())];
    assert_eq!(asked(&include(), &[]), named);
    assert_eq!(asked(&trace("rate_trace"), &[]), [("a.trace".to_owned(), experiment())]);
    // The user chose that path, and not what it names.
    let by_user = asked(STACK, &[("path.include", "../shared/a.toml")]);
    let expected = [("../shared/a.toml", None), ("../shared/b.trace", Some("../shared"))];
    assert_eq!(by_user[..2], expected.map(|(name, below)| (name.to_owned(), below.map(str::to_owned))));
}

#[test]
fn every_file_has_a_longest_length() {
    ASKED.take();
    message(&include(), &[], "");
    message(&trace("rate_trace"), &[], "");
    message(&trace("delay_trace"), &[], "");
    let lengths: Vec<_> = ASKED.take().into_iter().map(|(_, _, most)| most).collect();
    assert_eq!(lengths, [16 << 20, 256 << 20, 16 << 20]);
}
