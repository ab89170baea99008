//! What is printed for a comment of a pull request.

use crate::common;
use quiclab_report::{ReportInput, render_json, render_markdown_brief};

/// GitHub takes no longer comment.
const MOST: usize = 65_536;

/// A report's input with as many groups of one run, each on a busy host.
fn input(groups: usize) -> ReportInput {
    let mut input = common::input();
    let run = input.runs.remove(0);
    input.failures.clear();
    input.runs = (0..groups)
        .map(|place| {
            let mut run = run.clone();
            run.run.settings.stack.server = format!("a-stack-with-a-long-name-{place}");
            run.metrics.metrics.cpu_busy_share = Some(0.86);
            run
        })
        .collect();
    input
}

#[test]
fn a_few_rows_have_their_verdicts_below_the_table() {
    let text = render_markdown_brief(&input(2));
    let (table, words) = text.split_once("\n\n").unwrap();
    assert_eq!(table.lines().count(), 4, "{table}");
    assert_eq!(words.matches("its CPU was busy for 86 % of the transfer").count(), 2, "{words}");
    assert!(!text.contains("Left out"));
}

#[test]
fn many_rows_have_a_line_for_each_rule() {
    let text = render_markdown_brief(&input(40));
    assert_eq!(text.matches("its CPU was busy").count(), 1, "{text}");
    assert!(text.contains("`host_busy` in 40 of 40 rows, such as **"), "{text}");
}

#[test]
fn a_comment_is_never_too_long_and_says_what_it_left_out() {
    let text = render_markdown_brief(&input(3000));
    assert!(text.contains("`host_busy` in 3000 of 3000 rows"), "words have room before rows");
    assert!((MOST - 3000..=MOST).contains(&text.len()), "{}", text.len());
    let rows = text.lines().filter(|line| line.contains("a-stack-with-a-long-name") && line.starts_with('|')).count();
    assert!(text.contains(&format!("rows: {}", 3000 - rows)), "{rows} rows: {}", &text[text.len() - 500..]);
}

#[test]
fn the_json_says_of_how_many_runs_a_rule_was_applied() {
    let json: serde_json::Value = serde_json::from_str(&render_json(&input(1))).unwrap();
    let verdict = &json["groups"][0]["verdicts"][0];
    assert_eq!((&verdict["rule"], &verdict["runs"], &verdict["judged"]), (&"host_busy".into(), &1.into(), &1.into()));
}
