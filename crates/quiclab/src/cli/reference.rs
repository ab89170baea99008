//! `docs/reference/cli.md`, generated from the definitions of the command line.

use std::{env, fmt::Write as _, fs, path::Path};

use clap::{Arg, Command, CommandFactory};

use super::Cli;

/// Columns of a line of Markdown.
const WIDTH: usize = 100;

const INTRODUCTION: &str = "\
Generated from the code. To regenerate it: `UPDATE=1 cargo test -p quiclab --bin quiclab cli::reference`. \
`quiclab help VERB` prints the same on a terminal.";

#[test]
fn the_reference_page_agrees_with_the_command_line() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/cli.md");
    let expected = page();
    if env::var_os("UPDATE").is_some() {
        fs::write(&path, &expected).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap();
    let line = found.lines().zip(expected.lines()).position(|(found, expected)| found != expected);
    assert!(
        found == expected,
        "docs/reference/cli.md differs from the code, first in line {}. To regenerate it:\n    UPDATE=1 cargo test -p quiclab \
         --bin quiclab cli::reference",
        line.unwrap_or(found.lines().count().min(expected.lines().count())) + 1
    );
}

#[test]
fn every_verb_and_every_option_has_a_description() {
    let mut root = Cli::command();
    root.build();
    visit(&root, &mut |command| {
        assert!(command.get_about().is_some(), "{} has no description", command.get_name());
        for argument in shown(command) {
            assert!(argument.get_help().is_some(), "{}: {} has no description", command.get_name(), argument.get_id());
        }
    });
}

/// The whole page.
fn page() -> String {
    let mut root = Cli::command();
    root.build();
    let mut out = String::from("# Command line\n");
    paragraph(&mut out, INTRODUCTION);
    visit(&root, &mut |command| section(&mut out, command));
    out
}

/// Calls `f` for a command and, in order, for every command below it that is shown.
fn visit(command: &Command, f: &mut impl FnMut(&Command)) {
    f(command);
    for child in command.get_subcommands().filter(|child| !child.is_hide_set()) {
        visit(child, f);
    }
}

/// The arguments and options of a command, except `--help` and `--version`.
fn shown(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|argument| !matches!(argument.get_id().as_str(), "help" | "version"))
}

fn section(out: &mut String, command: &Command) {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let _ = write!(out, "\n## {name}\n");
    paragraph(out, &format!("{}.", command.get_about().map(ToString::to_string).unwrap_or_default()));
    let usage = command.clone().render_usage().to_string();
    let _ = write!(out, "\n```text\n{}\n```\n", usage.trim_start_matches("Usage: "));
    if shown(command).next().is_some() {
        out.push('\n');
    }
    for argument in shown(command) {
        wrapped(out, "- ", &format!("`{}`: {}", written(argument), description(argument)));
        for value in argument.get_possible_values().iter().filter(|value| !value.is_hide_set()) {
            if let Some(help) = value.get_help() {
                wrapped(out, "  - ", &format!("`{}`: {help}", value.get_name()));
            }
        }
    }
    if let Some(help) = command.get_after_help() {
        after_help(out, &help.to_string());
    }
}

/// How an argument is typed, such as `-j, --jobs <JOBS>`.
fn written(argument: &Arg) -> String {
    let whole = argument.to_string();
    match argument.get_short() {
        Some(short) => format!("-{short}, {whole}"),
        None => whole,
    }
}

fn description(argument: &Arg) -> String {
    let mut text = argument.get_help().map(ToString::to_string).unwrap_or_default();
    let defaults: Vec<_> = argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if !defaults.is_empty() && argument.get_action().takes_values() {
        let _ = write!(text, " [default: {}]", defaults.join(","));
    }
    text
}

/// Paragraphs stay paragraphs, indented lines become code.
fn after_help(out: &mut String, text: &str) {
    let mut code = false;
    for line in text.lines() {
        let indented = line.starts_with("  ");
        if indented != code {
            out.push_str(if indented { "\n```sh\n" } else { "```\n" });
            code = indented;
        }
        match (indented, line.trim()) {
            (true, line) => {
                out.push_str(line);
                out.push('\n');
            }
            (false, "") => {}
            (false, line) => paragraph(out, line),
        }
    }
    if code {
        out.push_str("```\n");
    }
}

fn paragraph(out: &mut String, text: &str) {
    out.push('\n');
    wrapped(out, "", text);
}

/// Words of `text` in lines of at most [`WIDTH`] columns, behind `marker`, the lines after the first indented by as much.
/// What stands between backquotes stays on one line.
fn wrapped(out: &mut String, marker: &str, text: &str) {
    let indent = " ".repeat(marker.len());
    let (mut line, mut word, mut quoted) = (marker.to_owned(), String::new(), false);
    for character in text.chars().chain([' ']) {
        quoted ^= character == '`';
        if character != ' ' || quoted {
            word.push(character);
            continue;
        }
        let empty = line.trim_end().len() <= marker.trim_end().len();
        if !empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            out.push_str(&line);
            out.push('\n');
            line = format!("{indent}{word}");
        } else {
            if !empty {
                line.push(' ');
            }
            line.push_str(&word);
        }
        word.clear();
    }
    out.push_str(&line);
    out.push('\n');
}
