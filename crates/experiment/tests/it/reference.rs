//! What docs/reference/experiment-file.md shows is so.

use std::{collections::BTreeSet, fs};

use crate::common::{plan, with};
use quiclab_experiment::settings_reference;

const REFERENCE: &str = include_str!("../../../../docs/reference/experiment-file.md");

/// The blocks of code in this language.
fn blocks(language: &str) -> Vec<&'static str> {
    let fence = format!("\n```{language}\n");
    REFERENCE.split(fence.as_str()).skip(1).map(|rest| rest.split_once("\n```").unwrap().0).collect()
}

#[test]
fn the_whole_example_has_as_many_runs_as_it_says() {
    let runs = plan(blocks("toml")[0]).unwrap().runs;
    assert_eq!(runs.len(), 12);
    assert!(REFERENCE.contains("2 x 2 combinations and 12 runs"));
}

#[test]
fn every_other_example_is_understood_in_a_file() {
    let examples = &blocks("toml")[1..];
    assert_eq!(examples.len(), 9);
    for example in examples {
        let stack = if example.starts_with("[matrix]") { "" } else { "stack.name = \"quiche\"\n" };
        plan(&with(&format!("{stack}{example}\n"))).unwrap_or_else(|error| panic!("{error}\n{example}"));
    }
}

#[test]
fn every_error_shown_is_the_one_that_is_told() {
    let shown: BTreeSet<_> = blocks("text")[0].split("\n\n").collect();
    let told: BTreeSet<_> =
        ["[path]\nrate = \"40 Mbps\"", "[path]\nrat = \"40 Mbit/s\"", "[stack]\ngso = \"off\"\nname = \"ngtcp2\""]
            .map(|lines| {
                let at_line_8 = format!("{}{lines}\n", "\n".repeat(5));
                plan(&with(&at_line_8)).unwrap_err().to_string().replacen("x.toml", "rates.toml", 1)
            })
            .into();
    assert_eq!(told.iter().map(String::as_str).collect::<BTreeSet<_>>(), shown);
}

#[test]
fn every_key_of_a_published_row_stands_there() {
    for key in ["match", "values", "source"] {
        assert!(REFERENCE.contains(&format!("\n| `{key}` | ")), "{key}");
    }
}

/// Compares the page with the declarations. With `UPDATE=1` in the environment the page is written instead.
#[test]
#[expect(clippy::disallowed_methods, reason = "whether to write the page is for whoever runs the test to say")]
fn the_tables_of_settings_are_those_of_the_declarations() {
    const BEGIN: &str = "<!-- settings: generated; UPDATE=1 cargo test -p quiclab-experiment --test it reference -->\n";
    const END: &str = "<!-- end of settings -->\n";
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/experiment-file.md");
    let page = fs::read_to_string(file).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let generated = format!("{before}{BEGIN}\n{}\n{END}{after}", settings_reference());
    if std::env::var_os("UPDATE").is_some() {
        fs::write(file, &generated).unwrap();
    }
    assert!(
        page == generated || std::env::var_os("UPDATE").is_some(),
        "run this test with UPDATE=1, and look at the diff of {file}"
    );
}

#[test]
fn every_key_and_table_at_the_top_stands_in_the_reference() {
    let tops = ["name", "title", "source", "seed", "unclaimed", "ranking", "matrix", "profile", "published", "expect"];
    for name in tops {
        let forms = [
            format!("\n| `{name}` | "),
            format!("\n## `[{name}]`"),
            format!("\n## `[{name}.NAME]`"),
            format!("\n## `[[{name}]]`"),
        ];
        assert!(forms.iter().any(|form| REFERENCE.contains(form)), "{name}");
    }
}
