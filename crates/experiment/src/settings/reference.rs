//! The tables of docs/reference/experiment-file.md.

use super::{
    declaration::Declaration,
    draft::{Setting, all},
};
use crate::{testbed_name::TestbedName, value::inline};

/// What the reference says of a section before its table.
const SECTIONS: &[(&str, &str)] = &[
    ("workload", "What is transferred."),
    (
        "stack",
        "The stack and its behaviour. A setting that a stack does not claim in its `stack.toml` is an error before anything runs; \
               `quiclab stacks list` prints the claims.",
    ),
    ("path", "The path between the hosts."),
    ("hosts", "Settings of the hosts."),
    ("tap", "What is captured."),
    ("analysis", "How the packets are read."),
    ("vm", "The virtual machine. Other testbeds refuse a run that changes one of these settings."),
    (
        "sim",
        "The simulator, whose hosts are models ([stacks in the simulator](../concepts/stacks-in-the-simulator.md)). Other testbeds refuse a run \
             that changes one of these settings.",
    ),
];

/// The settings of an experiment file as Markdown: a heading, a sentence and a table for each section.
pub fn settings_reference() -> String {
    let mut sections = Vec::new();
    for (section, about) in SECTIONS {
        let rows: String = all().filter(|setting| setting.section() == *section).map(row).collect();
        let about = wrapped(about);
        sections.push(format!(
            "### `[{section}]`\n\n{about}\n\n| key | takes | what | default |\n|---|---|---|---|\n{rows}"
        ));
    }
    sections.join("\n")
}

fn row(setting: &Setting) -> String {
    let Declaration { key, default, default_said, formerly, .. } = setting;
    let default = match default_said {
        Some(said) => (*said).to_owned(),
        None => default().map_or_else(|| "none".to_owned(), |value| format!("`{}`", inline(&value))),
    };
    let mut what = setting.about();
    let options = |testbeds: &[TestbedName]| {
        testbeds.iter().map(|name| format!("`--testbed {name}`")).collect::<Vec<_>>().join(" or ")
    };
    if let Some(testbeds) = setting.only_on {
        what.push_str(&format!(". Only with {}", options(testbeds)));
    }
    for (value, testbeds) in setting.values_on {
        what.push_str(&format!(". {value:?} only with {}", options(testbeds)));
    }
    if !formerly.is_empty() {
        let keys: Vec<_> = formerly.iter().map(|key| format!("`{key}`")).collect();
        what.push_str(&format!(". Formerly {}, which still works", keys.join(" or ")));
    }
    format!("| `{key}` | {} | {what} | {default} |\n", (setting.takes)())
}

/// Lines of at most 100 characters.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().map_or(0, |line| line.chars().count());
        if last > 0 && last + 1 + word.chars().count() > 100 {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.join("\n")
}
